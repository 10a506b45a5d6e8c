"""What changes in a column chunk's metadata when its pages move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from neve.parquet import spans, thrift
from neve.parquet.chunks import ColumnChunk
from neve.parquet.indexes import (
    Source,
    bloom_span,
    column_index_span,
    offset_index_span,
    shift_offset_index,
)
from neve.parquet.layout import EXTENSION_ID, Chunk, Meta

_PAGE_OFFSETS: Final = (
    Meta.DATA_PAGE_OFFSET,
    Meta.INDEX_PAGE_OFFSET,
    Meta.DICTIONARY_PAGE_OFFSET,
)
_PAGE_INDEX: Final = (
    Chunk.OFFSET_INDEX_OFFSET,
    Chunk.OFFSET_INDEX_LENGTH,
    Chunk.COLUMN_INDEX_OFFSET,
    Chunk.COLUMN_INDEX_LENGTH,
)


@dataclass(frozen=True, slots=True)
class Extent:
    """A run of pages and how far it moves."""

    start: int
    end: int
    shift: int


@dataclass(frozen=True, slots=True)
class Indexes:
    """Which aids to reading the new file keeps."""

    page_index: bool
    bloom_filters: bool


@dataclass(slots=True)
class IndexPlaces:
    """Where the aids of one chunk lie in the new file; None where it has none."""

    column_index: int | None = None
    offset_index: int | None = None
    offset_index_length: int = 0
    bloom: int | None = None


class Layout(Protocol):
    """The new file as it is being laid down."""

    def copy(self, source: int, offset: int, length: int) -> int:
        """Take a range of a source; answers where it comes to lie."""

    def write(self, data: bytes) -> int:
        """Take literal bytes; answers where they come to lie."""


def shift_of(offset: int, extents: Sequence[Extent]) -> int:
    """How far the byte at `offset` moves."""
    return next(extent.shift for extent in extents if extent.start <= offset <= extent.end)


def move_indexes(
    source: Source,
    source_index: int,
    chunks: Sequence[ColumnChunk],
    extents: Sequence[Extent],
    layout: Layout,
    keep: Indexes,
) -> list[IndexPlaces]:
    """Lay down page indexes and bloom filters of a row group, kind by kind."""
    places = [IndexPlaces() for _ in chunks]
    footer = source.footer
    if keep.page_index and footer.has_page_index:
        located = [offset_index_span(chunk, footer) for chunk in chunks]
        for chunk, place, span in zip(chunks, places, located, strict=True):
            # A column index means nothing to a reader that cannot find the pages.
            column_index = column_index_span(chunk, footer) if span else None
            if column_index:
                place.column_index = layout.copy(
                    source_index, column_index.offset, column_index.length
                )
        for chunk, place, span in zip(chunks, places, located, strict=True):
            if span:
                shift = shift_of(chunk.start, extents)
                moved = shift_offset_index(source.offset_indexes[span.offset], chunk, shift)
                place.offset_index = layout.write(moved)
                place.offset_index_length = len(moved)
    if keep.bloom_filters and footer.has_bloom_filter:
        for chunk, place in zip(chunks, places, strict=True):
            bloom = bloom_span(chunk, source)
            if bloom:
                place.bloom = layout.copy(source_index, bloom.offset, bloom.length)
    return places


def move_chunk(chunk: ColumnChunk, extents: Sequence[Extent], places: IndexPlaces) -> list[bytes]:
    """The chunk's metadata, in slices, after its pages and indexes have moved."""
    shift = shift_of(chunk.start, extents)
    opened = chunk.opened
    changes = _index_changes(opened, places)
    changes[Chunk.META] = b"".join(spans.rewrite(chunk.meta, _meta_changes(chunk, shift, places)))
    file_offset = opened.integer(Chunk.FILE_OFFSET)
    if file_offset:
        # Old writers point at a copy of the metadata, which stays behind; 0 says there is none.
        inside = chunk.start <= file_offset < chunk.end
        changes[Chunk.FILE_OFFSET] = thrift.encode_int(file_offset + shift if inside else 0)
    if opened.has(EXTENSION_ID):
        changes[EXTENSION_ID] = None
    return spans.rewrite(opened, changes)


def _index_changes(opened: spans.Opened, places: IndexPlaces) -> dict[int, bytes | None]:
    changes: dict[int, bytes | None] = {
        field_id: None for field_id in _PAGE_INDEX if opened.has(field_id)
    }
    if places.offset_index is not None:
        changes[Chunk.OFFSET_INDEX_OFFSET] = thrift.encode_int(places.offset_index)
        changes[Chunk.OFFSET_INDEX_LENGTH] = thrift.encode_int(places.offset_index_length)
    if places.column_index is not None:
        changes[Chunk.COLUMN_INDEX_OFFSET] = thrift.encode_int(places.column_index)
        changes.pop(Chunk.COLUMN_INDEX_LENGTH)
    return changes


def _meta_changes(chunk: ColumnChunk, shift: int, places: IndexPlaces) -> dict[int, bytes | None]:
    meta = chunk.meta
    changes: dict[int, bytes | None] = {}
    for field_id in _PAGE_OFFSETS:
        offset = meta.integer(field_id)
        if offset:
            changes[field_id] = thrift.encode_int(offset + shift)
    if places.bloom is not None:
        changes[Meta.BLOOM_OFFSET] = thrift.encode_int(places.bloom)
    else:
        for field_id in (Meta.BLOOM_OFFSET, Meta.BLOOM_LENGTH):
            if meta.has(field_id):
                changes[field_id] = None
    if meta.has(EXTENSION_ID):
        changes[EXTENSION_ID] = None
    return changes
