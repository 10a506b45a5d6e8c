"""Workers as they announce themselves to everybody who shares their state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EngineState(StrEnum):
    """Whether a worker's engine could run a job now."""

    #: Nobody has asked for it yet.
    ABSENT = "absent"
    STARTING = "starting"
    READY = "ready"
    #: It could not be started, or has died; the next job tries again.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineReport:
    """What a process says of its engine."""

    engine: str
    state: EngineState
    #: One sentence, where there is something to say.
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AnnouncedWorker:
    """One worker, and what it says of its engine."""

    worker_id: str
    machine: str
    pid: int
    engine: EngineReport
    concurrency: int = 1
    #: Jobs that it is at.
    running: int = 0
