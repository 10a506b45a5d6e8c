"""What the service needs from a store of jobs. Files, Redis and memory implement these."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Protocol

from neve.access.approvals import Approval, ApprovalState
from neve.access.chain import AuditHead, AuditRow
from neve.access.keys import ApiKey
from neve.access.quotas import Usage
from neve.model.database import WriteKey
from neve.model.events import RecordedEvent
from neve.model.expiry import Consumer
from neve.model.figures import StoreTotals
from neve.model.job import (
    ALL_JOBS,
    Job,
    JobFilter,
    JobRequest,
    JobState,
    Lease,
    Progress,
    ScheduleState,
    SetAsideTable,
    Turn,
)
from neve.model.kept_plan import KeptPlan
from neve.model.orphans import (
    FileTotals,
    Orphan,
    QuarantineEntry,
    QuarantineState,
)
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.service.shared_ports import Rooms, StoredPolicies, Workers


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


class KeptPlans(Protocol):
    """The newest plans. A plan never changes, only who agreed to it."""

    def keep(self, plan_id: str, table: TableRef, document: str, requested_by: str) -> KeptPlan:
        """Keep a plan; a second one of the same id is the first one. The oldest are forgotten."""
        ...

    def plan(self, plan_id: str) -> KeptPlan | None: ...

    def newest(self, limit: int = 100) -> list[KeptPlan]:
        """Plans, newest first, without their documents."""
        ...

    def approve(self, plan_id: str, by: str) -> KeptPlan | None:
        """Remember who agreed, where nobody did before; None where there is no such plan."""
        ...


class JobQueue(Protocol):
    """Jobs by the order in which they were asked for. Every time in it is the store's own."""

    def submit(self, job_id: str, request: JobRequest) -> Job:
        """Queue a job; a second one with the same id or idempotency key is the first one."""
        ...

    def submit_all(self, requests: Mapping[str, JobRequest]) -> list[Job]:
        """The same for many, by their ids; each on its own where the store cannot do better."""
        ...

    def cancel(self, job_id: str) -> Job | None:
        """A queued job ends at once, a running one at its next boundary; None: no such job."""
        ...

    def jobs(
        self,
        table: TableRef | None = None,
        limit: int = 100,
        *,
        chosen: JobFilter = ALL_JOBS,
        before: int | None = None,
    ) -> list[Job]:
        """Jobs, newest first; with `before`, those that were asked for before that position."""
        ...

    def active_tables(self, tables: Collection[TableRef]) -> set[TableRef]:
        """Of the tables, those with a job that waits or has no end."""
        ...

    def job(self, job_id: str) -> Job | None: ...

    def job_of_key(self, idempotency_key: str) -> Job | None:
        """The job that was asked for with this key."""
        ...

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

    def dismiss(self, job_id: str) -> bool:
        """Take a dead job off that list; it stays failed. False where it was not on it."""
        ...


class SetAsideTables(Protocol):
    """Tables that keep failing, which workers leave alone. Asked for by name, jobs on them run."""

    def failures_in_a_row(self, table: TableRef) -> int:
        """Attempts on the table that failed since the last one that succeeded."""
        ...

    def set_aside(self, table: TableRef, reason: str, retry_seconds: float | None = None) -> None:
        """Let workers leave the table alone; its jobs stay queued.

        With `retry_seconds`, one of them is claimed each time that this long has passed, and the
        first success puts the table back.
        """
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

    def end(
        self, lease: Lease, state: JobState, reason: str, *, is_tables_fault: bool = True
    ) -> None:
        """End a job that has no outcome, or raise LeaseLost where another job came since.

        A failure counts among those in a row of the table, unless it is not the table's fault.
        """
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


class Events(Protocol):
    """What jobs said on their way; every change of a state is one, whoever makes it.

    Only so many are kept, of all jobs together; the oldest are forgotten.
    """

    def append_event(
        self, job_id: str, phase: JobState, message: str = "", progress: Progress | None = None
    ) -> int:
        """Remember what a job says; returns its number. Progress is told with the job, too."""
        ...

    def events_after(self, job_id: str, number: int = 0, limit: int = 100) -> list[RecordedEvent]:
        """Events of the job with higher numbers, in order."""
        ...


