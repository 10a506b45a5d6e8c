"""A job and what it says, as commands show them: the same for the local state and a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from neve.documents import from_document
from neve.model.job import JobState
from neve.model.outcome import Outcome


class ToldJob(Protocol):
    """What the state and a server's client tell of a job, each with types of its own."""

    @property
    def job_id(self) -> str: ...

    @property
    def table(self) -> object: ...

    @property
    def operation(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def created_at(self) -> datetime: ...

    @property
    def updated_at(self) -> datetime: ...

    @property
    def started_at(self) -> datetime | None: ...

    @property
    def reason(self) -> str: ...

    @property
    def requested_by(self) -> str: ...

    @property
    def attempts(self) -> int: ...

    @property
    def max_attempts(self) -> int: ...

    @property
    def cancel_requested(self) -> bool: ...

    @property
    def progress(self) -> Any: ...

    @property
    def outcome(self) -> Any: ...


PROGRESS = (
    "partitions_completed",
    "partitions_total",
    "files_processed",
    "bytes_read",
    "bytes_written",
)


@dataclass(frozen=True, slots=True)
class ProgressView:
    """How far a job is."""

    partitions_completed: int = 0
    partitions_total: int = 0
    files_processed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it stands."""

    job_id: str
    table: str
    operation: str
    state: JobState
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    reason: str
    requested_by: str
    attempts: int
    max_attempts: int
    cancel_requested: bool
    progress: ProgressView
    outcome: Outcome | None

    @property
    def is_over(self) -> bool:
        return self.state.is_final


@dataclass(frozen=True, slots=True)
class EventView:
    """What a job said; `number` is where to go on from."""

    number: int
    state: JobState
    message: str = ""
    progress: ProgressView | None = None


def job_view(told: ToldJob) -> JobView:
    return JobView(
        job_id=told.job_id,
        table=str(told.table),
        operation=told.operation,
        state=JobState(told.state),
        created_at=told.created_at,
        started_at=told.started_at,
        updated_at=told.updated_at,
        reason=told.reason,
        requested_by=told.requested_by,
        attempts=told.attempts,
        max_attempts=told.max_attempts,
        cancel_requested=told.cancel_requested,
        progress=progress_view(told.progress) or ProgressView(),
        outcome=_outcome(told.outcome),
    )


def progress_view(told: Any) -> ProgressView | None:
    if told is None:
        return None
    return ProgressView(**{name: getattr(told, name) for name in PROGRESS})


def _outcome(told: str | Mapping[str, Any] | None) -> Outcome | None:
    if not told:
        return None
    try:
        return from_document(Outcome, json.loads(told) if isinstance(told, str) else told)
    except ValueError:
        # A Neve of another version wrote it.
        return None
