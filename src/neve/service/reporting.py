"""What a job says on its way: to whoever watches, and as events with its name on them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from neve.model.errors import StoreError
from neve.model.events import JobEvent
from neve.model.job import JobState, Lease, Progress
from neve.service.lease import HeldLease
from neve.service.ports import Clock, Reporter
from neve.service.store_ports import Events

#: Between two events of progress lies a second, and a hundredth of the time so far.
MIN_PAUSE_SECONDS = 1.0
PAUSE_RATIO = 0.01


@dataclass
class JobReporter:
    """The reporter of one job."""

    reporter: Reporter
    events: Callable[[JobEvent], None]
    store: Events
    lease: Lease
    operation: str
    held: HeldLease
    clock: Clock
    started_at: datetime
    message: str = ""
    #: What was done so far, without what tasks are at just now.
    done: Progress = field(default_factory=Progress)
    _recorded_at: float = field(default=-MIN_PAUSE_SECONDS, init=False)

    def __call__(self, message: str) -> None:
        self.message = message
        self.reporter(message)
        self.tell(self.held.state)
        self._record(message, None)

    def progress(self, done: int, total: int) -> None:
        self.reporter.progress(done, total)
        told = replace(self.done, tasks_done=done, tasks_total=total)
        self.tell(self.held.state, progress=told)
        self._record_if_time("", told)

    def bytes_progress(self, done: int, total: int) -> None:
        """Bytes that tasks have written of what they are at."""
        told = replace(self.done, bytes_written=self.done.bytes_written + done)
        self.tell(self.held.state, progress=told)
        self._record_if_time("", told)

    def account(self, done: Progress) -> None:
        """What was done so far, as the work counts it."""
        self.done = done
        self.tell(self.held.state, progress=done)
        self._record("", done)

    def tell(
        self, phase: JobState, message: str | None = None, *, progress: Progress | None = None
    ) -> None:
        """Send the event that the job is in this phase now; the store sees phases by itself."""
        counted = progress or Progress()
        self.events(
            JobEvent(
                self.lease.job_id,
                self.lease.table,
                self.operation,
                phase,
                self.message if message is None else message,
                tasks_done=counted.tasks_done,
                tasks_total=counted.tasks_total,
                files=counted.files_processed,
                bytes_done=counted.bytes_read,
                bytes_total=counted.bytes_total,
                seconds=self._seconds(),
                progress=progress,
            )
        )

    def _record_if_time(self, message: str, progress: Progress) -> None:
        pause = max(MIN_PAUSE_SECONDS, PAUSE_RATIO * self._seconds())
        if self._seconds() - self._recorded_at >= pause:
            self._record(message, progress)

    def _record(self, message: str, progress: Progress | None) -> None:
        self._recorded_at = self._seconds()
        # Whoever follows misses a line; the job itself is not in the way of it.
        with suppress(StoreError):
            self.store.append_event(self.lease.job_id, self.held.state, message, progress)

    def _seconds(self) -> float:
        return (self.clock() - self.started_at).total_seconds()
