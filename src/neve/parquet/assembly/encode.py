"""Chunks that are encoded: written by Arrow as a file in memory, of which they are cut out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet.assembly.columns import Column, columns_of
from neve.parquet.assembly.pieces import Piece
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.statistics import Trust
from neve.parquet.assembly.wanted import STORAGE_OPTIONS
from neve.parquet.codecs import ARROW_CODECS, codec_number
from neve.parquet.indexes import Span
from neve.storage.readers import MemoryReader

OWN_TRUST: Final = Trust(numbers=True, byte_strings=True)
#: Arrow leaves NaN out of bounds, and readers who believe that nothing lies above them miss it.
NAN_TRUST: Final = Trust(numbers=False, byte_strings=True)


@dataclass(frozen=True, slots=True)
class EncodeOptions:
    """How chunks are written, after the table's `write.parquet.*`."""

    codec: str = "zstd"
    codec_level: int | None = None
    page_bytes: int = 1024 * 1024
    page_rows: int = 20_000
    dictionary_bytes: int = 2 * 1024 * 1024
    #: Columns of a row group are encoded together until their values take about this much memory.
    decoded_bytes: int = 32 * 1024 * 1024
    #: By field id of the leaf, for leaves that want neither a dictionary nor plain values.
    encodings: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How one leaf is to be written."""

    column: Column
    dictionary: bool
    #: By number; None for that of the options.
    codec: int | None


def encode_runs(
    tables: Sequence[Any], leaves: Sequence[Encoding], options: EncodeOptions
) -> list[list[Piece]]:
    """The pieces of every leaf, for each table those of one row group.

    All tables have one schema, whose leaves are `leaves` in order.
    """
    sink = pa.BufferOutputStream()
    try:
        with pq.ParquetWriter(sink, tables[0].schema, **_options(leaves, options)) as writer:
            for table in tables:
                writer.write_table(table, row_group_size=max(1, table.num_rows))
    except (pa.ArrowException, OSError) as error:
        raise ParquetUnsupported(f"Values cannot be encoded: {error}.") from error
    data = sink.getvalue().to_pybytes()
    reader = MemoryReader(data, "what was encoded")
    source = load_assembly_source(reader)
    _check(source.schema.raw, leaves)
    if [group.rows for group in source.groups] != [table.num_rows for table in tables]:
        raise ParquetCorrupt("Encoded row groups have other rows than were given.")
    footer = source.read_footer(reader)
    tops = {leaf.column.path[0] for leaf in leaves}
    return [
        [
            Piece(
                chunk,
                group.rows,
                footer,
                NAN_TRUST if leaf.column.path[0] in with_nan else OWN_TRUST,
                data,
                chunk.start,
                _cut(data, chunk.column_index),
                _cut(data, chunk.offset_index),
            )
            for chunk, leaf in zip(group.chunks, leaves, strict=True)
        ]
        for group, with_nan in zip(source.groups, (_with_nan(t, tops) for t in tables), strict=True)
    ]


def _with_nan(table: Any, names: set[str]) -> set[str]:
    """Those of the columns that hold NaN, at whatever depth."""
    return {name for name in names if _column_has_nan(table.column(name))}


def _column_has_nan(column: Any) -> bool:
    if pa.types.is_floating(column.type):
        return bool(pc.any(pc.is_nan(column)).as_py())
    is_plain = not pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type)
    return not is_plain and any(map(_has_nan, column.chunks))


def _has_nan(array: Any) -> bool:
    kind = array.type
    if pa.types.is_floating(kind):
        return bool(pc.any(pc.is_nan(array)).as_py())
    if pa.types.is_dictionary(kind):
        return _has_nan(array.dictionary)
    if pa.types.is_struct(kind):
        return any(map(_has_nan, array.flatten()))
    if pa.types.is_map(kind):
        return _has_nan(array.keys) or _has_nan(array.items)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return bool(len(array)) and _has_nan(_elements(array))
    return False


def _elements(array: Any) -> Any:
    """What lies in the lists, and in those that are null: Arrow does not flatten all types."""
    first, end = (array.offsets[at].as_py() for at in (0, -1))
    return array.values.slice(first, end - first)


def _cut(data: bytes, span: Span | None) -> bytes | None:
    return None if span is None else data[span.offset : span.offset + span.length]


def _check(raw_schema: bytes, leaves: Sequence[Encoding]) -> None:
    """What was written must have the levels and types that the new footer will claim."""
    written = columns_of(raw_schema)
    same = len(written) == len(leaves) and all(
        [level[0] for level in column.levels] == [level[0] for level in leaf.column.levels]
        and column.value == leaf.column.value
        for column, leaf in zip(written, leaves, strict=False)
    )
    if not same:
        raise ParquetCorrupt("Values were encoded in another type than the wanted schema has.")


def _options(leaves: Sequence[Encoding], options: EncodeOptions) -> dict[str, Any]:
    usual = codec_number(options.codec)
    codecs = {leaf.column.name: usual if leaf.codec is None else leaf.codec for leaf in leaves}
    # Where nothing has a level, Arrow chooses one for every codec itself.
    levels = {name: options.codec_level for name, codec in codecs.items() if codec == usual}
    asked = {leaf.column.name: options.encodings.get(leaf.column.field_id or 0) for leaf in leaves}
    encodings = {name: encoding for name, encoding in asked.items() if encoding}
    with_dictionary = [
        leaf.column.name for leaf in leaves if leaf.dictionary and leaf.column.name not in encodings
    ]
    return {
        **STORAGE_OPTIONS,
        "compression": {name: ARROW_CODECS[codec] for name, codec in codecs.items()},
        "compression_level": levels if options.codec_level is not None else None,
        "use_dictionary": with_dictionary or False,
        "column_encoding": encodings or None,
        "data_page_version": "1.0",
        "data_page_size": options.page_bytes,
        "max_rows_per_page": options.page_rows,
        "dictionary_pagesize_limit": options.dictionary_bytes,
        "write_page_index": True,
    }
