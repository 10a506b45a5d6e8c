"""Footers: what they say, and what is refused before anybody relies on it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet import footer, spans, thrift
from neve.parquet.chunks import ROW_GROUP_SHAPE
from neve.parquet.footer import Statistics, read_file_schema, read_footer
from neve.parquet.layout import Chunk, FileMeta, Group, Meta
from neve.storage.readers import MemoryReader

TABLE = pa.table({"a": pa.array([3, None, 1, 2], pa.int32()), "b": ["w", "x", "y", "z"]})


@pytest.fixture(scope="module")
def data(write) -> bytes:
    return write(TABLE, row_group_size=3, compression="zstd", write_page_index=True)


def change_chunk(
    footer_bytes: bytes, chunk_changes=None, meta_changes=None, group_changes=None, extra=b""
):
    """Change the first column chunk of the first row group."""
    shape = {FileMeta.ROW_GROUPS: spans.Each({Group.COLUMNS: spans.Each({Chunk.META: {}})})}
    opened = spans.open_struct(footer_bytes, 0, shape)
    groups = opened.children[FileMeta.ROW_GROUPS]
    chunks = groups[0].children[Group.COLUMNS]
    meta = b"".join(spans.rewrite(chunks[0].child(Chunk.META), meta_changes or {}))
    chunk = b"".join(spans.rewrite(chunks[0], {Chunk.META: meta} | (chunk_changes or {})))
    chunk = chunk[:-1] + extra + b"\0"
    columns = [thrift.encode_list_header(thrift.STRUCT, len(chunks)), chunk]
    columns += [footer_bytes[other.start : other.end] for other in chunks[1:]]
    changes = {Group.COLUMNS: b"".join(columns)} | (group_changes or {})
    encoded = [thrift.encode_list_header(thrift.STRUCT, len(groups))]
    encoded += spans.rewrite(groups[0], changes)
    encoded += [footer_bytes[other.start : other.end] for other in groups[1:]]
    return b"".join(spans.rewrite(opened, {FileMeta.ROW_GROUPS: b"".join(encoded)}))


def test_a_footer_is_summed_up(data: bytes) -> None:
    found = read_footer(MemoryReader(data, "file.parquet"))

    assert (found.path, found.size_bytes, found.rows, found.version) == (
        "file.parquet",
        len(data),
        4,
        2,
    )
    assert [leaf.path for leaf in found.schema.leaves] == [("a",), ("b",)]
    assert [group.rows for group in found.row_groups] == [3, 1]
    assert found.codecs == {"ZSTD"}
    assert found.encodings == {"PLAIN", "RLE", "RLE_DICTIONARY"}
    assert (found.encrypted, found.has_page_index, found.has_bloom_filter) == (False, True, False)
    assert [key for key, _ in found.key_values] == [b"ARROW:schema"]


def test_columns_are_read_without_the_rest(data: bytes, rewrite_footer) -> None:
    whole = read_footer(MemoryReader(data)).schema
    cut = rewrite_footer(data, lambda footer_bytes: footer_bytes[:-40])

    assert read_file_schema(MemoryReader(data)) == whole
    assert read_file_schema(MemoryReader(cut)) == whole
    with pytest.raises(ParquetCorrupt):
        read_footer(MemoryReader(cut))
    with pytest.raises(ParquetCorrupt, match=r"^f\.parquet: .*ends in the middle"):
        read_file_schema(MemoryReader(rewrite_footer(data, lambda raw: raw[:20]), "f.parquet"))


def test_row_groups_know_their_place(data: bytes, metadata) -> None:
    found = read_footer(MemoryReader(data))
    sizes = [
        sum(metadata(data).row_group(i).column(j).total_compressed_size for j in range(2))
        for i in range(2)
    ]

    assert [group.start for group in found.row_groups] == [4, 4 + sizes[0]]
    assert [group.compressed_bytes for group in found.row_groups] == sizes
    assert [group.extents for group in found.row_groups] == [
        ((group.start, group.end),) for group in found.row_groups
    ]


def test_statistics_are_read_on_demand(data: bytes) -> None:
    found = read_footer(MemoryReader(data))

    assert list(found.statistics(0)) == [
        Statistics(1, (1).to_bytes(4, "little"), (3).to_bytes(4, "little")),
        Statistics(0, (2).to_bytes(4, "little"), (2).to_bytes(4, "little")),
    ]
    assert found.null_count(0) == 1


def test_missing_statistics_are_unknown(write) -> None:
    found = read_footer(MemoryReader(write(TABLE, write_statistics=False)))

    assert list(found.statistics(1)) == [Statistics(None, None, None)]
    assert found.null_count(1) is None


def test_a_long_footer_takes_a_second_read(data: bytes, monkeypatch) -> None:
    monkeypatch.setattr(footer, "FIRST_READ_BYTES", 16)

    assert read_footer(MemoryReader(data)).rows == 4


def test_a_footer_of_hundreds_of_columns_is_walked_once(write, monkeypatch) -> None:
    wide = MemoryReader(write(pa.table({f"column_{n}": [f"{n}" * 20] for n in range(400)})))
    walk = spans.open_list
    walks = []

    def counted(data: bytes, at: int, shape: spans.Shape = spans.FLAT):
        walks.append(shape is ROW_GROUP_SHAPE)
        return walk(data, at, shape)

    monkeypatch.setattr(spans, "open_list", counted)
    at_once = read_footer(wide)
    assert len(at_once.opened.data) > 64 * 1024
    assert not any(walks)

    monkeypatch.setattr(footer, "_SMALL_BYTES", 0)
    one_by_one = read_footer(wide)
    assert any(walks)
    assert at_once.row_groups == one_by_one.row_groups
    assert at_once.schema == one_by_one.schema
    assert at_once.encodings == one_by_one.encodings


@pytest.mark.parametrize(
    ("tail", "error", "message"),
    [
        (b"", ParquetCorrupt, "file of 0 bytes is too short"),
        (b"PAR1PAR1", ParquetCorrupt, "too short"),
        (b"PAR1" + b"\0" * 8, ParquetCorrupt, "does not end with the magic"),
        (b"PARE\x01\0\0\0\0PARE", ParquetUnsupported, "footer is encrypted"),
        (b"PAR1\xff\xff\xff\xffPAR1", ParquetCorrupt, "footer of 4294967295 bytes"),
        (b"PAR1\x01\0\0\0PAR1", ParquetCorrupt, "does not fit"),
        (b"PAR1\0\0\0\0PAR1", ParquetCorrupt, "ends in the middle"),
        (b"PAR1\0\x01\0\0\0PAR1", ParquetCorrupt, "should be a list"),
        (b"PAR1\0\0\x02\0\0\0PAR1", ParquetCorrupt, "stray bytes"),
    ],
)
def test_what_is_not_parquet_is_refused(tail: bytes, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        read_footer(MemoryReader(tail))


def test_an_oversized_footer_is_refused(data: bytes) -> None:
    with pytest.raises(ParquetUnsupported, match="exceeds 100"):
        read_footer(MemoryReader(data), max_footer_bytes=100)


def test_too_many_row_groups_are_refused(data: bytes, rewrite_footer) -> None:
    def crowd(encoded: bytes) -> bytes:
        groups = thrift.encode_list_header(thrift.STRUCT, 32_768) + b"\0" * 32_768
        opened = spans.open_struct(encoded, 0)
        return b"".join(spans.rewrite(opened, {FileMeta.ROW_GROUPS: groups}))

    with pytest.raises(ParquetUnsupported, match="32768 row groups"):
        read_footer(MemoryReader(rewrite_footer(data, crowd)))


def integer(number: int) -> bytes:
    return thrift.encode_int(number)


def test_summary_files_are_refused(data: bytes, rewrite_footer) -> None:
    path = bytes([thrift.BINARY]) + thrift.encode_int(Chunk.FILE_PATH) + b"\x05other"

    def point_elsewhere(encoded: bytes) -> bytes:
        return change_chunk(encoded, extra=path)

    with pytest.raises(ParquetUnsupported, match="lie in other files"):
        read_footer(MemoryReader(rewrite_footer(data, point_elsewhere)))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"meta_changes": {Meta.COMPRESSED_SIZE: integer(1 << 40)}}, ParquetCorrupt, "claims"),
        ({"meta_changes": {Meta.COMPRESSED_SIZE: integer(-1)}}, ParquetCorrupt, "outside its own"),
        ({"meta_changes": {Meta.COMPRESSED_SIZE: None}}, ParquetCorrupt, "requires"),
        ({"meta_changes": {Meta.COMPRESSED_SIZE: integer(400)}}, ParquetCorrupt, "share the byte"),
        ({"meta_changes": {Meta.DATA_PAGE_OFFSET: integer(0)}}, ParquetCorrupt, "claims bytes 0"),
        ({"meta_changes": {Meta.PATH: b"\x18\x01x"}}, ParquetCorrupt, "another column"),
        ({"meta_changes": {Meta.TYPE: integer(2)}}, ParquetCorrupt, "two physical types"),
        ({"chunk_changes": {Chunk.META: None}}, ParquetCorrupt, "no metadata"),
        ({"group_changes": {Group.NUM_ROWS: integer(-3)}}, ParquetCorrupt, "negative"),
        ({"group_changes": {Group.NUM_ROWS: integer(7)}}, ParquetCorrupt, "another number"),
        ({"group_changes": {Group.COLUMNS: b"\x0c"}}, ParquetCorrupt, "has 0 columns"),
    ],
)
def test_contradictions_are_refused(data, rewrite_footer, changes, error, message) -> None:
    changed = rewrite_footer(data, lambda encoded: change_chunk(encoded, **changes))

    with pytest.raises(error, match=f"odd.parquet: .*{message}"):
        read_footer(MemoryReader(changed, "odd.parquet"))
