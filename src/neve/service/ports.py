"""What the service needs from the world. Engines, catalogs and stores implement these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from neve.model.expiry import Consumer, FreedFile
from neve.model.facts import PartitionKey, TableFacts
from neve.model.integrity import (
    FileClaim,
    FooterReport,
    KnownColumns,
    MetadataHistory,
    MetadataProblem,
    Stored,
    TableIntegrity,
)
from neve.model.job import Job, JobRequest, JobState, Lease, ScheduleState, SetAsideTable
from neve.model.metadata_change import MetadataChange
from neve.model.operation import Operation
from neve.model.orphans import (
    FileTotals,
    ListedFile,
    Listing,
    Orphan,
    QuarantineEntry,
    QuarantineState,
    ReachableFiles,
    Sweep,
    TableLocation,
)
from neve.model.outcome import Outcome
from neve.model.rewrite import (
    CopyInputs,
    FileDetails,
    RewriteTask,
    SpliceRequirements,
    StagedFiles,
    StageOrder,
    TaskResult,
)
from neve.model.steps import RewriteDataFiles
from neve.model.table import TableRef


class Clock(Protocol):
    """Tells the time."""

    def __call__(self) -> datetime: ...


class Reporter(Protocol):
    """Tells the user what is going on."""

    def __call__(self, message: str) -> None:
        """Say what begins now."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Say how much of it is done."""
        ...


class Surveyor(Protocol):
    """Reads table metadata."""

    def tables(self, pattern: str) -> list[TableRef]: ...

    def survey(
        self, table: TableRef, *, where: str | None = None, snapshot_id: int | None = None
    ) -> TableFacts: ...

    def copy_inputs(
        self,
        table: TableRef,
        snapshot_id: int,
        paths: Collection[str],
        outputs: Sequence[tuple[PartitionKey, Sequence[str]]],
    ) -> CopyInputs: ...

    def reachable(self, table: TableRef) -> ReachableFiles:
        """Every file that the table's metadata reaches now, through all snapshots."""
        ...

    def location(self, table: TableRef) -> TableLocation:
        """Where the table lives now."""
        ...

    def locations(self) -> list[TableLocation]:
        """Where all tables of all catalogs live; one that cannot be loaded is an error."""
        ...

    def other_registration(
        self, table: TableRef, table_uuid: str, *, recheck: bool = False
    ) -> TableRef | None:
        """Another name, in any catalog, under which the same table is registered, if any."""
        ...

    def needed(
        self,
        table: TableRef,
        paths: Collection[str],
        reached: Collection[str] = (),
        *,
        recheck: bool = False,
    ) -> Mapping[str, TableRef]:
        """Of the paths, those that must not be deleted, each with a table that needs it.

        These are files that one of the reached paths means, by whatever name, and files that any
        other table of any catalog reaches. A table that cannot be read is an error. Tables are
        asked again with `recheck`, otherwise an answer of some minutes serves.
        """
        ...

    def outline(self, table: TableRef) -> TableFacts:
        """Facts without files: snapshots, branches, tags and properties."""
        ...

    def freed_files(self, table: TableRef, snapshot_ids: Collection[int]) -> tuple[FreedFile, ...]:
        """Files that nothing reaches once the snapshots are gone."""
        ...

    def present_files(self, table: TableRef, paths: Collection[str]) -> list[str]:
        """Of the paths, those that are there."""
        ...


class MetadataWriter(Protocol):
    """Changes where main points, tags, and which snapshots are listed; no engine is needed."""

    def commit(self, change: MetadataChange) -> None:
        """One commit against the state that the change was judged by, without a retry.

        Raises CommitConflict where somebody came in between, and then nothing was changed.
        """
        ...


class Engine(Protocol):
    """Changes tables."""

    def job(self, job_id: str) -> AbstractContextManager[None]:
        """What this thread asks for in the block is done for the job."""
        ...

    def warm_up(self) -> bool:
        """Be ready before the table is looked at; True where that took time."""
        ...

    def stage(
        self, table: TableRef, snapshot_id: int, orders: Sequence[StageOrder], reporter: Reporter
    ) -> list[StagedFiles]:
        """Write the live rows of files into new ones. Nothing is committed."""
        ...

    def commit_staged(
        self,
        table: TableRef,
        snapshot_id: int,
        staged: Sequence[StagedFiles],
        properties: Mapping[str, str],
    ) -> None:
        """Replace files by what was staged, unless a writer touched them since the snapshot."""
        ...

    def rewrite(
        self,
        table: TableRef,
        step: RewriteDataFiles,
        properties: Mapping[str, str],
        reporter: Reporter,
    ) -> None:
        """Order rows: rewrite and commit all files of the step's partitions."""
        ...

    def execute(
        self, table: TableRef, step: object, properties: Mapping[str, str], reporter: Reporter
    ) -> None: ...

    def run_tasks(
        self,
        table: TableRef,
        tasks: Sequence[RewriteTask],
        wanted: SpliceRequirements,
        reporter: Reporter,
    ) -> list[TaskResult]:
        """Write new files for groups, each by the best engine of its ladder; commit nothing."""
        ...

    def replace_files(
        self,
        table: TableRef,
        snapshot_id: int,
        removed: Sequence[FileDetails],
        added: Sequence[FileDetails],
        properties: Mapping[str, str],
    ) -> None: ...

    def live_rows(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, int]: ...

    def live_positions(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, tuple[int, int]]:
        """Rows of each file that a reader sees: how many, and a checksum of their positions."""
        ...

    def delete_files(self, table: TableRef, paths: Sequence[str]) -> None:
        """Delete files through the table's own storage. What is left is found by looking."""
        ...

    def unreachable(self, table: TableRef, paths: Sequence[str]) -> list[str]:
        """Of the paths, those that the engine's own reading of the table does not reach."""
        ...

    def sweep(
        self,
        table: TableRef,
        listing: Listing,
        read_reachable: Callable[[], ReachableFiles],
        watched: Sequence[str],
        reporter: Reporter,
    ) -> Sweep:
        """List files, then read what is reachable, and compare."""
        ...

    def look_up(self, table: TableRef, paths: Sequence[str]) -> list[ListedFile]:
        """Of the paths, the files that are there now."""
        ...


