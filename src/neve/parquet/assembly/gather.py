"""Values of many small chunks, read by Arrow in one go.

Opening a file costs Arrow more than decoding a small one. The chunks of all sources are put behind
each other as one file in memory, a row group for each source, and that is opened once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from neve.model.errors import ParquetCorrupt
from neve.parquet import thrift
from neve.parquet.assembly.columns import Column
from neve.parquet.assembly.metadata import encode_chunk, encode_footer, encode_row_group
from neve.parquet.assembly.pieces import Piece, encode_numbers
from neve.parquet.assembly.wanted import raw_schema
from neve.parquet.layout import MAGIC, Meta, Physical
from neve.parquet.writers import own_name

_NO_INDEXES: Final = (None, None)


def gather(
    groups: Sequence[Sequence[Piece]], schema: Any, leaves: Sequence[Column], keep: set[str]
) -> Any:
    """The rows of all groups as a table; each group has a piece for every leaf.

    Columns named in `keep` come back as dictionaries, if they are of the kind that can.
    """
    out: list[bytes | memoryview] = [MAGIC]
    row_groups = []
    at = len(MAGIC)
    for pieces in groups:
        start = at
        chunks = []
        for piece, leaf in zip(pieces, leaves, strict=True):
            assert piece.data is not None
            out.append(memoryview(piece.data)[piece.at : piece.at + piece.chunk.length])
            chunks.append(encode_chunk(_meta(piece, leaf, at), _NO_INDEXES))
            at += piece.chunk.length
        uncompressed = sum(piece.chunk.uncompressed_bytes for piece in pieces)
        rows = pieces[0].rows
        row_groups.append(encode_row_group(chunks, rows, uncompressed, start, at - start))
    total = sum(pieces[0].rows for pieces in groups)
    name = own_name()
    footer = encode_footer(raw_schema(schema), len(leaves), total, row_groups, (), name)
    out.append(footer)
    return _read(b"".join(out), schema, leaves, keep, total)


def _read(data: bytes, schema: Any, leaves: Sequence[Column], keep: set[str], rows: int) -> Any:
    flat_bytes = [
        leaf.name
        for leaf in leaves
        if len(leaf.levels) == 1
        and leaf.name in keep
        and leaf.value.physical == Physical.BYTE_ARRAY
    ]
    try:
        file = pq.ParquetFile(
            pa.BufferReader(data),
            read_dictionary=flat_bytes or None,
            arrow_extensions_enabled=True,
        )
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise ParquetCorrupt(f"A column cannot be decoded: {error}.") from error
    if table.num_rows != rows or table.num_columns != len(schema):
        raise ParquetCorrupt(f"{table.num_rows} rows were decoded where there are {rows}.")
    return table


def _meta(piece: Piece, leaf: Column, at: int) -> bytes:
    chunk = piece.chunk
    shift = at - chunk.start
    encode, header = thrift.encode_int, thrift.encode_field_header
    fields = [
        _what_it_is(leaf.value.physical, chunk.encodings, leaf.encoded_path, chunk.codec),
        header(Meta.CODEC, Meta.NUM_VALUES, thrift.I64),
        encode(chunk.values),
        header(Meta.NUM_VALUES, Meta.UNCOMPRESSED_SIZE, thrift.I64),
        encode(chunk.uncompressed_bytes),
        header(Meta.UNCOMPRESSED_SIZE, Meta.COMPRESSED_SIZE, thrift.I64),
        encode(chunk.length),
        header(Meta.COMPRESSED_SIZE, Meta.DATA_PAGE_OFFSET, thrift.I64),
        encode(chunk.data_offset + shift),
    ]
    if chunk.dictionary_offset:
        fields.append(header(Meta.DATA_PAGE_OFFSET, Meta.DICTIONARY_PAGE_OFFSET, thrift.I64))
        fields.append(encode(chunk.dictionary_offset + shift))
    return b"".join((*fields, b"\0"))


# Chunks of one column mostly differ in their numbers alone.
@lru_cache(maxsize=4096)
def _what_it_is(physical: int, encodings: tuple[int, ...], path: bytes, codec: int) -> bytes:
    """The fields of a chunk's metadata before its numbers."""
    fields = [
        (Meta.TYPE, thrift.I32, thrift.encode_int(physical)),
        (Meta.ENCODINGS, thrift.LIST, encode_numbers(encodings)),
        (Meta.PATH, thrift.LIST, path),
        (Meta.CODEC, thrift.I32, thrift.encode_int(codec)),
    ]
    return thrift.encode_fields(fields)[:-1]
