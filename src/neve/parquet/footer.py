"""The footer of a Parquet file: read, checked against the file, summed up.

The checks are those that a splice relies on: every column chunk lies before the footer, no two
chunks share bytes, every row group has the schema's columns in the schema's order, and the rows
of the row groups add up. Details of single chunks are looked up in the encoded footer when they
are asked for, because a table's footers together would not fit in memory as objects.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet import layout, spans, thrift
from neve.parquet.chunks import (
    ROW_GROUP_SHAPE,
    ColumnChunk,
    RowGroup,
    encodings_of,
    open_chunks,
    read_row_group,
)
from neve.parquet.layout import Chunk, FileMeta, Meta, Stats
from neve.parquet.schema import Schema, read_schema
from neve.storage.readers import FIRST_READ_BYTES, Reader

MAX_FOOTER_BYTES: Final = 64 * 1024 * 1024
#: Row groups of large footers are opened one by one, for memory's sake, and so walked twice. This
#: many bytes are opened in one go: a row group of several hundred columns.
_SMALL_BYTES: Final = 512 * 1024
_SMALL_SHAPE: Final[spans.Shape] = {FileMeta.ROW_GROUPS: spans.Each(ROW_GROUP_SHAPE)}
#: Files of one table mostly have the same key-values to the byte, and with hundreds of columns tens
#: of kilobytes of them. Up to so many bytes are understood once, and are in memory once.
_KNOWN_KEY_VALUES_BYTES: Final = 256 * 1024

KeyValues: TypeAlias = tuple[tuple[bytes, bytes | None], ...]
#: Is shown every row group with its chunks while they are open, for whoever keeps more of them.
Visit: TypeAlias = Callable[[RowGroup, Sequence[ColumnChunk]], None]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a column chunk's statistics say; None where they are silent."""

    null_count: int | None
    min_value: bytes | None
    max_value: bytes | None


@dataclass(frozen=True, slots=True)
class Footer:
    """What a file says about itself."""

    path: str
    size_bytes: int
    #: Data, indexes and filters end where the footer starts.
    footer_start: int
    opened: spans.Opened
    version: int
    rows: int
    schema: Schema
    row_groups: tuple[RowGroup, ...]
    created_by: bytes | None
    key_values: KeyValues
    codecs: frozenset[str]
    encodings: frozenset[str]
    encrypted: bool
    has_page_index: bool
    has_bloom_filter: bool

    @property
    def filled_row_groups(self) -> tuple[RowGroup, ...]:
        """The row groups that hold rows; some writers give an empty file an empty one."""
        return tuple(row_group for row_group in self.row_groups if row_group.rows)

    def open_row_group(self, row_group: RowGroup) -> spans.Opened:
        """The row group's metadata, opened down to its chunks."""
        return spans.open_struct(self.opened.data, row_group.footer_start, ROW_GROUP_SHAPE)

    def statistics(self, column: int) -> Iterator[Statistics]:
        """The statistics of one column (counted from 0), filled row group by filled row group."""
        for row_group in self.filled_row_groups:
            chunk = open_chunks(self.open_row_group(row_group))[column]
            yield _statistics(chunk)

    def null_count(self, column: int) -> int | None:
        """How many nulls a column has in the whole file, if every row group says so."""
        counts = [statistics.null_count for statistics in self.statistics(column)]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None


@dataclass(slots=True)
class _Totals:
    """What is gathered while going through the row groups."""

    codecs: set[int]
    raw_encodings: set[bytes]
    ranges: list[tuple[int, int]]
    page_index: bool = False
    bloom_filter: bool = False

    def add(self, chunks: Sequence[ColumnChunk]) -> None:
        for chunk in chunks:
            meta = chunk.meta
            self.codecs.add(meta.needed_integer(Meta.CODEC))
            self.raw_encodings.add(meta.raw(Meta.ENCODINGS) or b"\0")
            self.ranges.append((chunk.start, chunk.end))
            self.page_index |= chunk.opened.has(Chunk.OFFSET_INDEX_OFFSET)
            self.bloom_filter |= meta.has(Meta.BLOOM_OFFSET)

    def encodings(self) -> set[int]:
        return {number for raw in self.raw_encodings for number in encodings_of(raw)}


def read_footer(
    reader: Reader, *, max_footer_bytes: int = MAX_FOOTER_BYTES, visit: Visit | None = None
) -> Footer:
    """Read and check the footer of a file."""
    try:
        data, footer_start = _footer_bytes(reader, max_footer_bytes)
        return _parse(reader, data, footer_start, visit)
    except (ParquetCorrupt, ParquetUnsupported) as error:
        raise type(error)(f"{reader.path}: {error.message}") from error


def read_file_schema(reader: Reader) -> Schema:
    """The columns of a file, without looking at anything else in its footer."""
    try:
        data, _ = _footer_bytes(reader, MAX_FOOTER_BYTES)
        return read_schema(spans.find_list(data, FileMeta.SCHEMA))
    except (ParquetCorrupt, ParquetUnsupported) as error:
        raise type(error)(f"{reader.path}: {error.message}") from error


