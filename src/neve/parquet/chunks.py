"""Row groups and their column chunks: which bytes of the file are theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet import spans, thrift
from neve.parquet.layout import MAGIC, Chunk, Group, Meta
from neve.parquet.schema import Leaf

#: A row group opened down to the metadata of its chunks; statistics stay closed.
ROW_GROUP_SHAPE: Final[spans.Shape] = {Group.COLUMNS: spans.Each({Chunk.META: spans.FLAT})}

#: Old writers leave a copy of a chunk's metadata behind it; copying such crumbs along keeps a row
#: group in one piece, which is worth more than the bytes.
MAX_BRIDGED_GAP_BYTES: Final = 1024


@dataclass(slots=True)
class ColumnChunk:
    """The pages of one column in one row group."""

    opened: spans.Opened
    meta: spans.Opened
    #: The pages lie in bytes `start` (dictionary first) to `end` of the file.
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group: its size, its place in the file and its place in the footer."""

    rows: int
    uncompressed_bytes: int
    #: The pages of all columns lie between these bytes of the file.
    start: int
    end: int
    #: The runs of bytes that hold the pages, ascending; nearly always one.
    extents: tuple[tuple[int, int], ...]
    #: Where the first column's first page is: what Iceberg calls a split offset.
    split_offset: int
    #: Bytes of pages, without gaps between chunks.
    compressed_bytes: int
    #: Where RowGroup itself lies in the encoded footer.
    footer_start: int
    footer_end: int


def open_chunks(group: spans.Opened) -> list[ColumnChunk]:
    """The column chunks of an opened row group, with their byte ranges."""
    return [_chunk(opened) for opened in group.children.get(Group.COLUMNS, [])]


def read_row_group(
    group: spans.Opened, leaves: Sequence[Leaf], limit: int
) -> tuple[RowGroup, list[ColumnChunk]]:
    """Sum up a row group whose chunks agree with the schema and lie before byte `limit`."""
    rows = group.needed_integer(Group.NUM_ROWS)
    uncompressed = group.needed_integer(Group.TOTAL_BYTE_SIZE)
    if rows < 0 or uncompressed < 0:
        raise ParquetCorrupt("A row group claims a negative size.")
    # Writers are free with the positions in a row group without rows, and nobody follows them.
    chunks = open_chunks(group) if rows else []
    if rows:
        _check_chunks(chunks, leaves, limit)
    extents = _extents(chunks)
    row_group = RowGroup(
        rows=rows,
        uncompressed_bytes=uncompressed,
        start=extents[0][0] if extents else 0,
        end=extents[-1][1] if extents else 0,
        extents=tuple(extents),
        split_offset=chunks[0].start if chunks else 0,
        compressed_bytes=sum(chunk.end - chunk.start for chunk in chunks),
        footer_start=group.start,
        footer_end=group.end,
    )
    return row_group, chunks


def _check_chunks(chunks: Sequence[ColumnChunk], leaves: Sequence[Leaf], limit: int) -> None:
    if not leaves or len(chunks) != len(leaves):
        raise ParquetCorrupt(
            f"A row group has {len(chunks)} columns, the schema has {len(leaves)}."
        )
    for chunk, leaf in zip(chunks, leaves, strict=True):
        if not len(MAGIC) <= chunk.start < chunk.end <= limit:
            raise ParquetCorrupt(
                f"Column {'.'.join(leaf.path)!r} claims bytes {chunk.start} to {chunk.end}, "
                f"but data lies between {len(MAGIC)} and {limit}."
            )
        meta = chunk.meta
        if meta.raw(Meta.PATH) != leaf.encoded_path:
            raise ParquetCorrupt(f"A row group has another column where {leaf.path} should be.")
        if meta.integer(Meta.TYPE) != leaf.physical_type:
            raise ParquetCorrupt(f"Column {'.'.join(leaf.path)!r} has two physical types.")


def encodings_of(raw: bytes) -> list[int]:
    """The numbers in an encoded list of encodings."""
    try:
        kind, size, at = thrift.read_list_header(raw, 0)
        numbers = []
        for _ in range(size):
            number, at = thrift.read_int(raw, at)
            numbers.append(number)
    except IndexError:
        raise thrift.ends_early() from None
    if size and kind != thrift.I32:
        raise ParquetCorrupt("A column's encodings are not a list of numbers.")
    return numbers


def _extents(chunks: Sequence[ColumnChunk]) -> list[tuple[int, int]]:
    extents: list[tuple[int, int]] = []
    for start, end in sorted((chunk.start, chunk.end) for chunk in chunks):
        if extents and start - extents[-1][1] <= MAX_BRIDGED_GAP_BYTES:
            extents[-1] = (extents[-1][0], end)
        else:
            extents.append((start, end))
    return extents


def _chunk(opened: spans.Opened) -> ColumnChunk:
    if opened.has(Chunk.FILE_PATH):
        raise ParquetUnsupported("Its row groups lie in other files (a summary file).")
    meta = opened.child(Chunk.META)
    if opened.has(Chunk.CRYPTO) or opened.has(Chunk.ENCRYPTED_META):
        raise ParquetUnsupported("It has encrypted columns.")
    if meta is None:
        raise ParquetCorrupt("A column chunk has no metadata.")
    data_page = meta.needed_integer(Meta.DATA_PAGE_OFFSET)
    length = meta.needed_integer(Meta.COMPRESSED_SIZE)
    # Some writers leave the dictionary's offset at 0 and let the data page offset stand for both.
    dictionary = meta.integer(Meta.DICTIONARY_PAGE_OFFSET) or data_page
    start = min(data_page, dictionary)
    end = start + length
    index_page = meta.integer(Meta.INDEX_PAGE_OFFSET) or start
    if not start <= index_page <= end or max(data_page, dictionary) > end:
        raise ParquetCorrupt(f"A page lies outside its own column chunk at {start}.")
    return ColumnChunk(opened, meta, start, end)
