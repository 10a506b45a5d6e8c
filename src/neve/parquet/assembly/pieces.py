"""Pieces of a column chunk in memory, and the chunk that they become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from neve.model.errors import ParquetCorrupt
from neve.parquet import spans, thrift
from neve.parquet.assembly.columns import Column
from neve.parquet.assembly.page_index import (
    PageBounds,
    joined_column_index,
    joined_offset_index,
    read_page_bounds,
)
from neve.parquet.assembly.pages import WalkedChunk, walk
from neve.parquet.assembly.source import SourceChunk
from neve.parquet.assembly.statistics import (
    ChunkStatistics,
    Trust,
    encode_statistics,
    merged,
    read_statistics,
)
from neve.parquet.chunks import ColumnChunk
from neve.parquet.indexes import shift_offset_index
from neve.parquet.layout import EXTENSION_ID, Chunk, Meta

_CHUNK_SHAPE: Final[spans.Shape] = {Chunk.META: spans.FLAT}
_PAGE_OFFSETS: Final = (
    Meta.DATA_PAGE_OFFSET,
    Meta.INDEX_PAGE_OFFSET,
    Meta.DICTIONARY_PAGE_OFFSET,
)
#: Filters are not taken along, notes of other writers mean nothing here.
_DROPPED: Final = (Meta.KEY_VALUES, Meta.BLOOM_OFFSET, Meta.BLOOM_LENGTH, EXTENSION_ID)


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk of a source or of a file that was encoded in memory."""

    chunk: SourceChunk
    rows: int
    #: The encoded footer that describes the chunk.
    footer: bytes = field(repr=False)
    trust: Trust
    #: Bytes that hold the pages from `at` on; None where they are copied from file to file.
    data: bytes | None = field(repr=False)
    at: int
    #: Encoded indexes, where the chunk has them.
    column_index: bytes | None = field(repr=False)
    offset_index: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class BuiltChunk:
    """A chunk of the new file, all but its place among the indexes."""

    column: Column
    start: int
    length: int
    uncompressed_bytes: int
    values: int
    statistics: ChunkStatistics
    #: ColumnMetaData, encoded.
    meta: bytes = field(repr=False)
    column_index: bytes | None = field(repr=False)
    offset_index: bytes | None = field(repr=False)


def single(piece: Piece, column: Column, start: int) -> BuiltChunk:
    """A chunk that is one piece as it is, from byte `start` of the new file on."""
    chunk = piece.chunk
    opened = spans.open_struct(piece.footer, chunk.footer_at, _CHUNK_SHAPE)
    meta = opened.child(Chunk.META)
    if meta is None:
        raise ParquetCorrupt("A column chunk has no metadata.")
    statistics = read_statistics(piece.footer, chunk.statistics_at, column.value, piece.trust)
    shift = start - chunk.start
    changes: dict[int, bytes | None] = {
        field_id: None for field_id in _DROPPED if meta.has(field_id)
    }
    changes[Meta.PATH] = column.encoded_path
    if chunk.statistics_at:
        changes[Meta.STATISTICS] = encode_statistics(statistics)
    for field_id in _PAGE_OFFSETS:
        offset = meta.integer(field_id)
        if offset:
            changes[field_id] = thrift.encode_int(offset + shift)
    offset_index = piece.offset_index
    if offset_index is not None:
        place = ColumnChunk(opened, meta, chunk.start, chunk.end)
        offset_index = shift_offset_index(offset_index, place, shift)
    has_bounds = offset_index is not None and piece.trust.of(column.value)
    return BuiltChunk(
        column=column,
        start=start,
        length=chunk.length,
        uncompressed_bytes=chunk.uncompressed_bytes,
        values=chunk.values,
        statistics=statistics,
        meta=b"".join(spans.rewrite(meta, changes)),
        column_index=piece.column_index if has_bounds else None,
        offset_index=offset_index,
    )


