"""Holding a table while a job works on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from neve.model.errors import JobCancelled, LeaseLost, NeveError, StoreError
from neve.model.job import JobState, Lease
from neve.service.store_ports import JobStore


class StopSignal:
    """Asks all jobs of this process to stop at their next boundary."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._running = 0

    def ask(self) -> None:
        self._asked.set()

    @property
    def is_asked(self) -> bool:
        return self._asked.is_set()

    @property
    def has_jobs(self) -> bool:
        """Whether there is a job that would have to stop first."""
        return self._running > 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a job for the length of the block."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1


#: How often the heartbeat looks whether all jobs of this process are to stop.
LOOK_SECONDS = 0.5


class HeldLease:
    """A lease that a thread keeps renewing, until it is lost or given back."""

    def __init__(
        self,
        store: JobStore,
        lease: Lease,
        seconds: float,
        signal: StopSignal | None = None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self.lease = lease
        self.state = JobState.PLANNING
        self._store = store
        self._seconds = seconds
        self._signal = signal or StopSignal()
        #: Ends what the job waits for, once it is to stop; its work is told at the next boundary.
        self._on_stop = on_stop
        self._stop = threading.Event()
        self._lost: LeaseLost | None = None
        self._thread = threading.Thread(target=self._keep, name="neve-lease", daemon=True)

    @property
    def has_begun(self) -> bool:
        """Whether the job may have changed its table."""
        return self.state is not JobState.PLANNING

    def require(self) -> None:
        """Raise where the lease is gone. Called before anything that cannot be taken back."""
        if self._lost is None:
            try:
                self.lease = self._store.renew(self.lease, self._seconds)
            except LeaseLost as error:
                self._lost = error
        if self._lost is not None:
            raise self._lost

    @property
    def is_handed_back(self) -> bool:
        """Whether the job is to stop for this process's sake, and not for its own."""
        return self._signal.is_asked and not self.lease.cancel_requested

    def check(self) -> None:
        """Raise where the lease is gone, or where the job is to stop: a boundary of its work."""
        self.require()
        if self.lease.cancel_requested or self._signal.is_asked:
            raise JobCancelled(f"Job {self.lease.job_id} was cancelled.")

    def enter(self, state: JobState) -> None:
        """Record where the job stands; needs the lease."""
        self.require()
        self._store.set_state(self.lease, state)
        self.state = state

    def start(self) -> None:
        self._thread.start()

    def end(self, state: JobState, reason: str) -> None:
        """End a job without an outcome, unless the table is another job's by now."""
        try:
            self._store.end(self.lease, state, reason)
        except (LeaseLost, StoreError):
            # Whoever works on the table next settles it by reading the table.
            return

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _keep(self) -> None:
        waited, is_stopping = 0.0, False
        pause = min(LOOK_SECONDS, self._seconds / 3)
        while not self._stop.wait(pause):
            waited += pause
            if waited >= self._seconds / 3:
                waited = 0.0
                try:
                    beat = self._store.renew(self.lease, self._seconds)
                    is_stopping = is_stopping or beat.cancel_requested
                except LeaseLost as error:
                    self._lost = error
                    return
                except StoreError:
                    # The store may come back before the lease is over; `check` decides.
                    continue
            if (is_stopping or self._signal.is_asked) and self._on_stop is not None:
                on_stop, self._on_stop = self._on_stop, None
                on_stop()


@contextmanager
def hold(
    store: JobStore,
    lease: Lease,
    seconds: float,
    signal: StopSignal | None = None,
    on_stop: Callable[[], None] | None = None,
) -> Iterator[HeldLease]:
    """Keep a lease for the length of the block."""
    held = HeldLease(store, lease, seconds, signal, on_stop)
    held.start()
    try:
        with (signal or StopSignal()).running():
            yield held
    except BaseException as error:
        _leave_open(store, held, error)
        raise
    finally:
        held.stop()
        # A claim that cannot be given back ends by itself, and must not hide what happened.
        with suppress(StoreError):
            store.release(held.lease)


def _leave_open(store: JobStore, held: HeldLease, error: BaseException) -> None:
    """A job that nobody works on any more must not seem to be at work: the table will tell."""
    with suppress(StoreError):
        job = store.job(held.lease.job_id)
        if job is None or job.state.is_final or job.state is JobState.UNKNOWN:
            return
        said = error.message if isinstance(error, NeveError) else f"{type(error).__name__}: {error}"
        if isinstance(error, KeyboardInterrupt):
            said = "It was interrupted."
        held.end(JobState.UNKNOWN, said)
