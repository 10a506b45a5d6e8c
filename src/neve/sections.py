"""Sections of neve.yaml, each a value that knows what it may hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import time
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    field_validator,
    model_validator,
)

from neve.model.database import DatabaseRules, QueryLimits
from neve.model.durations import parse_duration
from neve.model.errors import InputError
from neve.model.orphans import OrphanRules, check_orphan_age
from neve.model.policy import DEFAULT_TARGET_FILE_SIZE_BYTES, CompactionPolicy
from neve.model.sizes import parse_size
from neve.planning.cost import CostModel
from neve.policy import values as read


def as_policies_read(reader: Callable[[object], Any]) -> PlainValidator:
    """A value that is written as in a policy."""

    def check(raw: object) -> Any:
        try:
            return reader(raw)
        except InputError as error:
            raise ValueError(" ".join(filter(None, (error.message, error.next_step)))) from error

    return PlainValidator(check)


MINUTE_SECONDS = 60
MONTH_SECONDS = 31 * 86400
TimeZone = Annotated[str, as_policies_read(read.timezone)]
Names = Annotated[tuple[str, ...], as_policies_read(read.words)]


class Section(BaseModel):
    """One section of the file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SparkSettings(Section):
    """How the Spark session is made."""

    master: str = "local[*]"
    # It may hold credentials of storage.
    conf: dict[str, str] = Field(default_factory=dict, repr=False)
    #: Settle commits whose answer leaves open what happened; see docs/decisions/0012.
    commit_gate: bool = True
    #: How executors of a cluster come by Neve's code: `auto`, `installed`, or an archive's address.
    package: str = Field(default="auto", min_length=1)

    @field_validator("conf", mode="before")
    @classmethod
    def _values_are_text(cls, value: object) -> object:
        if isinstance(value, dict):
            return {
                key: str(item).lower() if isinstance(item, bool) else str(item)
                for key, item in value.items()
            }
        return value


class StateSettings(Section):
    """Where jobs and outcomes are remembered."""

    # It may hold a password, so that it is not shown.
    url: str = Field(default="sqlite:///.neve/state.db", repr=False)
    #: How long a table stays held after its worker was killed; heartbeats renew it.
    lease_seconds: int = Field(default=10, ge=5, le=3600)
    #: What the keys on a Redis server begin with, so that several Neves may share one.
    prefix: str = Field(default="neve", pattern=r"^[A-Za-z0-9_.-]{1,64}$")

    @model_validator(mode="after")
    def _only_redis_has_prefixes(self) -> Self:
        default = type(self).model_fields["prefix"].default
        if self.prefix != default and not self.url.startswith("redis"):
            raise ValueError("a prefix goes with a url that begins with redis")
        return self


class CompactionSettings(Section):
    """Targets and thresholds for every table, unless a call says otherwise."""

    target_file_size: str | int = DEFAULT_TARGET_FILE_SIZE_BYTES
    min_file_size_ratio: float = 0.75
    min_input_files: int = 2
    delete_file_ratio: float = 0.1
    delete_record_ratio: float = 0.1
    quiet_seconds: int = 3600
    min_row_group_size: str | int = CompactionPolicy().min_row_group_bytes
    undo_window_days: float = Field(default=7.0, gt=0, le=3650)

    def policy(self, target_file_size_bytes: int | None = None) -> CompactionPolicy:
        """These settings as a policy."""
        target = target_file_size_bytes or parse_size(str(self.target_file_size))
        return CompactionPolicy(
            target_file_size_bytes=target,
            min_file_size_ratio=self.min_file_size_ratio,
            min_input_files=self.min_input_files,
            delete_file_ratio=self.delete_file_ratio,
            delete_record_ratio=self.delete_record_ratio,
            quiet_seconds=self.quiet_seconds,
            min_row_group_bytes=parse_size(str(self.min_row_group_size)),
            undo_window_seconds=int(self.undo_window_days * 86400),
        )

    def chosen(self) -> dict[str, str]:
        """Fields of the policy that are not left at their defaults, and the key of each here."""
        fields = {
            "target_file_size": "target_file_size_bytes",
            "min_row_group_size": "min_row_group_bytes",
            "undo_window_days": "undo_window_seconds",
        }
        return {fields.get(key, key): f"compaction.{key}" for key in sorted(self.model_fields_set)}


