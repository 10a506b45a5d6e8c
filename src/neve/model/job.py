"""A job: one run of one operation on one table, from being asked for to its end."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from neve.model.errors import InputError, NeveError
from neve.model.table import TableRef

MAX_PRIORITY = 1000
FIRST_RETRY_SECONDS = 10.0
LONGEST_RETRY_SECONDS = 3600.0


class JobState(StrEnum):
    """Where a job stands. The last three are final; `unknown` waits to be resolved by reading."""

    QUEUED = "queued"
    PLANNING = "planning"
    REWRITING = "rewriting"
    COMMITTING = "committing"
    VERIFYING = "verifying"
    UNKNOWN = "unknown"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


class Trigger(StrEnum):
    """What made a job: a person, a schedule, an event or another program."""

    CLI = "cli"
    PYTHON = "python"
    MAINTAIN = "maintain"
    API = "api"
    SCHEDULE = "schedule"
    EVENT = "event"


ROLLBACK = "rollback"
#: The argument that names the engine of a job, where that is not Spark.
ENGINE = "engine"
TRINO = "trino"
SPARK = "spark"
#: The argument that says what a request with a key asked for, where several jobs came of it.
WHOLE = "whole_request"
#: Policy keys among the arguments: what the caller said about the table's policy.
OVERRIDES = "overrides"
#: The argument with the caller's own id of the run, such as that of an Airflow DAG run.
RUN_ID = "run_id"
#: The argument that names the turn that a job belongs to: of `maintain`, a schedule or a request.
TURN = "turn_id"
_TURNS = uuid.UUID("6f0e3c1e-52c8-4d0c-9d0e-7a4b0f3f2a15")


def turn_id_of(name: str) -> str:
    """The id of a turn by its name, so that whoever comes upon the turn gives it the same one."""
    return str(uuid.uuid5(_TURNS, name))


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What is asked for. It is a value: whoever asks, the same request becomes the same job."""

    table: TableRef
    operation: str
    #: What the operation is told, as JSON can hold it.
    arguments: Mapping[str, object] = field(default_factory=dict)
    requested_by: str = ""
    trigger: Trigger = Trigger.CLI
    #: Among queued jobs of a tenant, the higher priority is claimed first, then the older job.
    priority: int = 0
    #: A second request with the same key is the same job.
    idempotency_key: str | None = None
    #: Whose job it is; workers serve tenants in turn.
    tenant: str = ""
    #: Workers leave the job alone until then, on the store's clock.
    not_before: datetime | None = None
    #: A job that fails this many times is dead.
    max_attempts: int = 3
    #: How long it should take, by the plan that was made when it was asked for.
    estimated_seconds: float | None = None
    #: Where room for it is held among its tenant's jobs; it is queued in it, or not at all.
    room: str = ""

    def __post_init__(self) -> None:
        if abs(self.priority) > MAX_PRIORITY:
            raise InputError(
                f"The priority {self.priority} is out of range.",
                next_step=f"Give a number from -{MAX_PRIORITY} to {MAX_PRIORITY}.",
            )
        try:
            "".join((str(self.table), self.operation, self.requested_by, self.tenant)).encode()
            (self.idempotency_key or "").encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"A job cannot be asked for with {error.object!r}: halves of characters cannot be "
                "stored."
            ) from error
        if self.max_attempts < 1:
            raise InputError("A job needs at least one attempt.")
        if self.not_before is not None and self.not_before.utcoffset() is None:
            raise InputError(
                "The time before which a job must not begin has no time zone.",
                next_step="Write it with one, for example 2026-01-02T03:04:05Z.",
            )

    @property
    def run_id(self) -> str:
        """The id by which the caller knows the run; empty where none was given."""
        return str(self.arguments.get(RUN_ID) or "")

    @property
    def is_for_trino(self) -> bool:
        """Whether Trino runs it, by a procedure of its own."""
        return self.arguments.get(ENGINE) == TRINO


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is, by its tasks' own accounting; 0 in all where nobody knows."""

    partitions_completed: int = 0
    partitions_total: int = 0
    files_processed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    #: Bytes that are to be read.
    bytes_total: int = 0
    #: Tasks of the engine in this phase.
    tasks_done: int = 0
    tasks_total: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to one table until `expires_at`, on the store's clock."""

    job_id: str
    table: TableRef
    #: Grows with every claim of the table, so that a late worker is recognised.
    epoch: int
    expires_at: datetime
    #: Somebody wants the job to end at its next boundary.
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One row of the job store."""

    job_id: str
    table: TableRef
    operation: str
    state: JobState
    epoch: int
    created_at: datetime
    updated_at: datetime
    reason: str = ""
    #: The outcome as JSON text, once there is one.
    outcome: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)
    requested_by: str = ""
    trigger: Trigger = Trigger.CLI
    priority: int = 0
    cancel_requested: bool = False
    tenant: str = ""
    not_before: datetime | None = None
    #: How often it was begun; an attempt that was handed back does not count.
    attempts: int = 0
    max_attempts: int = 3
    #: All attempts failed: it waits for somebody to look at it.
    is_dead: bool = False
    #: Of the job among all: it grows with every one that is asked for.
    position: int = 0
    #: When its last attempt began.
    started_at: datetime | None = None
    progress: Progress | None = None
    estimated_seconds: float | None = None

    @property
    def turn_id(self) -> str | None:
        """The turn that it belongs to, if it does."""
        named = self.arguments.get(TURN)
        return None if named is None or self.operation == ROLLBACK else str(named)

    @property
    def request(self) -> JobRequest:
        """What was asked for, as far as running it needs to know."""
        return JobRequest(
            self.table,
            self.operation,
            self.arguments,
            self.requested_by,
            self.trigger,
            self.priority,
            tenant=self.tenant,
            max_attempts=self.max_attempts,
        )


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are wanted; what is not said does not matter."""

    states: frozenset[JobState] = frozenset()
    operation: str | None = None
    tenant: str | None = None
    #: Whether it failed as often as it may.
    is_dead: bool | None = None

    def takes(self, job: Job) -> bool:
        return (
            self.is_dead in (None, job.is_dead)
            and (not self.states or job.state in self.states)
            and self.operation in (None, job.operation)
            and self.tenant in (None, job.tenant)
        )


ALL_JOBS = JobFilter()


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs, newest first, and where the next page begins; None after the last one."""

    jobs: tuple[Job, ...]
    before: int | None


def retry_delay_seconds(attempts: int) -> float:
    """How long a job waits after this many failed attempts: twice as long each time, to an hour."""
    doublings = min(max(attempts - 1, 0), 20)
    return min(FIRST_RETRY_SECONDS * 2.0**doublings, LONGEST_RETRY_SECONDS)


@dataclass(frozen=True, slots=True)
class SetAsideTable:
    """A table that workers leave alone until somebody puts it back, or a try on it succeeds."""

    table: TableRef
    since: datetime
    reason: str
    #: Attempts on it that failed since the last one that succeeded.
    failures_in_a_row: int = 0
    #: When one job on it is tried; None where a person set it aside.
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """When a table's turn came last, and whether its turns are left out."""

    table: TableRef
    #: None where it never did.
    last_run: datetime | None = None
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a table, and when its turn came last as whoever takes this one has seen it."""

    table: TableRef
    last_run: datetime | None
    slot: datetime


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job as it stands now."""

    job: Job
    is_running: bool
    #: Why it could not be settled, where it was left without an end.
    problem: NeveError | None = None
    #: Whether only an engine could settle it.
    needs_engine: bool = False
