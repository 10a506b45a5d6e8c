"""Statistics of joined chunks: added up, merged where the order is sure, otherwise left out."""

from __future__ import annotations

import io
import itertools
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.parquet import thrift
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.statistics import NOTHING, ChunkStatistics, merged
from neve.parquet.assembly.values import ValueType
from neve.parquet.layout import Physical
from neve.storage.readers import MemoryReader

from .conftest import assemble_files, number, write_file

DOUBLE = ValueType(Physical.DOUBLE, "plain")
LONG = ValueType(Physical.INT64, "plain")
TEXT = ValueType(Physical.BYTE_ARRAY, "string")
BINARY = ValueType(Physical.BYTE_ARRAY, "plain")
MONEY = ValueType(Physical.INT32, "decimal", precision=9, scale=2)
LARGE = ValueType(Physical.FIXED_LEN_BYTE_ARRAY, "decimal", length=9, precision=20, scale=2)


def of(lower: bytes, upper: bytes, nulls: int | None = 0) -> ChunkStatistics:
    return ChunkStatistics(nulls, lower, upper)


def double(*values: float) -> tuple[bytes, ...]:
    return tuple(struct.pack("<d", value) for value in values)


def money(*values: int) -> tuple[bytes, ...]:
    return tuple(value.to_bytes(4, "little", signed=True) for value in values)


def large(*values: int) -> tuple[bytes, ...]:
    return tuple(value.to_bytes(9, "big", signed=True) for value in values)


@pytest.mark.parametrize(
    ("value", "first", "second", "expected"),
    [
        (DOUBLE, double(-1, 2), double(-5, 1), double(-5, 2)),
        (DOUBLE, double(0.0, 0.0), double(-0.0, -0.0), double(-0.0, 0.0)),
        (MONEY, money(-3, 4), money(-300, 1), money(-300, 4)),
        (LARGE, large(-3, 4), large(-(2**40), 1), large(-(2**40), 4)),
        (TEXT, (b"b", b"c"), (b"a", b"d"), (b"a", b"d")),
        (BINARY, (b"\x01", b"\x02"), (b"\x00", b"\x03"), (b"\x00", b"\x03")),
        # U+FFFD and an emoji: code points and UTF-16 units order them differently.
        (TEXT, ("�".encode(),) * 2, ("😀".encode(),) * 2, (None, None)),
        # Signed and unsigned bytes do, too.
        (BINARY, (b"\x80", b"\x80"), (b"\x01", b"\x01"), (None, None)),
        (LONG, (b"\x01" * 8, b"\x02" * 8), (b"\x01", b"\x02"), (None, None)),
    ],
)
def test_bounds_are_merged_where_every_order_agrees(value, first, second, expected) -> None:
    found = merged([of(*first), of(*second)], [5, 5], value)

    assert (found.lower, found.upper) == expected


def test_a_chunk_without_bounds_takes_them_from_all_unless_it_is_all_nulls() -> None:
    known = of(*double(1, 2), nulls=1)

    assert merged([known, ChunkStatistics(4)], [5, 5], DOUBLE) == ChunkStatistics(5)
    assert merged([known, ChunkStatistics(5)], [5, 5], DOUBLE) == of(*double(1, 2), nulls=6)
    assert merged([known, NOTHING], [5, 5], DOUBLE) == NOTHING


def joined_file(**options) -> tuple[bytes, list[bytes]]:
    schema = number(pa.schema([pa.field("x", pa.float64()), pa.field("s", pa.string())]))
    nan = float("nan")
    tables = [
        pa.table([[1.0, nan, None], ["b", "c", None]], schema=schema),
        pa.table([[-2.0, 3.0, 4.0], ["a", "b", "z"]], schema=schema),
    ]
    files = [write_file(table, use_dictionary=False, **options) for table in tables]
    return assemble_files(files, schema).data, files


def test_the_new_footer_says_what_the_values_are_like() -> None:
    data, _ = joined_file(write_page_index=True)
    group = pq.read_metadata(io.BytesIO(data)).row_group(0)

    numbers, texts = (group.column(index).statistics for index in range(2))
    assert (numbers.min, numbers.max, numbers.null_count) == (-2.0, 4.0, 1)
    assert (texts.min, texts.max, texts.null_count) == ("a", "z", 1)
    assert group.column(0).has_column_index
    assert group.column(0).has_offset_index


def test_where_a_source_has_no_column_index_the_joined_chunk_has_none() -> None:
    data, _ = joined_file(write_page_index=False)
    group = pq.read_metadata(io.BytesIO(data)).row_group(0)

    assert not group.column(0).has_column_index
    assert group.column(0).has_offset_index


def test_the_bounds_of_an_unknown_writer_are_not_vouched_for() -> None:
    _, files = joined_file(write_page_index=True)
    known = b"parquet-cpp-arrow version"
    unknown = [data.replace(known, b"parquet-cpp-arrow versiox") for data in files]
    schema = pq.ParquetFile(io.BytesIO(files[0])).schema_arrow

    assert not load_assembly_source(MemoryReader(unknown[0])).orders_numbers
    for data in (assemble_files(unknown, schema).data, assemble_files(unknown[:1], schema).data):
        column = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0)
        assert not column.statistics.has_min_max
        assert not column.has_column_index
        assert column.statistics.null_count == 1


def test_offsets_and_rows_of_joined_pages_are_right() -> None:
    schema = number(pa.schema([pa.field("id", pa.int64())]))
    files = [
        write_file(
            pa.table([list(range(first, first + 100))], schema=schema),
            use_dictionary=False,
            data_page_size=1,
            write_batch_size=30,
            write_page_index=True,
        )
        for first in (0, 100)
    ]
    assembled = assemble_files(files, schema)

    source = load_assembly_source(MemoryReader(assembled.data))
    index = source.groups[0].chunks[0].offset_index
    assert index is not None
    # Pages of 30, 30, 30 and 10 rows, twice.
    decoded, _ = thrift.decode_struct(assembled.data, index.offset)
    pages = [[one.value for one in page.fields] for page in decoded.get(1).values]
    assert [row for _, _, row in pages] == [0, 30, 60, 90, 100, 130, 160, 190]
    assert pages[0][0] == 4
    for (offset, length, _), (following, _, _) in itertools.pairwise(pages):
        assert offset + length == following