class CostSettings(Section):
    """Prices of the cost model."""

    get_usd_per_1000: float = Field(default=CostModel().get_usd_per_1000, ge=0)
    put_usd_per_1000: float = Field(default=CostModel().put_usd_per_1000, ge=0)
    compute_usd_per_gb_second: float = Field(default=CostModel().compute_usd_per_gb_second, ge=0)
    memory_gb: float = Field(default=CostModel().memory_gb, gt=0)

    def model(self) -> CostModel:
        return CostModel(**self.model_dump())


class OrphanSettings(Section):
    """When a file counts as an orphan, and how long it waits in quarantine."""

    older_than: str = "3d"
    purge_delay_hours: float = Field(default=24.0, ge=1, le=24 * 365)
    max_orphan_ratio: float = Field(default=OrphanRules().max_orphan_ratio, ge=0, le=1)

    def rules(self) -> OrphanRules:
        """These settings as rules."""
        seconds = parse_duration(self.older_than)
        check_orphan_age(seconds)
        return OrphanRules(
            older_than_seconds=seconds,
            purge_delay_seconds=int(self.purge_delay_hours * 3600),
            max_orphan_ratio=self.max_orphan_ratio,
        )

    def chosen(self) -> dict[str, str]:
        """Fields of the rules that are not left at their defaults, and the key of each here."""
        fields = {
            "older_than": "older_than_seconds",
            "purge_delay_hours": "purge_delay_seconds",
        }
        return {fields.get(key, key): f"orphans.{key}" for key in sorted(self.model_fields_set)}


class TrinoSettings(Section):
    """Where Trino is, and how far its maintenance goes. Used with `engine: trino`."""

    host: str = "localhost"
    port: int = Field(default=8080, ge=1, le=65535)
    user: str = "neve"
    password: str | None = Field(default=None, repr=False)
    http_scheme: Literal["http", "https"] = "http"
    catalog: str = "iceberg"
    # Keys may not be called `schema` in a pydantic model, so the field has another name.
    schema_name: str = Field(default="lakehouse", alias="schema")
    file_size_threshold: str = "10MB"
    snapshot_retention: str = "7d"
    orphan_retention: str = "7d"
    #: Lowers Trino's own floor of seven days; left out, that floor protects.
    min_retention: str | None = None
    #: Ends a statement that Trino cannot finish, for example while its storage is down.
    query_max_run_time: str = "30m"


class MaintainSettings(Section):
    """How `neve maintain` goes through many tables."""

    #: Tables that are worked on at the same time.
    parallel_tables: int = Field(default=4, ge=1, le=64)


class ServerSettings(Section):
    """Where `neve serve` listens; on other addresses than this machine's with `access` alone."""

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=1, le=65535)


class SchedulerSettings(Section):
    """When tables get their turn from `neve serve`, unless a policy says otherwise."""

    enabled: bool = True
    #: For tables without a schedule of their own; without it, these wait to be asked for.
    default_schedule: Annotated[str | None, as_policies_read(read.cron)] = None
    #: The clock of schedules and windows that name none.
    timezone: TimeZone = "UTC"


def _a_while(raw: object) -> int:
    seconds = read.duration(raw)
    if not MINUTE_SECONDS <= seconds <= MONTH_SECONDS:
        # A table that is tried all the time is not set aside.
        raise InputError(
            f"{raw!r} is too short or too long.", next_step="Write a minute at least, or 31 days."
        )
    return seconds


class SetAsideSettings(Section):
    """When workers leave a table alone, and when they try it again."""

    #: Attempts on a table that fail in a row.
    after_failures: int = Field(default=5, ge=1, le=1000)
    #: Then one of its jobs is tried, again and again.
    retry_after: Annotated[int, as_policies_read(_a_while)] = 3600