class Schedules(Protocol):
    """When the turn of a table came last."""

    def now(self) -> datetime:
        """What time it is by the store's own clock, which all who share it have in common."""
        ...

    def record_run(self, tables: Sequence[TableRef]) -> None:
        """Remember that the turn of the tables has come now."""
        ...

    def schedule_state(self, table: TableRef) -> ScheduleState | None:
        """When the table's turn came last; None where nothing is known of it."""
        ...

    def schedule_states(self) -> list[ScheduleState]:
        """The same of all tables of which something is known."""
        ...

    def record_turns(self, turns: Sequence[Turn]) -> set[TableRef]:
        """Remember turns as had, each if none came since it was seen; returns whose were."""
        ...

    def pause(self, table: TableRef) -> None:
        """Leave the table's turns out."""
        ...

    def resume(self, table: TableRef) -> bool:
        """Let its turns come again; False where they were not left out."""
        ...


class Marks(Protocol):
    """Short texts by name, changed only by who knows what stands there."""

    def get(self, name: str) -> str:
        """What stands there; nothing where nobody wrote."""
        ...

    def set(self, name: str, value: str, *, expected: str) -> bool:
        """Write it, if what is expected stands there; False where it does not."""
        ...


class ApiKeys(Protocol):
    """Who may ask, by keys. A key is never removed, so that the log can be understood."""

    def add(self, key: ApiKey) -> bool:
        """Keep a key; False where its prefix is taken."""
        ...

    def key(self, prefix: str) -> ApiKey | None: ...

    def all(self) -> list[ApiKey]:
        """All of them, by when they were made."""
        ...

    def revoke(self, prefix: str, at: datetime) -> bool:
        """Let a key be refused from now on; False where there is none, or it is already."""
        ...


class Audit(Protocol):
    """A chain that only grows, by one row after the head that its writer has seen."""

    def head(self) -> AuditHead: ...

    def append(self, row: AuditRow) -> bool:
        """Add the row, if the head is what it follows; False where another was faster."""
        ...

    def rows(self, after: int = 0, limit: int = 100) -> list[AuditRow]:
        """Rows with higher numbers, in order, as they are kept: nothing is checked."""
        ...

    def newest(self, before: int | None = None, limit: int = 100) -> list[AuditRow]:
        """Rows with lower numbers, the newest first."""
        ...


class Approvals(Protocol):
    """What waits for a second person to agree."""

    def ask(self, approval: Approval) -> Approval:
        """Remember what is asked for; the one of before, while it is open and young enough.

        TooMuch where a tenant asked for MAX_OF_A_TENANT that are young enough and were not used.
        """
        ...

    def approval(self, approval_id: str) -> Approval | None: ...

    def newest(self, limit: int = 100) -> list[Approval]: ...

    def move(
        self, approval_id: str, old: ApprovalState, new: ApprovalState, by: str | None = None
    ) -> bool:
        """Give it another state, if it has the old one; False where it has not."""
        ...


class Writes(Protocol):
    """Writes to tables, by the tables' UUIDs: how many there were, and the keys of those with one.

    The newest 100,000 keys of each table are kept.
    """

    def known(self, table_uuid: str, keys: Sequence[str]) -> dict[str, str]:
        """Of the keys, those that were recorded, each with the content it came with."""
        ...

    def record(self, table_uuid: str, keys: Sequence[WriteKey], others: int = 0) -> int:
        """Count these writes, each key once for good, and others without one.

        Returns how many writes to the table there are by now.
        """
        ...


class JobStore(
    JobQueue, Leases, Outcomes, UncommittedFiles, Schedules, SetAsideTables, Events, Protocol
):
    """One store for all of it."""

    @property
    def quarantine(self) -> Quarantine:
        """The list of orphans that are waiting to be deleted."""
        ...

    @property
    def marks(self) -> Marks:
        """What several processes agree on by it."""
        ...

    @property
    def writes(self) -> Writes:
        """Writes that were made through the database operations."""
        ...

    @property
    def plans(self) -> KeptPlans:
        """Plans that wait for somebody to apply them."""
        ...

    @property
    def policies(self) -> StoredPolicies:
        """Policies that were set while Neve runs."""
        ...

    @property
    def workers(self) -> Workers:
        """Who would run jobs now."""
        ...

    @property
    def totals(self) -> StoreTotals:
        """What was counted since the state was made, and how many jobs wait."""
        ...

    def usage(self, tenant: str, day: date) -> Usage:
        """Jobs of the tenant without an end, and what those took that ended on a day of UTC."""
        ...

    @property
    def rooms(self) -> Rooms:
        """Room for jobs that are about to be queued."""
        ...

    @property
    def api_keys(self) -> ApiKeys:
        """Keys by which callers are known."""
        ...

    @property
    def audit(self) -> Audit:
        """Who did what, for good."""
        ...

    @property
    def approvals(self) -> Approvals:
        """What waits for a second person."""
        ...

    @property
    def consumers(self) -> Consumers:
        """Who still reads old snapshots."""
        ...
