"""Requests and answers of the database operations, as JSON has them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

MAX_RECORDS = 10_000
Text = Annotated[str, Field(min_length=1, max_length=256)]
#: What looks like a number or a truth is none.
Whole = Annotated[int, Field(strict=True)]
Truth = Annotated[bool, Field(strict=True)]


class _Body(BaseModel):
    """What is not known is an error, since nothing is accepted and ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Request(_Body):
    tenant_id: Text = Field(description="Whose table it is.")
    namespace: Text = Field(
        default="default",
        description="Small letters, digits and underscores.",
        examples=["default"],
    )
    table: Text = Field(description="Small letters, digits and underscores.", examples=["users"])


class FieldType(_Body):
    """One column of a new table, or a part of one."""

    type: Text = Field(
        description="string, integer, int, long, float, double, number, boolean, date, time, "
        "timestamp, timestamptz, uuid, binary or decimal(precision, scale); struct with its "
        "fields, list with its element, map with its key and value.",
        examples=["string"],
    )
    required: Truth = False
    fields: dict[Text, FieldType] | None = Field(
        default=None, min_length=1, max_length=1000, description="Of a struct."
    )
    element: FieldType | None = Field(default=None, description="Of a list.")
    key: FieldType | None = Field(default=None, description="Of a map.")
    value: FieldType | None = Field(default=None, description="Of a map.")


class TableSchema(_Body):
    """Columns by their names, in order."""

    fields: dict[Text, FieldType] = Field(min_length=1, max_length=1000)


class PartitionField(_Body):
    """One part of what the files of a table are divided by."""

    field: Text
    transform: Literal["identity", "year", "month", "day", "hour", "bucket", "truncate"] = (
        "identity"
    )
    width: Whole | None = Field(
        default=None, ge=1, le=1_000_000, description="Of buckets how many, of truncate how wide."
    )


class CreateTable(_Request):
    """Make a table, with the write properties of the configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    operation: Literal["CREATE_TABLE"]
    table_schema: TableSchema = Field(alias="schema")
    if_not_exists: Truth = False
    partitioning: tuple[PartitionField, ...] = Field(default=(), max_length=32)


class Write(_Request):
    """Append records. It is answered after the commit."""

    operation: Literal["WRITE"]
    records: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_RECORDS)
    idempotency_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=255,
        description="With the same key the same records count once, however often they are sent.",
    )


class Query(_Request):
    """One SELECT on tables of the tenant; all rows of the table where none is given."""

    operation: Literal["QUERY"]
    sql: str | None = Field(
        default=None,
        min_length=1,
        max_length=20_000,
        examples=["SELECT name, age FROM users WHERE age > 20"],
    )
    limit: Whole | None = Field(default=None, ge=1, le=10_000, description="Rows at most.")


class Compact(_Request):
    """Merge small files, and let old snapshots go."""

    operation: Literal["COMPACT"]
    force: Truth = Field(default=False, description="Also where there are few small files.")
    target_file_size_mb: Whole | None = Field(default=None, ge=1, le=1_048_576)
    max_files: Whole | None = Field(default=None, ge=2, le=1_000_000)
    partition_filter: str | None = Field(
        default=None, min_length=1, max_length=65_536, examples=["day >= '2026-01-01'"]
    )
    expire_snapshots: Truth = Field(
        default=False, description="Let old snapshots go, and what only they hold, for good."
    )
    snapshot_retention_hours: Whole = Field(default=168, ge=1, le=876_000)


Request = Annotated[CreateTable | Write | Query | Compact, Field(discriminator="operation")]
REQUEST: TypeAdapter[CreateTable | Write | Query | Compact] = TypeAdapter(Request)


class CreateTableAnswer(BaseModel):
    """The table is there."""

    success: Literal[True] = True
    created: bool = Field(description="False where it was there already.")
    table: str = Field(description="Its name in the catalog.")


class WriteAnswer(BaseModel):
    """The records are in the table."""

    success: Literal[True] = True
    records_written: int
    compaction_recommended: bool = False
    small_files_count: int | None = Field(
        default=None, description="Null where this write did not count them."
    )
    repeated: bool = Field(
        default=False, description="An earlier request with the same key had written them."
    )


class ResultColumn(BaseModel):
    """One column of an answer."""

    name: str
    type: str


class QueryAnswer(BaseModel):
    """Rows; decimals and moments are texts."""

    success: Literal[True] = True
    columns: list[ResultColumn]
    records: list[dict[str, Any]]
    row_count: int
    truncated: bool = Field(description="There are more rows than were asked for or are told.")


class CompactionStatistics(BaseModel):
    """The table before and after."""

    files_before: int | None
    files_after: int | None
    files_compacted: int
    files_removed: int
    bytes_before: int
    bytes_after: int
    bytes_saved: int
    snapshots_expired: int
    compaction_time_ms: float
    small_files_remaining: int


class CompactAnswer(BaseModel):
    """What came of it; without `stats` its jobs still run."""

    success: bool = True
    compacted: bool
    reason: str
    stats: CompactionStatistics | None = None
    job_id: str | None = None
    expire_job_id: str | None = None
    engine: Literal["service", "in_process"] = "service"