class NotificationSettings(Section):
    """Whom to tell: addresses by name, and who hears of what where no policy says it."""

    # An address holds the secrets that it takes to write there.
    channels: dict[str, str] = Field(default_factory=dict, repr=False)
    failures: Names = ()
    recoveries: Names = ()
    digest: Names = ()
    #: When the digest of the day before is sent.
    digest_at: Annotated[time, as_policies_read(read.clock)] = time(6)
    timezone: TimeZone = "UTC"


MB = 1024 * 1024
#: Of each environment: every so many writes a look at small files, and how many of them matter.
ENVIRONMENTS = {"development": (5, 3), "staging": (75, 15), "production": (100, 20)}


class TableWriteSettings(Section):
    """How new tables are written, by whoever writes to them."""

    target_file_size_mb: int = Field(default=128, ge=1, le=1_048_576)
    compression_codec: Literal["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"] = "zstd"
    #: Rows of a row group.
    parquet_row_group_size: int = Field(default=8192, ge=1, le=1_048_576)

    def properties(self) -> dict[str, str]:
        return {
            "write.target-file-size-bytes": str(self.target_file_size_mb * MB),
            "write.parquet.compression-codec": self.compression_codec,
            "write.parquet.row-group-limit": str(self.parquet_row_group_size),
        }


class SmallFileSettings(Section):
    """When a compaction is recommended, and what COMPACT takes on."""

    enabled: bool = True
    small_file_threshold_mb: int = Field(default=64, ge=1, le=1_048_576)
    #: As the environment has it where nothing is said.
    min_files_to_compact: int | None = Field(default=None, ge=2)
    opportunistic_check_interval: int | None = Field(default=None, ge=1)
    max_files_per_compaction: int = Field(default=100, ge=2)
    #: Whether a recommendation becomes a job by itself.
    submit_recommended: bool = False


class QuerySettings(Section):
    """How much one QUERY may take."""

    max_rows: int = Field(default=10_000, ge=1, le=1_000_000)
    max_seconds: float = Field(default=10.0, gt=0, le=3600)
    max_scan_mb: int = Field(default=256, ge=1)
    memory_mb: int = Field(default=512, ge=16)
    threads: int = Field(default=1, ge=1, le=64)

    def limits(self) -> QueryLimits:
        return QueryLimits(
            max_rows=self.max_rows,
            max_seconds=self.max_seconds,
            max_scan_bytes=self.max_scan_mb * MB,
            memory_bytes=self.memory_mb * MB,
            threads=self.threads,
        )


class DatabaseSettings(Section):
    """CREATE_TABLE, WRITE, QUERY and COMPACT."""

    environment: Literal["development", "staging", "production"] = "development"
    #: Where tables of tenants are made; the default catalog where none is named.
    catalog: str | None = None
    write: TableWriteSettings = TableWriteSettings()
    compaction: SmallFileSettings = SmallFileSettings()
    query: QuerySettings = QuerySettings()
    #: How long COMPACT waits for its jobs.
    compact_wait_seconds: float = Field(default=300.0, ge=0, le=3600)
    #: A server whose workers run COMPACT for functions that have no engine of their own.
    service_url: str | None = Field(default=None, repr=False)
    #: A key of that server, for all tenants that the function serves; it belongs into a variable.
    service_key: str | None = Field(default=None, repr=False)
    #: Whether a function on its platform may ask nobody who they are, without `access`.
    open_function: bool = False
    #: Without one, tables up to this size are compacted in the function itself.
    local_compact_mb: int = Field(default=512, ge=1)

    def rules(self) -> DatabaseRules:
        """These settings as rules."""
        small = self.compaction
        interval, min_files = ENVIRONMENTS[self.environment]
        return DatabaseRules(
            table_properties=self.write.properties(),
            is_checking=small.enabled,
            small_file_bytes=small.small_file_threshold_mb * MB,
            min_files_to_compact=small.min_files_to_compact or min_files,
            check_interval=small.opportunistic_check_interval or interval,
            max_files_per_compaction=small.max_files_per_compaction,
            submits_recommended=small.submit_recommended,
            compact_wait_seconds=self.compact_wait_seconds,
            local_compact_bytes=self.local_compact_mb * MB,
            query=self.query.limits(),
        )
