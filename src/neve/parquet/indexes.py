"""Page indexes and bloom filters: where a file keeps them, and what a move does to them.

A column index says nothing about positions and moves as it is. An offset index holds the absolute
position of every page inside its own bytes, so it is rewritten. A bloom filter moves as it is, but
old writers do not say how long it is; its own header does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from neve.model.errors import ParquetCorrupt
from neve.parquet import spans, thrift
from neve.parquet.chunks import ColumnChunk, open_chunks
from neve.parquet.footer import Footer, read_footer
from neve.parquet.layout import MAGIC, Chunk, Meta
from neve.storage.readers import Reader

_PAGE_LOCATIONS: Final = 1
_PAGE_OFFSET: Final = 1
_PAGE_BYTES: Final = 2
_BLOOM_BITSET_BYTES: Final = 1
_BLOOM_HEADER_MAX_BYTES: Final = 64

#: Neighbouring indexes are fetched together, up to this much at a time.
_FETCH_BYTES: Final = 8 * 1024 * 1024
_FETCH_GAP_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Span:
    """A run of bytes in a file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Source:
    """A file to splice from: its footer and the few other bytes that a plan must see."""

    footer: Footer
    #: Encoded offset indexes by their position in the file.
    offset_indexes: Mapping[int, bytes]
    #: Lengths of the bloom filters by their position, where the footer does not give them.
    bloom_lengths: Mapping[int, int]


def load_source(reader: Reader, footer: Footer | None = None) -> Source:
    """Read everything about a file that a splice needs, apart from the data."""
    footer = footer or read_footer(reader)
    offset_indexes: list[Span] = []
    bloom_lengths: dict[int, int] = {}
    total_bytes = 0
    if footer.has_page_index or footer.has_bloom_filter:
        for chunk in _all_chunks(footer):
            index = offset_index_span(chunk, footer)
            column_index = column_index_span(chunk, footer)
            if index is not None:
                offset_indexes.append(index)
            bloom = bloom_offset(chunk, footer)
            if bloom is not None and not chunk.meta.has(Meta.BLOOM_LENGTH):
                bloom_lengths[bloom] = _bloom_length(reader, footer, bloom)
            bloom_filter = _bloom_span(chunk, footer, bloom_lengths)
            total_bytes += sum(span.length for span in (index, column_index, bloom_filter) if span)
    # Indexes that share bytes would let a small file describe an endless one.
    if total_bytes > footer.footer_start:
        raise ParquetCorrupt(f"{footer.path}: its indexes and filters are larger than the file.")
    return Source(footer, _fetch(reader, offset_indexes), bloom_lengths)


def offset_index_span(chunk: ColumnChunk, footer: Footer) -> Span | None:
    """Where a chunk's offset index lies, if it has one."""
    return _span(chunk, footer, Chunk.OFFSET_INDEX_OFFSET, Chunk.OFFSET_INDEX_LENGTH)


def column_index_span(chunk: ColumnChunk, footer: Footer) -> Span | None:
    """Where a chunk's column index lies, if it has one."""
    return _span(chunk, footer, Chunk.COLUMN_INDEX_OFFSET, Chunk.COLUMN_INDEX_LENGTH)


def bloom_span(chunk: ColumnChunk, source: Source) -> Span | None:
    """Where a chunk's bloom filter lies, header included, if it has one."""
    return _bloom_span(chunk, source.footer, source.bloom_lengths)


def bloom_offset(chunk: ColumnChunk, footer: Footer) -> int | None:
    """Where a chunk's bloom filter starts; writers say 0 where there is none."""
    offset = chunk.meta.integer(Meta.BLOOM_OFFSET)
    return _checked(Span(offset, 1), footer).offset if offset else None


def shift_offset_index(data: bytes, chunk: ColumnChunk, shift: int) -> bytes:
    """An offset index whose pages have moved by `shift` bytes together with their chunk."""
    index = spans.open_struct(data, 0, {_PAGE_LOCATIONS: spans.Each(spans.FLAT)})
    if index.end != len(data) or not index.has(_PAGE_LOCATIONS):
        raise ParquetCorrupt("An offset index is not where the footer says that it is.")
    pages = index.children[_PAGE_LOCATIONS]
    moved = [thrift.encode_list_header(thrift.STRUCT, len(pages))]
    for page in pages:
        offset = page.needed_integer(_PAGE_OFFSET)
        length = page.needed_integer(_PAGE_BYTES)
        if length < 0 or not chunk.start <= offset <= chunk.end - length:
            raise ParquetCorrupt(f"An offset index has a page at {offset}, outside its chunk.")
        moved += spans.rewrite(page, {_PAGE_OFFSET: thrift.encode_int(offset + shift)})
    return b"".join(spans.rewrite(index, {_PAGE_LOCATIONS: b"".join(moved)}))


def _all_chunks(footer: Footer) -> Iterator[ColumnChunk]:
    for row_group in footer.filled_row_groups:
        yield from open_chunks(footer.open_row_group(row_group))


def _span(chunk: ColumnChunk, footer: Footer, offset_field: int, length_field: int) -> Span | None:
    offset = chunk.opened.integer(offset_field)
    length = chunk.opened.integer(length_field)
    return _checked(Span(offset, length), footer) if offset and length else None


def _checked(span: Span, footer: Footer) -> Span:
    room = footer.footer_start - span.offset
    if span.offset < len(MAGIC) or not 0 < span.length <= room:
        raise ParquetCorrupt(
            f"{footer.path}: an index of {span.length} bytes at {span.offset} lies outside "
            f"the data, which ends at {footer.footer_start}."
        )
    return span


def _bloom_span(chunk: ColumnChunk, footer: Footer, lengths: Mapping[int, int]) -> Span | None:
    offset = bloom_offset(chunk, footer)
    if offset is None:
        return None
    length = chunk.meta.integer(Meta.BLOOM_LENGTH)
    return _checked(Span(offset, lengths[offset] if length is None else length), footer)


def _bloom_length(reader: Reader, footer: Footer, offset: int) -> int:
    room = footer.footer_start - offset
    header = spans.open_struct(reader.read_at(offset, min(room, _BLOOM_HEADER_MAX_BYTES)), 0)
    return header.end + header.needed_integer(_BLOOM_BITSET_BYTES)


def _fetch(reader: Reader, wanted: list[Span]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for batch in _batches(sorted(wanted, key=lambda span: span.offset)):
        start = batch[0].offset
        data = reader.read_at(start, max(span.offset + span.length for span in batch) - start)
        for span in batch:
            found[span.offset] = data[span.offset - start : span.offset - start + span.length]
    return found


def _batches(wanted: list[Span]) -> Iterator[list[Span]]:
    batch: list[Span] = []
    for span in wanted:
        end = span.offset + span.length
        if batch and (
            span.offset - batch[-1].offset - batch[-1].length > _FETCH_GAP_BYTES
            or end - batch[0].offset > _FETCH_BYTES
        ):
            yield batch
            batch = []
        batch.append(span)
    if batch:
        yield batch
