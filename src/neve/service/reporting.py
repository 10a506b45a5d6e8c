"""What a job says on its way: to whoever watches, and as events with its name on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from neve.model.events import JobEvent
from neve.model.job import JobState, Lease
from neve.service.lease import HeldLease
from neve.service.ports import Clock, Reporter


@dataclass
class JobReporter:
    """The reporter of one job."""

    reporter: Reporter
    events: Callable[[JobEvent], None]
    lease: Lease
    operation: str
    held: HeldLease
    clock: Clock
    started_at: datetime
    message: str = ""

    def __call__(self, message: str) -> None:
        self.message = message
        self.reporter(message)
        self.tell(self.held.state)

    def progress(self, done: int, total: int) -> None:
        self.reporter.progress(done, total)
        self.tell(self.held.state, done=done, total=total)

    def tell(
        self, phase: JobState, message: str | None = None, *, done: int = 0, total: int = 0
    ) -> None:
        """Send the event that the job is in this phase now."""
        self.events(
            JobEvent(
                self.lease.job_id,
                self.lease.table,
                self.operation,
                phase,
                self.message if message is None else message,
                tasks_done=done,
                tasks_total=total,
                seconds=(self.clock() - self.started_at).total_seconds(),
            )
        )
