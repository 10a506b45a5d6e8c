"""The new footer: positions move, ordinals count up, everything else stays or is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.model.errors import ParquetUnsupported
from neve.parquet import spans, thrift
from neve.parquet import splice as splicing
from neve.parquet.footer import read_footer
from neve.parquet.layout import EXTENSION_ID, Chunk, FileMeta, Group, Meta
from neve.parquet.plan import CopyRange
from neve.parquet.splice import plan_splice
from neve.storage.readers import MemoryReader

SHAPE = {FileMeta.ROW_GROUPS: spans.Each({Group.COLUMNS: spans.Each({Chunk.META: spans.FLAT})})}
OPTIONS = {"write_page_index": True, "bloom_filter_options": {"a": True}}


@pytest.fixture(scope="module")
def data(write) -> bytes:
    return write(pa.table({"a": [1, 2, 3]}), row_group_size=2, **OPTIONS)


def add_fields(encoded: bytes, *extra: bytes) -> bytes:
    """Append already encoded fields (with long headers) to a struct."""
    return encoded[:-1] + b"".join(extra) + b"\0"


def long_field(field_id: int, value: int) -> bytes:
    return bytes([thrift.I64]) + thrift.encode_int(field_id) + thrift.encode_int(value)


def with_extras(encoded: bytes) -> bytes:
    """Give the footer and the parts of its first chunk fields that Parquet does not have."""
    extras = (long_field(900, 1 << 33), long_field(EXTENSION_ID, 7))
    opened = spans.open_struct(encoded, 0, SHAPE)
    groups = []
    for group in opened.children[FileMeta.ROW_GROUPS]:
        chunk = group.children[Group.COLUMNS][0]
        meta_bytes = chunk.raw(Chunk.META) or b""
        meta = add_fields(meta_bytes, *extras)
        new_chunk = add_fields(b"".join(spans.rewrite(chunk, {Chunk.META: meta})), *extras)
        columns = thrift.encode_list_header(thrift.STRUCT, 1) + new_chunk
        groups.append(add_fields(b"".join(spans.rewrite(group, {Group.COLUMNS: columns})), *extras))
    group_list = thrift.encode_list_header(thrift.STRUCT, len(groups)) + b"".join(groups)
    changed = b"".join(spans.rewrite(opened, {FileMeta.ROW_GROUPS: group_list}))
    return add_fields(changed, *extras)


def with_ordinals(encoded: bytes) -> bytes:
    """Number the row groups, as parquet-java does."""
    opened = spans.open_struct(encoded, 0, SHAPE)
    groups = opened.children[FileMeta.ROW_GROUPS]
    numbered = [thrift.encode_list_header(thrift.STRUCT, len(groups))]
    for ordinal, group in enumerate(groups):
        number = bytes([thrift.I16]) + thrift.encode_int(Group.ORDINAL) + thrift.encode_int(ordinal)
        numbered.append(add_fields(encoded[group.start : group.end], number))
    return b"".join(spans.rewrite(opened, {FileMeta.ROW_GROUPS: b"".join(numbered)}))


def test_positions_move_and_ordinals_count_up(data, splice, rewrite_footer) -> None:
    numbered = rewrite_footer(data, with_ordinals)
    found = read_footer(MemoryReader(splice(numbered, numbered)))

    data_size = read_footer(MemoryReader(data)).row_groups[-1].end - 4
    first = [group.start for group in read_footer(MemoryReader(data)).row_groups]
    starts = first + [start + data_size for start in first]
    assert [group.start for group in found.row_groups] == starts
    opened = [found.open_row_group(group) for group in found.row_groups]
    assert [group.integer(Group.ORDINAL) for group in opened] == [0, 1, 2, 3]
    assert [group.integer(Group.FILE_OFFSET) for group in opened] == starts


def test_a_source_is_copied_in_one_piece(data, load) -> None:
    plan = plan_splice([load(data), load(data)])
    end = load(data).footer.row_groups[-1].end

    assert plan.parts[1:3] == (CopyRange(0, 4, end - 4), CopyRange(1, 4, end - 4))
    assert plan.parts[0].data == b"PAR1"
    assert plan.split_offsets == tuple(
        group.start
        for group in read_footer(MemoryReader(plan_bytes(plan, [data, data]))).row_groups
    )


def plan_bytes(plan, files) -> bytes:
    return b"".join(
        files[part.source][part.offset : part.offset + part.length]
        if isinstance(part, CopyRange)
        else part.data
        for part in plan.parts
    )


def test_unknown_fields_survive_and_extensions_do_not(data, splice, rewrite_footer, read) -> None:
    extended = rewrite_footer(data, with_extras)
    spliced = splice(extended, extended)

    opened = spans.open_struct(spliced, read_footer(MemoryReader(spliced)).footer_start, SHAPE)
    groups = opened.children[FileMeta.ROW_GROUPS]
    chunks = [group.children[Group.COLUMNS][0] for group in groups]
    structs = [opened, *groups, *chunks, *(chunk.child(Chunk.META) for chunk in chunks)]
    assert [struct.integer(900) for struct in structs] == [1 << 33] * 13
    assert not any(struct.has(EXTENSION_ID) for struct in structs)
    assert read(spliced)["a"].to_pylist() == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize(
    ("keep", "page_index", "bloom_filter"),
    [
        ({}, True, True),
        ({"keep_page_index": False}, False, True),
        ({"keep_bloom_filters": False}, True, False),
        ({"keep_page_index": False, "keep_bloom_filters": False}, False, False),
    ],
)
def test_indexes_can_be_left_behind(data, splice, read, keep, page_index, bloom_filter) -> None:
    spliced = splice(data, data, **keep)
    found = read_footer(MemoryReader(spliced))

    assert (found.has_page_index, found.has_bloom_filter) == (page_index, bloom_filter)
    assert read(spliced)["a"].to_pylist() == [1, 2, 3, 1, 2, 3]


def test_empty_files_contribute_nothing(data, write, splice) -> None:
    empty = write(pa.table({"a": pa.array([], pa.int64())}))

    assert splice(empty, data, empty) == splice(data)
    assert read_footer(MemoryReader(splice(empty, empty))).rows == 0


def test_row_groups_are_limited(data, load, monkeypatch) -> None:
    monkeypatch.setattr(splicing, "MAX_ROW_GROUPS", 3)

    with pytest.raises(ParquetUnsupported, match="4 row groups are more than"):
        plan_splice([load(data), load(data)])


@pytest.mark.parametrize(("offset", "moves"), [(0, False), (4, True), (10_000, False)])
def test_a_chunks_own_offset_moves_only_with_its_pages(
    data, rewrite_footer, splice, offset, moves
) -> None:
    def point(encoded: bytes) -> bytes:
        opened = spans.open_struct(encoded, 0, SHAPE)
        groups = [thrift.encode_list_header(thrift.STRUCT, 2)]
        for group in opened.children[FileMeta.ROW_GROUPS]:
            chunk = group.children[Group.COLUMNS][0]
            new_chunk = spans.rewrite(chunk, {Chunk.FILE_OFFSET: thrift.encode_int(offset)})
            columns = [thrift.encode_list_header(thrift.STRUCT, 1), *new_chunk]
            groups += spans.rewrite(group, {Group.COLUMNS: b"".join(columns)})
        return b"".join(spans.rewrite(opened, {FileMeta.ROW_GROUPS: b"".join(groups)}))

    pointed = rewrite_footer(data, point)
    found = read_footer(MemoryReader(splice(data, pointed)))
    chunk = found.open_row_group(found.row_groups[2]).children[Group.COLUMNS][0]

    shift = found.row_groups[2].start - 4
    assert chunk.integer(Chunk.FILE_OFFSET) == (offset + shift if moves else 0)


def test_an_absent_dictionary_offset_stays_absent(write, splice, read) -> None:
    plain = write(pa.table({"a": [1, 2]}), use_dictionary=False)
    spliced = splice(plain, plain)
    found = read_footer(MemoryReader(spliced))

    meta = found.open_row_group(found.row_groups[1]).children[Group.COLUMNS][0].child(Chunk.META)
    assert not meta.has(Meta.DICTIONARY_PAGE_OFFSET)
    assert read(spliced)["a"].to_pylist() == [1, 2, 1, 2]