class Procedures(Protocol):
    """An engine that runs operations whole, on its own: it neither shows a plan nor a proof."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What it can run, in the order in which it is run."""
        ...

    def find(self, patterns: Sequence[str]) -> list[TableRef]:
        """Tables of users that any of the patterns is for; its own choice without any."""
        ...

    def plan(self, table: TableRef) -> Mapping[Operation, str]:
        """What each operation would be asked to do; raises where the table cannot be read."""
        ...

    def run(self, table: TableRef, operation: Operation, job_id: str, clock: Clock) -> Outcome:
        """Run it to its end. A failure is an outcome, too; unknown, where nobody answered."""
        ...


class MaintenanceLog(Protocol):
    """Tells the readers of a lakehouse what was done, in a table beside their own."""

    def write(self, outcomes: Sequence[Outcome]) -> list[TableRef]:
        """Append a row about each outcome; returns the logs that were written to."""
        ...


class Quarantine(Protocol):
    """Remembers orphans between being marked and being deleted, on the store's own clock."""

    def add(self, table: TableRef, table_uuid: str, job_id: str, orphans: Sequence[Orphan]) -> int:
        """Put orphans on the list; returns how many were not on it."""
        ...

    def entries(
        self, table_uuid: str, states: Collection[QuarantineState]
    ) -> list[QuarantineEntry]:
        """Entries of a table in these states, oldest first."""
        ...

    def due(self, table_uuid: str, delay_seconds: float) -> list[QuarantineEntry]:
        """Open entries that have waited for so long."""
        ...

    def move(self, entry_ids: Collection[int], state: QuarantineState, reason: str) -> None:
        """Give open entries another state. Entries are never removed."""
        ...

    def record_sweep(
        self, table: TableRef, table_uuid: str, job_id: str, orphans: FileTotals
    ) -> None:
        """Remember that a sweep of the table was completed."""
        ...

    def was_swept(self, table_uuid: str) -> bool:
        """Whether a sweep of the table was completed before."""
        ...


class Consumers(Protocol):
    """Remembers who still reads old snapshots. Every time in it is the store's own."""

    def add(
        self,
        name: str,
        table: TableRef,
        *,
        snapshot_id: int | None = None,
        at: datetime | None = None,
        lease_seconds: float,
    ) -> None:
        """Register a consumer, or move it on and renew its lease."""
        ...

    def remove(self, name: str, table: TableRef) -> bool:
        """Forget a consumer; False where there was none."""
        ...

    def all(self, table: TableRef | None = None) -> list[Consumer]:
        """All of them, lapsed ones too, by table and name."""
        ...

    def live(self, table: TableRef) -> list[Consumer]:
        """Those of the table whose lease has not ended."""
        ...


class JobQueue(Protocol):
    """Jobs by the order in which they were asked for. Every time in it is the store's own."""

    def submit(self, job_id: str, request: JobRequest) -> Job:
        """Queue a job; a second one with the same id or idempotency key is the first one."""
        ...

    def cancel(self, job_id: str) -> Job | None:
        """A queued job ends at once, a running one at its next boundary; None: no such job."""
        ...

    def jobs(self, table: TableRef | None = None, limit: int = 100) -> list[Job]:
        """Jobs, newest first."""
        ...

    def job(self, job_id: str) -> Job | None: ...

    def unfinished(self, table: TableRef | None = None) -> list[Job]:
        """Jobs of the table, or of all, that began, have no end, and are not running now."""
        ...

    def settle(self, job: Job, state: JobState, reason: str) -> bool:
        """Give a job that nobody runs the state that its table shows; False where it moved on."""
        ...

    def requeue(self, job: Job, reason: str, delay_seconds: float = 0.0) -> bool:
        """Queue a job that nobody runs again, if its table shows nothing of it.

        False where it moved on. A job that was to be cancelled is; one without attempts left is
        dead.
        """
        ...

    def dead_jobs(self, limit: int = 100) -> list[Job]:
        """Jobs that failed as often as they may, the last one first; each says why."""
        ...


