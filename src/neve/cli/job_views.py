"""A job and what it says, as commands show them: the same for the local state and a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from neve.documents import from_document
from neve.model.job import JobState, Progress
from neve.model.outcome import Outcome


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it stands."""

    job_id: str
    #: Its name, as the place of the job writes it.
    table: str
    operation: str
    state: JobState
    reason: str
    requested_by: str
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    attempts: int
    max_attempts: int
    cancel_requested: bool
    progress: Progress
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
    progress: Progress | None = None


def job_view(told: Any) -> JobView:
    """What the state or a client tells of a job: the same names, with types of their own."""
    values = {item.name: getattr(told, item.name) for item in fields(JobView)}
    made = {
        "table": str(told.table),
        "state": JobState(told.state),
        "progress": progress_view(told.progress) or Progress(),
        "outcome": _outcome(told.outcome),
    }
    return JobView(**{**values, **made})


def progress_view(told: Any) -> Progress | None:
    if told is None:
        return None
    names = [item.name for item in fields(Progress) if hasattr(told, item.name)]
    return Progress(**{name: getattr(told, name) for name in names})


def _outcome(told: str | Mapping[str, Any] | None) -> Outcome | None:
    if not told:
        return None
    try:
        return from_document(Outcome, json.loads(told) if isinstance(told, str) else told)
    except ValueError:
        # A Neve of another version wrote it.
        return None