def joined(pieces: Sequence[Piece], column: Column, start: int) -> BuiltChunk:
    """A chunk that is the pages of all pieces, one after the other."""
    walked = []
    starts = []
    length = 0
    for piece in pieces:
        if piece.data is None:
            raise ParquetCorrupt("Pages that are joined must be looked at.")
        walked.append(walk(piece.data, piece.at, piece.chunk, column, piece.rows))
        starts.append(start + length)
        length += piece.chunk.length
    values = [piece.chunk.values for piece in pieces]
    known = [
        read_statistics(piece.footer, piece.chunk.statistics_at, column.value, piece.trust)
        for piece in pieces
    ]
    statistics = merged(known, values, column.value)
    uncompressed = sum(chunk.uncompressed_bytes for chunk in walked)
    offset_index = joined_offset_index(walked, starts)
    codec = pieces[0].chunk.codec
    return BuiltChunk(
        column=column,
        start=start,
        length=length,
        uncompressed_bytes=uncompressed,
        values=sum(values),
        statistics=statistics,
        meta=_meta(column, codec, walked, pieces, statistics, start),
        column_index=_column_index(pieces, walked, column) if offset_index else None,
        offset_index=offset_index,
    )


def _column_index(
    pieces: Sequence[Piece], walked: Sequence[WalkedChunk], column: Column
) -> bytes | None:
    bounds: list[PageBounds] = []
    for piece, chunk in zip(pieces, walked, strict=True):
        if piece.column_index is None or not piece.trust.of(column.value):
            return None
        found = read_page_bounds(piece.column_index, len(chunk.pages))
        if found is None:
            return None
        bounds.append(found)
    return joined_column_index(bounds)


def _meta(
    column: Column,
    codec: int,
    walked: Sequence[WalkedChunk],
    pieces: Sequence[Piece],
    statistics: ChunkStatistics,
    start: int,
) -> bytes:
    counts: Counter[tuple[int, int]] = Counter()
    for chunk in walked:
        counts.update(chunk.encodings)
    # Levels have encodings, too, which only the sources' footers list.
    encodings = sorted({number for piece in pieces for number in piece.chunk.encodings})
    I32, I64 = thrift.I32, thrift.I64
    fields = [
        (Meta.TYPE, I32, thrift.encode_int(column.value.physical)),
        (Meta.ENCODINGS, thrift.LIST, encode_numbers(encodings)),
        (Meta.PATH, thrift.LIST, column.encoded_path),
        (Meta.CODEC, I32, thrift.encode_int(codec)),
        (Meta.NUM_VALUES, I64, thrift.encode_int(sum(piece.chunk.values for piece in pieces))),
        (
            Meta.UNCOMPRESSED_SIZE,
            I64,
            thrift.encode_int(sum(chunk.uncompressed_bytes for chunk in walked)),
        ),
        (
            Meta.COMPRESSED_SIZE,
            I64,
            thrift.encode_int(sum(piece.chunk.length for piece in pieces)),
        ),
        (Meta.DATA_PAGE_OFFSET, I64, thrift.encode_int(start)),
    ]
    encoded = encode_statistics(statistics)
    if encoded is not None:
        fields.append((Meta.STATISTICS, thrift.STRUCT, encoded))
    fields.append((Meta.ENCODING_STATS, thrift.LIST, _page_counts(counts)))
    return thrift.encode_fields(fields)


def encode_numbers(numbers: Sequence[int]) -> bytes:
    """A list of small numbers as the footer holds it."""
    header = thrift.encode_list_header(thrift.I32, len(numbers))
    return header + b"".join(map(thrift.encode_int, numbers))


def _page_counts(counts: Counter[tuple[int, int]]) -> bytes:
    out = [thrift.encode_list_header(thrift.STRUCT, len(counts))]
    for (kind, encoding), count in sorted(counts.items()):
        numbers = ((1, kind), (2, encoding), (3, count))
        out.append(
            thrift.encode_fields(
                [(field_id, thrift.I32, thrift.encode_int(n)) for field_id, n in numbers]
            )
        )
    return b"".join(out)
