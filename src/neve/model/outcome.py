"""What a run did, read back from the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from neve.model.errors import NeveError
from neve.model.groups import Cost
from neve.model.job import JobState
from neve.model.table import TableRef


class Status(StrEnum):
    """How a run ended."""

    SUCCEEDED = "succeeded"
    NOTHING_TO_DO = "nothing_to_do"
    FAILED = "failed"
    UNKNOWN = "unknown"
    #: Somebody asked it to stop; what was committed before stays.
    CANCELLED = "cancelled"

    @property
    def is_good(self) -> bool:
        return self in (Status.SUCCEEDED, Status.NOTHING_TO_DO)

    @property
    def job_state(self) -> JobState:
        """The state of a job that ended so."""
        return JobState.SUCCEEDED if self.is_good else JobState(self.value)


@dataclass(frozen=True, slots=True)
class CompactionStats:
    """The table before and after; None where an engine could not count its files."""

    files_before: int | None = 0
    files_after: int | None = 0
    files_compacted: int = 0
    files_removed: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    bytes_saved: int = 0
    snapshots_expired: int = 0
    compaction_time_ms: float = 0.0
    small_files_remaining: int = 0


@dataclass(frozen=True, slots=True)
class PartitionProof:
    """One partition's records before and after, and how many deletes may explain."""

    partition: str
    rows_in: int
    rows_deleted: int
    rows_out: int

    @property
    def holds(self) -> bool:
        return self.rows_out == self.rows_in - self.rows_deleted


@dataclass(frozen=True, slots=True)
class Proof:
    """Why the run is believed: rows out are rows in minus rows deleted, for each partition."""

    #: What was verified before the commit, the weakest of all new files: `bytes`, `rows`, `store`
    #: (digests of the store), `metadata` (footers and manifests), `counts` (rows alone).
    level: str
    rows_in: int
    rows_deleted: int
    rows_out: int
    #: `metadata` counts come from manifests, `scan` counts from reading with deletes applied after
    #: the commit, `rewrite` counts from what the rewrite itself read.
    deletes_counted_by: str
    partitions: tuple[PartitionProof, ...] = ()

    @property
    def holds(self) -> bool:
        return self.rows_out == self.rows_in - self.rows_deleted and all(
            partition.holds for partition in self.partitions
        )

    def explain_failure(self) -> str:
        """One sentence about the first partition that does not add up."""
        for partition in self.partitions:
            if not partition.holds:
                return (
                    f"Partition {partition.partition} held {partition.rows_in} rows, "
                    f"{partition.rows_deleted} of them deleted, and now holds {partition.rows_out}."
                )
        return (
            f"The rewritten partitions held {self.rows_in} rows, {self.rows_deleted} of them "
            f"deleted, and now hold {self.rows_out}."
        )


@dataclass(frozen=True, slots=True)
class EngineUse:
    """What one engine worked on in a run, committed or not, and how long."""

    engine: str
    files: int
    #: Of the input; what an engine wrote is in the summary of the snapshot.
    bytes: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RolledBack:
    """What came of undoing a turn on one table: an outcome, or why not."""

    table: TableRef
    outcome: Outcome | None = None
    problem: NeveError | None = None


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A file that stays as it is, because its values would be read as others."""

    path: str
    reason: str
    #: The schema by which it was judged: another one may read it rightly.
    schema_id: int
    #: Whether engines of our own have refused it as well.
    refused_by_all: bool = False
    #: The table's mapping of names by which it was judged, too.
    name_mapping: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one job."""

    job_id: str
    table: TableRef
    operation: str
    status: Status
    reason: str
    started_at: datetime
    finished_at: datetime
    #: New files by the engine that laid down most of each.
    engines: dict[str, int] = field(default_factory=dict)
    #: For learning rates; empty in outcomes of before it was measured.
    engine_use: tuple[EngineUse, ...] = ()
    stats: CompactionStats = field(default_factory=CompactionStats)
    proof: Proof | None = None
    snapshot_before: int | None = None
    snapshot_after: int | None = None
    #: None where an engine could not count them.
    snapshots_before: int | None = 0
    snapshots_after: int | None = 0
    estimated_cost: Cost | None = None
    actual_usd: float | None = None
    #: Bytes that the engine read, for learning rates.
    bytes_rewritten: int = 0
    #: File groups that were left because a writer changed them meanwhile.
    conflicts: int = 0
    #: Files that were planned and stay as they are, with the reason.
    left_alone: tuple[LeftAlone, ...] = ()
    #: What the operation is about, counted before and after it: manifests, snapshots, bytes …
    figures_before: dict[str, int] = field(default_factory=dict)
    figures_after: dict[str, int] = field(default_factory=dict)

    #: The id by which its caller knows the run, such as that of an Airflow DAG run.
    run_id: str = ""

    @property
    def seconds(self) -> float:
        return (self.finished_at - self.started_at).total_seconds()
