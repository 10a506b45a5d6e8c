"""The pages of a column chunk, walked through from header to header."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet import spans
from neve.parquet.assembly.columns import Column
from neve.parquet.assembly.levels import row_starts
from neve.parquet.assembly.source import DICTIONARY_ENCODINGS, SourceChunk
from neve.parquet.codecs import ARROW_CODECS
from neve.parquet.layout import DataPage, DataPageV2, Page, PageType

_HEADER_SHAPE: Final[spans.Shape] = {Page.DATA: spans.FLAT, Page.DATA_V2: spans.FLAT}
_RLE: Final = 3
#: Pages of a few megabytes are already unusual; a liar's header must not cost all memory.
_MAX_LEVEL_PAGE_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WalkedPage:
    """A data page; its place is counted from the start of the chunk."""

    offset: int
    length: int
    rows: int
    #: False where the page goes on with a row of the page before.
    starts_row: bool


@dataclass(frozen=True, slots=True)
class WalkedChunk:
    """Data pages that add up to what the footer says about their chunk."""

    pages: tuple[WalkedPage, ...]
    #: How many pages there are of each page type and encoding.
    encodings: Counter[tuple[int, int]]
    #: Pages with their headers, before compression.
    uncompressed_bytes: int

    @property
    def is_aligned(self) -> bool:
        """Whether every page begins with a row, which an offset index takes for granted."""
        return all(page.starts_row and page.rows for page in self.pages)


def walk(data: bytes, at: int, chunk: SourceChunk, column: Column, rows: int) -> WalkedChunk:
    """The data pages of a chunk without a dictionary, which starts at `at` of `data`.

    Joined chunks stand one behind the other, so one row too many or too few in one of them would
    shift the column against the others: whatever does not add up is refused.
    """
    pages: list[WalkedPage] = []
    encodings: Counter[tuple[int, int]] = Counter()
    end = at + chunk.length
    start = at
    values = uncompressed = 0
    while at < end:
        header = spans.open_struct(data, at, _HEADER_SHAPE)
        size = header.needed_integer(Page.COMPRESSED_SIZE)
        plain_size = header.needed_integer(Page.UNCOMPRESSED_SIZE)
        if size < 0 or plain_size < 0 or size > end - header.end:
            raise ParquetCorrupt(f"A page of column {column.name} ends outside its chunk.")
        kind = header.needed_integer(Page.TYPE)
        read = _READERS.get(kind)
        if read is None:
            raise ParquetCorrupt(
                f"Column {column.name} has a page of type {kind} where its footer has none."
            )
        page = _PageBytes(data, header.end, size, plain_size, chunk.codec)
        count, encoding, starts, begins = read(header, page, column)
        encodings[kind, encoding] += 1
        pages.append(WalkedPage(at - start, header.end + size - at, starts, begins))
        values += count
        uncompressed += header.end - at + plain_size
        at = header.end + size
    found_rows = sum(page.rows for page in pages)
    if (values, found_rows) != (chunk.values, rows) or not pages[0].starts_row:
        raise ParquetCorrupt(
            f"Column {column.name} has {values} values in {found_rows} rows, "
            f"its footer has {chunk.values} in {rows}."
        )
    return WalkedChunk(tuple(pages), encodings, uncompressed)


@dataclass(frozen=True, slots=True)
class _PageBytes:
    data: bytes
    at: int
    size: int
    plain_size: int
    codec: int


def _read_v1(header: spans.Opened, page: _PageBytes, column: Column) -> tuple[int, int, int, bool]:
    inside = header.child(Page.DATA)
    if inside is None:
        raise ParquetCorrupt(f"A data page of column {column.name} has no header of its own.")
    values = _count(inside, DataPage.NUM_VALUES)
    encoding = _encoding(inside, DataPage.ENCODING, column)
    if column.max_repetition_level == 0:
        return values, encoding, values, True
    if inside.needed_integer(DataPage.REPETITION_ENCODING) != _RLE:
        raise ParquetUnsupported(f"Column {column.name} packs its levels in an outdated way.")
    plain = _decompressed(page)
    length = int.from_bytes(plain[:4], "little")
    if length > len(plain) - 4:
        raise ParquetCorrupt(f"The levels of column {column.name} end outside their page.")
    starts, begins = row_starts(plain[4 : 4 + length], column.max_repetition_level, values)
    return values, encoding, starts, begins


def _read_v2(header: spans.Opened, page: _PageBytes, column: Column) -> tuple[int, int, int, bool]:
    inside = header.child(Page.DATA_V2)
    if inside is None:
        raise ParquetCorrupt(f"A data page of column {column.name} has no header of its own.")
    values, rows = _count(inside, DataPageV2.NUM_VALUES), _count(inside, DataPageV2.NUM_ROWS)
    encoding = _encoding(inside, DataPageV2.ENCODING, column)
    levels = _count(inside, DataPageV2.REPETITION_BYTES)
    if levels + _count(inside, DataPageV2.DEFINITION_BYTES) > page.size:
        raise ParquetCorrupt(f"The levels of column {column.name} end outside their page.")
    starts, begins = values, True
    if column.max_repetition_level:
        raw = page.data[page.at : page.at + levels]
        starts, begins = row_starts(raw, column.max_repetition_level, values)
    if starts != rows:
        raise ParquetCorrupt(f"A page of column {column.name} claims {rows} rows, not {starts}.")
    return values, encoding, rows, begins


_READERS: Final = {PageType.DATA: _read_v1, PageType.DATA_V2: _read_v2}


def _count(opened: spans.Opened, field_id: int) -> int:
    number = opened.needed_integer(field_id)
    if number < 0:
        raise ParquetCorrupt("A page claims a negative number of values.")
    return number


def _encoding(opened: spans.Opened, field_id: int, column: Column) -> int:
    encoding = opened.needed_integer(field_id)
    if encoding in DICTIONARY_ENCODINGS:
        raise ParquetCorrupt(
            f"A page of column {column.name} needs a dictionary that is not there."
        )
    return encoding


def _decompressed(page: _PageBytes) -> bytes:
    raw = page.data[page.at : page.at + page.size]
    name = ARROW_CODECS[page.codec]
    if name == "none":
        return raw
    if page.plain_size > _MAX_LEVEL_PAGE_BYTES:
        raise ParquetUnsupported(f"A page of {page.plain_size} bytes is too large to look into.")
    try:
        plain: Any = pa.Codec(name).decompress(raw, page.plain_size, asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise ParquetCorrupt(f"A page cannot be decompressed: {error}.") from error
    return bytes(plain)
