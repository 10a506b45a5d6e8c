"""The nouns of the database operations: columns, writes and their keys, what a compaction asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: The newest format version that pyiceberg writes.
MAX_FORMAT_VERSION = 2
#: So many keys of writes to a table are remembered.
MAX_WRITE_KEYS = 100_000
#: A row, by the names of its columns.
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, with its type in Iceberg's words."""

    name: str
    type: str
    required: bool = False
    #: The fields of a struct, the element of a list, or key and value of a map.
    parts: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionBy:
    """One field of the partition spec of a new table, for example `bucket[16]` of `id`."""

    column: str
    transform: str


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table that is to be made."""

    columns: tuple[Column, ...]
    partitions: tuple[PartitionBy, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FieldTrouble:
    """One part of a request that cannot be used, and why."""

    location: tuple[str | int, ...]
    message: str


@dataclass(frozen=True, slots=True)
class WriteKey:
    """An idempotency key and the rows that came with it, both as short digests."""

    key: str
    content: str


@dataclass(frozen=True, slots=True)
class Condition:
    """What a column must be for a row to matter: =, <, <=, >, >=, in, is null, is not null."""

    column: str
    operator: str
    #: As they were written: texts, which may mean days and moments, and whole numbers.
    values: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows of a table that a statement needs, and perhaps others."""

    #: Names that columns may have; None means all.
    columns: tuple[str, ...] | None = None
    conditions: tuple[Condition, ...] = ()
    #: So many rows will do, whichever they are.
    max_rows: int | None = None


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """How much one query may take."""

    max_rows: int = 10_000
    max_seconds: float = 10.0
    #: Bytes of the rows that are read from tables, as Arrow holds them.
    max_scan_bytes: int = 256 * 1024 * 1024
    max_result_bytes: int = 16 * 1024 * 1024
    memory_bytes: int = 512 * 1024 * 1024
    threads: int = 1


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows that a query gave."""

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    is_truncated: bool


@dataclass(frozen=True, slots=True)
class DatabaseRules:
    """What the configuration says about the database operations."""

    #: Properties that new tables get.
    table_properties: Mapping[str, str] = field(default_factory=dict)
    is_checking: bool = True
    small_file_bytes: int = 64 * 1024 * 1024
    min_files_to_compact: int = 3
    #: Every so many writes to a table, its small files are counted.
    check_interval: int = 5
    max_files_per_compaction: int = 100
    #: A write waits so long for what the count finds; it is told with the next one otherwise.
    check_seconds: float = 1.0
    #: Whether a recommendation becomes a job by itself.
    submits_recommended: bool = False
    #: How long COMPACT waits for its jobs.
    compact_wait_seconds: float = 300.0
    #: COMPACT without a service and without Spark is for tables of so many bytes at most.
    local_compact_bytes: int = 512 * 1024 * 1024
    query: QueryLimits = field(default_factory=QueryLimits)