class SetAsideTables(Protocol):
    """Tables that keep failing, which workers leave alone. Asked for by name, jobs on them run."""

    def failures_in_a_row(self, table: TableRef) -> int:
        """Attempts on the table that failed since the last one that succeeded."""
        ...

    def set_aside(self, table: TableRef, reason: str) -> None:
        """Let workers leave the table alone; its jobs stay queued."""
        ...

    def put_back(self, table: TableRef) -> bool:
        """Let workers take its jobs again, and count again; False where it was not set aside."""
        ...

    def set_aside_tables(self) -> list[SetAsideTable]:
        """All of them, the oldest first."""
        ...


class Leases(Protocol):
    """The right to write to a table, one job at a time."""

    def begin(self, job_id: str, request: JobRequest, seconds: float) -> Lease:
        """Submit and begin a job as the only writer of its table, or raise TableBusy."""
        ...

    def claim_job(self, job_id: str, seconds: float) -> Lease:
        """Begin a queued job as the only writer of its table, or raise TableBusy."""
        ...

    def claim_next(self, seconds: float) -> Lease | None:
        """Begin the queued job whose turn it is; None where no table is free for one.

        The tenant that was served longest ago comes first, then the higher priority, then age.
        """
        ...

    def renew(self, lease: Lease, seconds: float) -> Lease:
        """Hold the table for longer, or raise LeaseLost; tells whether to cancel."""
        ...

    def set_state(self, lease: Lease, state: JobState, reason: str = "") -> None:
        """Move the job on, or raise LeaseLost."""
        ...

    def end(self, lease: Lease, state: JobState, reason: str) -> None:
        """End a job that has no outcome, or raise LeaseLost where another job came since."""
        ...

    def retry(self, lease: Lease, reason: str, delay_seconds: float = 0.0) -> Job:
        """Queue the job again after a failed attempt, and release the table, or raise LeaseLost.

        A job that was to be cancelled is; one without attempts left is dead.
        """
        ...

    def hand_back(self, lease: Lease, reason: str) -> Job:
        """Queue the job again as if it had not begun, and release the table, or raise LeaseLost."""
        ...

    def release(self, lease: Lease) -> None:
        """Release the table."""
        ...


class Outcomes(Protocol):
    """What jobs did."""

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        """End the job with its outcome, or raise LeaseLost where another job came since."""
        ...

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """Remember outcomes that came without a claim on their table."""
        ...

    def outcomes(self, limit: int = 200) -> list[Outcome]:
        """Outcomes of finished jobs, newest first."""
        ...


class UncommittedFiles(Protocol):
    """Files that were written and not committed. The sweeper will look at them."""

    def add_uncommitted_files(self, job_id: str, table: TableRef, paths: Sequence[str]) -> None:
        """Remember files."""
        ...

    def uncommitted_files(self, table: TableRef) -> list[str]:
        """Files that jobs on the table wrote and did not commit."""
        ...

    def writers_of_uncommitted_files(self, table: TableRef) -> dict[str, str]:
        """The same files, each with the job that wrote it."""
        ...


class Schedules(Protocol):
    """When the turn of a table came last."""

    def record_run(self, tables: Sequence[TableRef]) -> None:
        """Remember that the turn of the tables has come now."""
        ...

    def schedule_state(self, table: TableRef) -> ScheduleState | None:
        """When the table's turn came last; None where it never did."""
        ...


class JobStore(JobQueue, Leases, Outcomes, UncommittedFiles, Schedules, SetAsideTables, Protocol):
    """One store for all of it."""

    @property
    def quarantine(self) -> Quarantine:
        """The list of orphans that are waiting to be deleted."""
        ...

    @property
    def consumers(self) -> Consumers:
        """Who still reads old snapshots."""
        ...


class Inspector(Protocol):
    """Reads tables that may be damaged, as far as they can be read. Nothing is written."""

    def integrity(self, table: TableRef) -> TableIntegrity | MetadataProblem:
        """What the table's metadata claims, or why there is no metadata to speak of."""
        ...

    def stored(self, table: TableRef, paths: Collection[str]) -> Mapping[str, Stored]:
        """What storage says about each path."""
        ...

    def history(self, problem: MetadataProblem, folder: str | None) -> MetadataHistory:
        """The metadata files beside the current one; another folder may be named."""
        ...

    def settings(self, table: TableRef) -> Mapping[str, str]:
        """The settings of the table's catalog; they may hold secrets."""
        ...


class FileOpener(Protocol):
    """Opens data and delete files, many at a time."""

    def open_files(
        self,
        table: TableRef,
        claims: Sequence[FileClaim],
        columns: KnownColumns,
        reporter: Reporter,
    ) -> FooterReport:
        """Compare files with what manifests say."""
        ...
