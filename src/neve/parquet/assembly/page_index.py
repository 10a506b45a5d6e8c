"""Column and offset indexes of chunks that become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from neve.model.errors import ParquetCorrupt
from neve.parquet import spans, thrift
from neve.parquet.assembly.pages import WalkedChunk
from neve.parquet.layout import ColumnIndex, OffsetIndex

_UNORDERED: Final = 0
#: Inside lists, writers say 0 or 2 for false.
_BOOLEANS: Final = bytes(1 if byte == thrift.TRUE else thrift.FALSE for byte in range(256))


@dataclass(frozen=True, slots=True)
class PageBounds:
    """What a column index says about the pages of a chunk, one after the other."""

    pages: int
    #: Encoded elements of the lists.
    null_pages: bytes
    min_values: bytes
    max_values: bytes
    null_counts: bytes | None


def joined_offset_index(chunks: Sequence[WalkedChunk], starts: Sequence[int]) -> bytes | None:
    """The offset index of chunks that come to lie at `starts`; None where rows span pages."""
    if not all(chunk.is_aligned for chunk in chunks):
        return None
    count = sum(len(chunk.pages) for chunk in chunks)
    out = [
        thrift.encode_field_header(0, OffsetIndex.LOCATIONS, thrift.LIST),
        thrift.encode_list_header(thrift.STRUCT, count),
    ]
    first = thrift.encode_field_header(0, 1, thrift.I64)
    second, third = (thrift.encode_field_header(0, 1, kind) for kind in (thrift.I32, thrift.I64))
    row = 0
    for chunk, start in zip(chunks, starts, strict=True):
        for page in chunk.pages:
            out += (first, thrift.encode_int(start + page.offset))
            out += (second, thrift.encode_int(page.length))
            out += (third, thrift.encode_int(row), b"\0")
            row += page.rows
    out.append(b"\0")
    return b"".join(out)


def read_page_bounds(data: bytes, pages: int) -> PageBounds | None:
    """The column index of a chunk with this many pages; None where it is of others."""
    opened = spans.open_struct(data, 0)
    if opened.end != len(data):
        raise ParquetCorrupt("A column index is not where the footer says that it is.")
    null_pages = _elements(opened, ColumnIndex.NULL_PAGES, pages, (thrift.TRUE, thrift.FALSE))
    min_values = _elements(opened, ColumnIndex.MIN_VALUES, pages, (thrift.BINARY,))
    max_values = _elements(opened, ColumnIndex.MAX_VALUES, pages, (thrift.BINARY,))
    if null_pages is None or min_values is None or max_values is None:
        return None
    null_counts = _elements(opened, ColumnIndex.NULL_COUNTS, pages, (thrift.I64,))
    return PageBounds(pages, null_pages.translate(_BOOLEANS), min_values, max_values, null_counts)


def joined_column_index(chunks: Sequence[PageBounds]) -> bytes:
    """One column index for the pages of all; that they are in order is not claimed."""
    pages = sum(chunk.pages for chunk in chunks)
    fields = [
        (ColumnIndex.NULL_PAGES, thrift.TRUE, [chunk.null_pages for chunk in chunks]),
        (ColumnIndex.MIN_VALUES, thrift.BINARY, [chunk.min_values for chunk in chunks]),
        (ColumnIndex.MAX_VALUES, thrift.BINARY, [chunk.max_values for chunk in chunks]),
    ]
    out: list[bytes] = []
    previous = 0
    for field_id, kind, lists in fields:
        out.append(thrift.encode_field_header(previous, field_id, thrift.LIST))
        out += (thrift.encode_list_header(kind, pages), *lists)
        previous = field_id
    out.append(thrift.encode_field_header(previous, ColumnIndex.BOUNDARY_ORDER, thrift.I32))
    out.append(thrift.encode_int(_UNORDERED))
    counts = [chunk.null_counts for chunk in chunks if chunk.null_counts is not None]
    if len(counts) == len(chunks):
        header = thrift.encode_field_header(
            ColumnIndex.BOUNDARY_ORDER, ColumnIndex.NULL_COUNTS, thrift.LIST
        )
        out += (header, thrift.encode_list_header(thrift.I64, pages), *counts)
    out.append(b"\0")
    return b"".join(out)


def _elements(
    opened: spans.Opened, field_id: int, count: int, kinds: tuple[int, ...]
) -> bytes | None:
    """The encoded elements of a list, if it has this many of them of such a kind."""
    raw = opened.raw(field_id)
    if raw is None:
        return None
    if opened.kind(field_id) != thrift.LIST:
        raise ParquetCorrupt("A column index has another value where a list should be.")
    kind, size, at = thrift.read_list_header(raw, 0)
    return raw[at:] if size == count and kind in kinds else None
