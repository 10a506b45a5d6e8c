"""What a job says while it runs: one kind of event, for bars, logs and streams."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from neve.model.job import JobState, Progress
from neve.model.table import TableRef


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Where a job stands at one moment."""

    job_id: str
    table: TableRef
    operation: str
    phase: JobState
    message: str = ""
    #: Tasks of the engine in this phase, so far and in all; 0 in all where nobody knows.
    tasks_done: int = 0
    tasks_total: int = 0
    #: Files and bytes that the plan is about.
    files: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    snapshot_id: int | None = None
    #: Since the job began.
    seconds: float = 0.0
    #: What was done so far, where that is counted.
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event as the store keeps it, for whoever follows the job, from whatever process."""

    #: Grows with every event of every job: whoever knows one can ask for those after it.
    number: int
    job_id: str
    #: On the store's clock.
    at: datetime
    phase: JobState
    message: str = ""
    progress: Progress | None = None
