"""Page indexes and bloom filters: found, measured, and never left pointing at other bytes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.model.errors import ParquetCorrupt
from neve.parquet import spans, thrift
from neve.parquet.chunks import ColumnChunk, open_chunks
from neve.parquet.footer import read_footer
from neve.parquet.indexes import bloom_span, load_source, shift_offset_index
from neve.parquet.layout import Chunk, FileMeta, Group, Meta
from neve.parquet.thrift import Field, Items, Struct
from neve.storage.readers import MemoryReader

SHAPE = {FileMeta.ROW_GROUPS: spans.Each({Group.COLUMNS: spans.Each({Chunk.META: spans.FLAT})})}


@pytest.fixture(scope="module")
def data(write) -> bytes:
    options = {"write_page_index": True, "bloom_filter_options": {"a": True}}
    return write(pa.table({"a": [1, 2, 3]}), **options)


def change(encoded: bytes, chunk_changes: dict, meta_changes: dict) -> bytes:
    """Change the only chunk of the only row group."""
    opened = spans.open_struct(encoded, 0, SHAPE)
    group = opened.children[FileMeta.ROW_GROUPS][0]
    chunk = group.children[Group.COLUMNS][0]
    meta = b"".join(spans.rewrite(chunk.child(Chunk.META), meta_changes))
    one = thrift.encode_list_header(thrift.STRUCT, 1)
    columns = one + b"".join(spans.rewrite(chunk, {Chunk.META: meta} | chunk_changes))
    groups = one + b"".join(spans.rewrite(group, {Group.COLUMNS: columns}))
    return b"".join(spans.rewrite(opened, {FileMeta.ROW_GROUPS: groups}))


def index_of(*pages: tuple[int, int, int]) -> Struct:
    locations = tuple(
        Struct(
            (
                Field(1, thrift.I64, offset),
                Field(2, thrift.I32, length),
                Field(3, thrift.I64, row),
            )
        )
        for offset, length, row in pages
    )
    sizes = Items(thrift.I64, (5,) * len(pages))
    fields = (Field(1, thrift.LIST, Items(thrift.STRUCT, locations)), Field(2, thrift.LIST, sizes))
    return Struct(fields)


def chunk_at(start: int, end: int) -> ColumnChunk:
    nothing = spans.open_struct(b"\0", 0)
    return ColumnChunk(nothing, nothing, start, end)


def test_pages_move_with_their_chunk() -> None:
    before = thrift.encode_struct(index_of((100, 40, 0), (140, 60, 20)))
    after = shift_offset_index(before, chunk_at(100, 200), 1 << 33)

    moved = index_of(((1 << 33) + 100, 40, 0), ((1 << 33) + 140, 60, 20))
    assert after == thrift.encode_struct(moved)


@pytest.mark.parametrize("page", [(99, 10, 0), (190, 11, 0), (150, -1, 0), (-5, 1, 0)])
def test_pages_outside_their_chunk_are_corrupt(page: tuple[int, int, int]) -> None:
    with pytest.raises(ParquetCorrupt, match="outside its chunk"):
        shift_offset_index(thrift.encode_struct(index_of(page)), chunk_at(100, 200), 1)


@pytest.mark.parametrize("data", [b"\0", b"\0\0", b"\x25\x02\0"])
def test_what_is_no_offset_index_is_corrupt(data: bytes) -> None:
    with pytest.raises(ParquetCorrupt, match="not where the footer says"):
        shift_offset_index(data, chunk_at(100, 200), 1)


def test_an_unmeasured_bloom_filter_is_measured(data, rewrite_footer, splice, metadata) -> None:
    old = rewrite_footer(data, lambda footer: change(footer, {}, {Meta.BLOOM_LENGTH: None}))
    before = metadata(data).row_group(0).column(0)
    source = load_source(MemoryReader(old))

    assert source.bloom_lengths == {before.bloom_filter_offset: before.bloom_filter_length}
    spliced = splice(old, old)
    footer = read_footer(MemoryReader(spliced))
    chunk = open_chunks(footer.open_row_group(footer.row_groups[1]))[0]
    span = bloom_span(chunk, load_source(MemoryReader(spliced)))
    assert (
        spliced[span.offset : span.offset + span.length]
        == (data[before.bloom_filter_offset :][: before.bloom_filter_length])
    )


@pytest.mark.parametrize(
    ("chunk_changes", "meta_changes"),
    [
        ({Chunk.OFFSET_INDEX_OFFSET: thrift.encode_int(0)}, {}),
        ({Chunk.OFFSET_INDEX_OFFSET: None}, {}),
        ({Chunk.OFFSET_INDEX_LENGTH: None}, {}),
        ({Chunk.OFFSET_INDEX_LENGTH: thrift.encode_int(0)}, {}),
    ],
)
def test_a_column_index_without_pages_is_left_behind(
    data, rewrite_footer, splice, read, chunk_changes, meta_changes
) -> None:
    odd = rewrite_footer(data, lambda footer: change(footer, chunk_changes, meta_changes))
    spliced = splice(odd, odd)
    footer = read_footer(MemoryReader(spliced))

    chunk = footer.open_row_group(footer.row_groups[1]).children[Group.COLUMNS][0]
    assert [field_id for field_id in range(4, 8) if chunk.has(field_id)] == []
    assert read(spliced)["a"].to_pylist() == [1, 2, 3, 1, 2, 3]


def test_a_bloom_filter_at_zero_is_none(data, rewrite_footer, splice) -> None:
    zero = {Meta.BLOOM_OFFSET: thrift.encode_int(0)}
    odd = rewrite_footer(data, lambda footer: change(footer, {}, zero))

    assert not read_footer(MemoryReader(splice(odd, odd))).has_bloom_filter


@pytest.mark.parametrize(
    ("chunk_changes", "meta_changes"),
    [
        ({Chunk.OFFSET_INDEX_OFFSET: thrift.encode_int(1 << 40)}, {}),
        ({Chunk.COLUMN_INDEX_LENGTH: thrift.encode_int(1 << 30)}, {}),
        ({Chunk.OFFSET_INDEX_LENGTH: thrift.encode_int(-1)}, {}),
        ({}, {Meta.BLOOM_OFFSET: thrift.encode_int(2)}),
        ({}, {Meta.BLOOM_LENGTH: thrift.encode_int(1 << 30)}),
    ],
)
def test_indexes_outside_the_file_are_corrupt(
    data, rewrite_footer, chunk_changes, meta_changes
) -> None:
    odd = rewrite_footer(data, lambda footer: change(footer, chunk_changes, meta_changes))

    with pytest.raises(ParquetCorrupt, match="lies outside the data"):
        load_source(MemoryReader(odd))


def test_indexes_larger_than_the_file_are_corrupt(data, rewrite_footer, metadata) -> None:
    room = metadata(data).row_group(0).column(0).bloom_filter_offset
    end = read_footer(MemoryReader(data)).footer_start
    changes = {
        Chunk.COLUMN_INDEX_OFFSET: thrift.encode_int(4),
        Chunk.COLUMN_INDEX_LENGTH: thrift.encode_int(end - 4),
    }
    assert room > 4
    odd = rewrite_footer(data, lambda footer: change(footer, changes, {}))

    with pytest.raises(ParquetCorrupt, match="larger than the file"):
        load_source(MemoryReader(odd))
