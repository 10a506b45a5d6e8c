"""A job and what it says, as whoever asks for it is told: by the state here, or by a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from neve.model.job import JobState, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldJob:
    """A job as it stands; a server of another version may leave out what has a default."""

    job_id: str
    #: Its name, as the place of the job writes it.
    table: str
    operation: str
    state: str
    reason: str = ""
    requested_by: str = ""
    created_at: datetime
    started_at: datetime | None = None
    updated_at: datetime
    attempts: int = 0
    max_attempts: int = 0
    cancel_requested: bool = False
    #: What it belongs to, and is undone with.
    turn_id: str | None = None
    progress: Progress = field(default_factory=Progress)

    @property
    def is_over(self) -> bool:
        return self.state in FINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldEvent:
    """What a job said; `number` is where to go on from."""

    number: int
    state: str
    message: str = ""
    progress: Progress | None = None


FINAL = frozenset(str(state) for state in JobState if state.is_final)