def _footer_bytes(reader: Reader, max_footer_bytes: int) -> tuple[bytes, int]:
    size = reader.size_bytes
    smallest = len(layout.MAGIC) + layout.TRAILER_BYTES
    if size < smallest:
        raise ParquetCorrupt(f"A file of {size} bytes is too short to be Parquet.")
    tail = reader.read_at(max(0, size - FIRST_READ_BYTES), min(size, FIRST_READ_BYTES))
    length = int.from_bytes(tail[-8:-4], "little")
    if tail[-4:] == layout.ENCRYPTED_MAGIC:
        raise ParquetUnsupported("Its footer is encrypted.")
    if tail[-4:] != layout.MAGIC:
        raise ParquetCorrupt("It does not end with the magic bytes of Parquet.")
    if length > size - smallest:
        raise ParquetCorrupt(f"A footer of {length} bytes does not fit a file of {size} bytes.")
    if length > max_footer_bytes:
        raise ParquetUnsupported(f"Its footer of {length} bytes exceeds {max_footer_bytes}.")
    footer_start = size - layout.TRAILER_BYTES - length
    if length + layout.TRAILER_BYTES <= len(tail):
        return tail[len(tail) - layout.TRAILER_BYTES - length : -layout.TRAILER_BYTES], footer_start
    return reader.read_at(footer_start, length), footer_start


def _parse(reader: Reader, data: bytes, footer_start: int, visit: Visit | None) -> Footer:
    opened = spans.open_struct(data, 0, _SMALL_SHAPE if len(data) <= _SMALL_BYTES else spans.FLAT)
    encrypted = opened.has(FileMeta.ENCRYPTION) or opened.has(FileMeta.SIGNING_KEY)
    # A signature follows the metadata of a signed footer; elsewhere nothing may.
    if opened.end != len(data) and not encrypted:
        raise ParquetCorrupt("There are stray bytes after the metadata in the footer.")
    schema = read_schema(_needed_list(opened, FileMeta.SCHEMA))
    totals = _Totals(set(), set(), [])
    row_groups = _row_groups(opened, schema, footer_start, totals, visit)
    _check_disjoint(totals.ranges)
    rows = opened.needed_integer(FileMeta.NUM_ROWS)
    if rows != sum(row_group.rows for row_group in row_groups):
        raise ParquetCorrupt(f"It claims {rows} rows, its row groups hold another number.")
    return Footer(
        path=reader.path,
        size_bytes=reader.size_bytes,
        footer_start=footer_start,
        opened=opened,
        version=opened.needed_integer(FileMeta.VERSION),
        rows=rows,
        schema=schema,
        row_groups=row_groups,
        created_by=opened.binary(FileMeta.CREATED_BY),
        key_values=_key_values(opened),
        codecs=frozenset(layout.name_of(layout.CODECS, number) for number in totals.codecs),
        encodings=frozenset(
            layout.name_of(layout.ENCODINGS, number) for number in totals.encodings()
        ),
        encrypted=encrypted,
        has_page_index=totals.page_index,
        has_bloom_filter=totals.bloom_filter,
    )


def _row_groups(
    opened: spans.Opened,
    schema: Schema,
    footer_start: int,
    totals: _Totals,
    visit: Visit | None,
) -> tuple[RowGroup, ...]:
    count = thrift.read_list_header(_needed_list(opened, FileMeta.ROW_GROUPS), 0)[1]
    if count > layout.MAX_ROW_GROUPS:
        raise ParquetUnsupported(f"It has {count} row groups, more than a file can number.")
    row_groups = []
    groups: Iterable[spans.Opened]
    if FileMeta.ROW_GROUPS in opened.children:
        groups = opened.children.pop(FileMeta.ROW_GROUPS)
    else:
        at = opened.fields[FileMeta.ROW_GROUPS][2]
        groups = spans.open_list(opened.data, at, ROW_GROUP_SHAPE)
    for group in groups:
        row_group, chunks = read_row_group(group, schema.leaves, footer_start)
        row_groups.append(row_group)
        totals.add(chunks)
        if visit is not None:
            visit(row_group, chunks)
    return tuple(row_groups)


def _needed_list(opened: spans.Opened, field_id: int) -> bytes:
    raw = opened.raw(field_id)
    if raw is None or opened.kind(field_id) != thrift.LIST:
        raise ParquetCorrupt(f"Field {field_id} of the footer should be a list.")
    return raw


def _check_disjoint(ranges: list[tuple[int, int]]) -> None:
    # Overlaps would let a small file describe endless data, and no writer produces them.
    ranges.sort()
    for (_, end), (start, _) in itertools.pairwise(ranges):
        if start < end:
            raise ParquetCorrupt(f"Two column chunks share the byte at {start}.")


def _key_values(opened: spans.Opened) -> KeyValues:
    if not opened.has(FileMeta.KEY_VALUES):
        return ()
    raw = _needed_list(opened, FileMeta.KEY_VALUES)
    return (_known_pairs if len(raw) <= _KNOWN_KEY_VALUES_BYTES else _pairs)(raw)


def _pairs(raw: bytes) -> KeyValues:
    pairs = []
    noted = 0
    for pair in spans.open_list(raw, 0):
        noted += 1 + pair.noted
        if noted > spans.MAX_NOTED_FIELDS:
            raise ParquetUnsupported(f"It has over {spans.MAX_NOTED_FIELDS} key-values.")
        key = pair.binary(1)
        if key is None:
            raise ParquetCorrupt("The key-value metadata has a value without a key.")
        pairs.append((key, pair.binary(2)))
    return tuple(pairs)


_known_pairs: Final = lru_cache(maxsize=32)(_pairs)


def _statistics(chunk: ColumnChunk) -> Statistics:
    span = chunk.meta.fields.get(Meta.STATISTICS)
    if span is None:
        return Statistics(None, None, None)
    opened = spans.open_struct(chunk.meta.data, span[2])
    return Statistics(
        opened.integer(Stats.NULL_COUNT),
        opened.binary(Stats.MIN_VALUE),
        opened.binary(Stats.MAX_VALUE),
    )
