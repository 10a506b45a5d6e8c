"""What a deployment has done and has to do, in figures that every process tells alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from neve.model.job import JobState
from neve.model.operation import Operation
from neve.model.outcome import Outcome
from neve.model.table import TableRef

#: Upper bounds of the histogram of durations, in seconds; what takes longer is in none of them.
DURATION_BOUNDS_SECONDS = (1, 5, 15, 60, 300, 600, 1800, 3600, 7200)

#: Names of counters in a store: the kind, then what it is about.
JOBS, DURATIONS, SECONDS, FILES, BYTES = "jobs", "durations", "seconds", "files", "bytes"


def counter_name(*parts: object) -> str:
    return ":".join(str(part) for part in parts)


def counted(outcome: Outcome) -> dict[str, float]:
    """What an outcome adds to the counters; its job is counted by its state."""
    if not outcome.status.job_state.is_final:
        return {}
    operation, seconds = outcome.operation, max(outcome.seconds, 0.0)
    within = [bound for bound in DURATION_BOUNDS_SECONDS if seconds <= bound]
    bound = within[0] if within else "more"
    added = {
        counter_name(DURATIONS, operation, bound): 1.0,
        counter_name(SECONDS, operation): seconds,
    }
    if operation == Operation.REWRITE_DATA_FILES:
        added[FILES] = float(outcome.stats.files_compacted)
        added[BYTES] = float(outcome.bytes_rewritten)
    return {name: amount for name, amount in added.items() if amount}


@dataclass(frozen=True, slots=True)
class StoreTotals:
    """What a store counts."""

    counters: Mapping[str, float]
    queued: int
    #: Jobs that began and have no end, whether they run or were left behind.
    begun: int
    dead: int


@dataclass(frozen=True, slots=True)
class Durations:
    """How long jobs of one operation took."""

    #: Jobs within each bound of `DURATION_BOUNDS_SECONDS`, those of lower ones included.
    within: tuple[int, ...]
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TableFigures:
    """A table as its newest job left it."""

    table: TableRef
    operation: str
    state: JobState
    finished_at: datetime
    data_files: int | None
    small_files: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Figures:
    """All of it."""

    #: Jobs that came to an end, by operation and state.
    ended: Mapping[tuple[str, JobState], int]
    durations: Mapping[str, Durations]
    files_compacted: int
    bytes_rewritten: int
    queued: int
    begun: int
    dead: int
    set_aside: int
    tables: tuple[TableFigures, ...] = field(default=())
    #: Workers that are there, and those whose engine has started.
    workers: int = 0
    workers_ready: int = 0
