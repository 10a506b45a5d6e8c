"""What a job says on its way: to whoever watches, and as events with its name on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from neve.model.events import JobEvent
from neve.model.job import Lease
from neve.service.lease import HeldLease
from neve.service.ports import Clock, Reporter


@dataclass
class JobReporter:
    """The reporter of one job."""

    say: Reporter
    events: Callable[[JobEvent], None]
    lease: Lease
    operation: str
    held: HeldLease
    clock: Clock
    message: str = ""
    started_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.started_at = self.clock()

    def __call__(self, message: str) -> None:
        self.message = message
        self.say(message)
        self._emit(0, 0)

    def progress(self, done: int, total: int) -> None:
        self.say.progress(done, total)
        self._emit(done, total)

    def _emit(self, done: int, total: int) -> None:
        self.events(
            JobEvent(
                self.lease.job_id,
                self.lease.table,
                self.operation,
                self.held.state,
                self.message,
                tasks_done=done,
                tasks_total=total,
                seconds=(self.clock() - self.started_at).total_seconds(),
            )
        )
