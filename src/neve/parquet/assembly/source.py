"""What a source file offers: its footer, and the facts about every column chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet import spans, writers
from neve.parquet.assembly.columns import NO_IDS, MappedIds
from neve.parquet.chunks import ColumnChunk, RowGroup, encodings_of
from neve.parquet.footer import Footer, read_footer
from neve.parquet.indexes import Span
from neve.parquet.layout import MAGIC, Chunk, FileMeta, Meta, PageType
from neve.parquet.schema import Schema
from neve.storage.readers import Reader

PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, DELTA_BYTE_ARRAY = 0, 2, 8, 7
DICTIONARY_ENCODINGS: Final = frozenset((PLAIN_DICTIONARY, RLE_DICTIONARY))
_NEWEST_ENCODING: Final = 9
_DATA_PAGES: Final = frozenset((PageType.DATA, PageType.DATA_V2))

#: Before this version, pages of prefix-coded strings need to be read from the chunk's start.
_PREFIXES_RIGHT_SINCE: Final = {b"parquet-mr": (1, 8, 0)}
#: Values that Spark counted in another calendar; Iceberg's readers do not look at these keys.
_OTHER_CALENDAR_KEYS: Final = frozenset(
    (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
)


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """A column chunk as the footer describes it; positions are those in its file."""

    #: The pages, dictionary first, lie in bytes `start` to `end`.
    start: int
    end: int
    codec: int
    values: int
    uncompressed_bytes: int
    encodings: tuple[int, ...]
    has_dictionary: bool
    #: Where the first data page is, and the dictionary if the footer says so.
    data_offset: int
    dictionary_offset: int | None
    #: Data pages, where the footer tells, and whether some of them do without the dictionary.
    data_pages: int | None
    fell_back: bool
    #: Where ColumnChunk and its statistics lie in the encoded footer; no statistics are at 0.
    footer_at: int
    statistics_at: int
    offset_index: Span | None
    column_index: Span | None

    @property
    def length(self) -> int:
        """Bytes of pages."""
        return self.end - self.start

    @property
    def dictionary_pays(self) -> bool:
        """Whether the chunk is smaller for its dictionary: most values come more than once."""
        if not self.has_dictionary or self.fell_back:
            return False
        dictionary_bytes = self.data_offset - (self.dictionary_offset or self.data_offset)
        return 2 * dictionary_bytes <= self.length


@dataclass(frozen=True, slots=True)
class SourceGroup:
    """A row group with rows."""

    #: Its number among all row groups of the file, and where its first row is in the file.
    ordinal: int
    first_row: int
    rows: int
    compressed_bytes: int
    chunks: tuple[SourceChunk, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class AssemblySource:
    """A file to take column chunks from; the rest of its footer is read again when it is needed."""

    #: How the file is called.
    path: str
    size_bytes: int
    rows: int
    schema: Schema
    key_values: tuple[tuple[bytes, bytes | None], ...]
    #: Where the encoded footer lies.
    footer_at: Span
    groups: tuple[SourceGroup, ...]
    #: Row groups, by ordinal, of which rows are removed or changed: nothing of them is copied.
    changed: frozenset[int] = frozenset()
    #: For files without field ids.
    mapped_ids: MappedIds = field(default_factory=dict)
    #: Field ids of columns that are never taken from the file, whatever it holds.
    provided: frozenset[int] = frozenset()
    #: Whether bounds of byte strings mean what the format says; and those of numbers.
    orders_bytes: bool = False
    orders_numbers: bool = False
    #: Whether prefix-coded strings can be read page by page.
    prefixes_right: bool = False

    def read_footer(self, reader: Reader) -> bytes:
        """The encoded footer, in which chunks have their places."""
        # Those of a thousand files with hundreds of columns would be more than what is decoded.
        return reader.read_at(self.footer_at.offset, self.footer_at.length)


def load_assembly_source(
    reader: Reader,
    *,
    changed: frozenset[int] = frozenset(),
    mapped_ids: MappedIds = NO_IDS,
) -> AssemblySource:
    """Read the footer of a file and describe its chunks."""
    seen: list[tuple[RowGroup, tuple[SourceChunk, ...]]] = []
    limit = reader.size_bytes

    def visit(group: RowGroup, chunks: Sequence[ColumnChunk]) -> None:
        seen.append((group, tuple(_describe(chunk, limit) for chunk in chunks)))

    footer = read_footer(reader, visit=visit)
    _refuse(footer)
    writer = writers.parse(footer.created_by)
    trusted = writer is not None and not writer.is_before(writers.TRUSTED_SINCE)
    return AssemblySource(
        footer.path,
        footer.size_bytes,
        footer.rows,
        footer.schema,
        footer.key_values,
        Span(footer.footer_start, len(footer.opened.data)),
        _groups(seen),
        changed,
        mapped_ids,
        orders_bytes=trusted and footer.opened.has(FileMeta.COLUMN_ORDERS),
        orders_numbers=trusted,
        prefixes_right=writer is not None and not writer.is_before(_PREFIXES_RIGHT_SINCE),
    )


def _refuse(footer: Footer) -> None:
    if footer.encrypted:
        raise ParquetUnsupported(f"{footer.path} is encrypted or has a signed footer.")
    writers.check_sizes_are_right(footer.created_by)
    for key, _ in footer.key_values:
        if key in _OTHER_CALENDAR_KEYS:
            raise ParquetUnsupported(
                f"{footer.path} was written with {key.decode()}, which changes what dates mean."
            )


def _groups(seen: list[tuple[RowGroup, tuple[SourceChunk, ...]]]) -> tuple[SourceGroup, ...]:
    groups = []
    first_row = 0
    for ordinal, (group, chunks) in enumerate(seen):
        if group.rows:
            groups.append(
                SourceGroup(ordinal, first_row, group.rows, group.compressed_bytes, chunks)
            )
        first_row += group.rows
    return tuple(groups)


def _describe(chunk: ColumnChunk, limit: int) -> SourceChunk:
    meta = chunk.meta
    encodings = _encodings(meta.raw(Meta.ENCODINGS) or b"\0")
    dictionary_offset = meta.integer(Meta.DICTIONARY_PAGE_OFFSET) or None
    statistics = meta.fields.get(Meta.STATISTICS)
    pages = _data_pages(meta.raw(Meta.ENCODING_STATS) or b"")
    return SourceChunk(
        start=chunk.start,
        end=chunk.end,
        codec=meta.needed_integer(Meta.CODEC),
        values=meta.needed_integer(Meta.NUM_VALUES),
        uncompressed_bytes=meta.needed_integer(Meta.UNCOMPRESSED_SIZE),
        encodings=encodings,
        has_dictionary=dictionary_offset is not None
        or not DICTIONARY_ENCODINGS.isdisjoint(encodings),
        data_offset=meta.needed_integer(Meta.DATA_PAGE_OFFSET),
        dictionary_offset=dictionary_offset,
        data_pages=sum(pages) or None,
        fell_back=bool(pages[0] and pages[1]),
        footer_at=chunk.opened.start,
        statistics_at=statistics[2] if statistics else 0,
        offset_index=_span(
            chunk.opened, Chunk.OFFSET_INDEX_OFFSET, Chunk.OFFSET_INDEX_LENGTH, limit
        ),
        column_index=_span(
            chunk.opened, Chunk.COLUMN_INDEX_OFFSET, Chunk.COLUMN_INDEX_LENGTH, limit
        ),
    )


def _span(opened: spans.Opened, offset_id: int, length_id: int, limit: int) -> Span | None:
    offset, length = opened.integer(offset_id), opened.integer(length_id)
    if not offset or not length:
        return None
    if offset < len(MAGIC) or not 0 < length <= limit - offset:
        raise ParquetCorrupt(f"An index of {length} bytes at {offset} lies outside the file.")
    return Span(offset, length)


# Chunks of one table have few different lists of encodings between them.
@lru_cache(maxsize=4096)
def _encodings(raw: bytes) -> tuple[int, ...]:
    return tuple(encodings_of(raw))


@lru_cache(maxsize=4096)
def _data_pages(raw: bytes) -> tuple[int, int]:
    """How many data pages use a dictionary, and how many do not."""
    with_dictionary = without = 0
    for entry in spans.open_list(raw, 0) if raw else ():
        if entry.needed_integer(1) not in _DATA_PAGES:
            continue
        count = max(0, entry.needed_integer(3))
        if entry.needed_integer(2) in DICTIONARY_ENCODINGS:
            with_dictionary += count
        else:
            without += count
    return with_dictionary, without


def is_known_encoding(encoding: int) -> bool:
    """Whether the format had this encoding when Neve was written."""
    return 0 <= encoding <= _NEWEST_ENCODING
