"""Field ids and enumerations of Parquet's metadata structs, as far as Neve looks at them."""

from __future__ import annotations

from typing import Final

MAGIC: Final = b"PAR1"
ENCRYPTED_MAGIC: Final = b"PARE"
#: The footer's length (four bytes, little-endian) and the magic after it.
TRAILER_BYTES: Final = 8
MAX_ROW_GROUPS: Final = 32_767

#: Reserved in every struct for private additions, which may hold offsets that nobody can shift.
EXTENSION_ID: Final = 32_767


class FileMeta:
    """FileMetaData: the footer itself."""

    VERSION: Final = 1
    SCHEMA: Final = 2
    NUM_ROWS: Final = 3
    ROW_GROUPS: Final = 4
    KEY_VALUES: Final = 5
    CREATED_BY: Final = 6
    COLUMN_ORDERS: Final = 7
    ENCRYPTION: Final = 8
    SIGNING_KEY: Final = 9


class Element:
    """SchemaElement: one node of the schema tree."""

    TYPE: Final = 1
    TYPE_LENGTH: Final = 2
    REPETITION: Final = 3
    NAME: Final = 4
    CHILDREN: Final = 5
    CONVERTED_TYPE: Final = 6
    SCALE: Final = 7
    PRECISION: Final = 8
    FIELD_ID: Final = 9
    LOGICAL_TYPE: Final = 10


class Group:
    """RowGroup."""

    COLUMNS: Final = 1
    TOTAL_BYTE_SIZE: Final = 2
    NUM_ROWS: Final = 3
    SORTING_COLUMNS: Final = 4
    FILE_OFFSET: Final = 5
    COMPRESSED_SIZE: Final = 6
    ORDINAL: Final = 7


class Chunk:
    """ColumnChunk."""

    FILE_PATH: Final = 1
    FILE_OFFSET: Final = 2
    META: Final = 3
    OFFSET_INDEX_OFFSET: Final = 4
    OFFSET_INDEX_LENGTH: Final = 5
    COLUMN_INDEX_OFFSET: Final = 6
    COLUMN_INDEX_LENGTH: Final = 7
    CRYPTO: Final = 8
    ENCRYPTED_META: Final = 9


class Meta:
    """ColumnMetaData."""

    TYPE: Final = 1
    ENCODINGS: Final = 2
    PATH: Final = 3
    CODEC: Final = 4
    NUM_VALUES: Final = 5
    UNCOMPRESSED_SIZE: Final = 6
    COMPRESSED_SIZE: Final = 7
    KEY_VALUES: Final = 8
    DATA_PAGE_OFFSET: Final = 9
    INDEX_PAGE_OFFSET: Final = 10
    DICTIONARY_PAGE_OFFSET: Final = 11
    STATISTICS: Final = 12
    ENCODING_STATS: Final = 13
    BLOOM_OFFSET: Final = 14
    BLOOM_LENGTH: Final = 15
    SIZE_STATISTICS: Final = 16


class Stats:
    """Statistics of a column chunk."""

    LEGACY_MAX: Final = 1
    LEGACY_MIN: Final = 2
    NULL_COUNT: Final = 3
    DISTINCT_COUNT: Final = 4
    MAX_VALUE: Final = 5
    MIN_VALUE: Final = 6
    IS_MAX_EXACT: Final = 7
    IS_MIN_EXACT: Final = 8


class Page:
    """PageHeader."""

    TYPE: Final = 1
    UNCOMPRESSED_SIZE: Final = 2
    COMPRESSED_SIZE: Final = 3
    DATA: Final = 5
    DATA_V2: Final = 8


class DataPage:
    """DataPageHeader."""

    NUM_VALUES: Final = 1
    ENCODING: Final = 2
    REPETITION_ENCODING: Final = 4


class DataPageV2:
    """DataPageHeaderV2."""

    NUM_VALUES: Final = 1
    NUM_ROWS: Final = 3
    ENCODING: Final = 4
    DEFINITION_BYTES: Final = 5
    REPETITION_BYTES: Final = 6


class PageType:
    """What a page holds."""

    DATA: Final = 0
    DICTIONARY: Final = 2
    DATA_V2: Final = 3


class ColumnIndex:
    """ColumnIndex: what each page of a chunk holds."""

    NULL_PAGES: Final = 1
    MIN_VALUES: Final = 2
    MAX_VALUES: Final = 3
    BOUNDARY_ORDER: Final = 4
    NULL_COUNTS: Final = 5


class OffsetIndex:
    """OffsetIndex: where the pages of a chunk are; each location has an offset, bytes, a row."""

    LOCATIONS: Final = 1


class Physical:
    """How values are stored."""

    BOOLEAN: Final = 0
    INT32: Final = 1
    INT64: Final = 2
    INT96: Final = 3
    FLOAT: Final = 4
    DOUBLE: Final = 5
    BYTE_ARRAY: Final = 6
    FIXED_LEN_BYTE_ARRAY: Final = 7


CODECS: Final = (
    "UNCOMPRESSED",
    "SNAPPY",
    "GZIP",
    "LZO",
    "BROTLI",
    "LZ4",
    "ZSTD",
    "LZ4_RAW",
)

ENCODINGS: Final = (
    "PLAIN",
    "GROUP_VAR_INT",
    "PLAIN_DICTIONARY",
    "RLE",
    "BIT_PACKED",
    "DELTA_BINARY_PACKED",
    "DELTA_LENGTH_BYTE_ARRAY",
    "DELTA_BYTE_ARRAY",
    "RLE_DICTIONARY",
    "BYTE_STREAM_SPLIT",
)


def name_of(names: tuple[str, ...], number: int) -> str:
    """The name of an enumeration's number, or a spelling of one that is newer than Neve."""
    return names[number] if 0 <= number < len(names) else f"UNKNOWN_{number}"
