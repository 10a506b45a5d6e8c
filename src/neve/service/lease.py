"""Holding a table while a job works on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from neve.model.errors import JobCancelled, LeaseLost, NeveError, StoreError
from neve.model.job import JobState, Lease
from neve.service.store_ports import JobStore

INTERRUPTED = "It was interrupted."
#: How often the heartbeat looks whether its job is to stop.
LOOK_SECONDS = 0.5
#: How long a table stays claimed whose job was given up while it may have been committing.
LAST_SECONDS = 5.0


class StopSignal:
    """Asks all jobs of this process to stop at their next boundary, or to be given up at once."""

    def __init__(self) -> None:
        self._is_asked = False
        self._lock = threading.Lock()
        self._running = 0
        self._held: list[HeldLease] = []

    def ask(self, *, wakes: bool = True) -> None:
        """Without `wakes` no lock is taken, so that a signal's handler may call it anywhere."""
        self._is_asked = True
        for held in list(self._held) if wakes else ():
            held.wake()

    @property
    def is_asked(self) -> bool:
        return self._is_asked

    @property
    def has_jobs(self) -> bool:
        """Whether there is a job that would have to stop first."""
        return self._running > 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a job for the length of the block, from before it claims its table."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    @contextmanager
    def holding(self, held: HeldLease) -> Iterator[None]:
        self._held.append(held)
        try:
            yield
        finally:
            self._held.remove(held)

    def leave(self) -> list[str]:
        """Give up all jobs, because this process ends now; returns their ids."""
        left = list(self._held)
        for held in left:
            held.leave()
        return [held.lease.job_id for held in left]


class HeldLease:
    """A lease that a thread keeps renewing, until it is lost or given back."""

    def __init__(
        self,
        store: JobStore,
        lease: Lease,
        seconds: float,
        signal: StopSignal | None = None,
        on_stop: Callable[[], None] | None = None,
        *,
        is_deleting: bool = False,
    ) -> None:
        self.lease = lease
        #: Whether what was looked up counts only as long as the lease went on without a gap.
        self._is_deleting = is_deleting
        self._until = lease.expires_at
        self.state = JobState.PLANNING
        self._store = store
        self._seconds = seconds
        self._signal = signal or StopSignal()
        #: Ends what the job waits for, once it is to stop; its work is told at the next boundary.
        self._on_stop = on_stop
        self._is_over = False
        self._wake = threading.Event()
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
                self.lease = self._renew()
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

    def end(self, state: JobState, reason: str, *, is_tables_fault: bool = True) -> None:
        """End a job without an outcome, unless the table is another job's by now."""
        try:
            self._store.end(self.lease, state, reason, is_tables_fault=is_tables_fault)
        except (LeaseLost, StoreError):
            # Whoever works on the table next settles it by reading the table.
            return

    def leave(self) -> None:
        """Give the job up in the middle of its work: its process ends now.

        What it has asked for may still land, so that the claim goes on for a moment, and whoever
        comes after it settles the job by reading the table.
        """
        self._is_over = True
        with suppress(LeaseLost, StoreError):
            if self.has_begun:
                self._store.renew(self.lease, min(LAST_SECONDS, self._seconds))
                self.end(JobState.UNKNOWN, INTERRUPTED)
            else:
                self.end(JobState.CANCELLED, f"{INTERRUPTED} Nothing was changed.")
                self._store.release(self.lease)

    def wake(self) -> None:
        """Let the heartbeat look at once."""
        self._wake.set()

    def stop(self) -> None:
        self._is_over = True
        self.wake()
        self._thread.join()

    def _renew(self) -> Lease:
        """Renew the lease, also late: the store refuses once the table was another's.

        A commit asserts the state that it was made on, however long ago it was looked up. No such
        thing stands behind the deletion of a file, so that a job which deletes ends at a gap.
        """
        renewed = self._store.renew(self.lease, self._seconds)
        if self._is_deleting and self._until < renewed.expires_at - timedelta(
            seconds=self._seconds
        ):
            raise LeaseLost(
                f"Job {self.lease.job_id} stood still for longer than its claim on table "
                f"{self.lease.table} lasts, and what it found may be out of date: nothing more is "
                "deleted.",
                next_step="Run the command again.",
            )
        self._until = renewed.expires_at
        return renewed

    def _keep(self) -> None:
        renewed, is_stopping = time.monotonic(), False
        pause = min(LOOK_SECONDS, self._seconds / 3)
        while not self._pause(pause):
            if time.monotonic() - renewed >= self._seconds / 3 - pause / 2:
                renewed = time.monotonic()
                try:
                    beat = self._renew()
                    is_stopping = is_stopping or beat.cancel_requested
                except LeaseLost as error:
                    self._lost = error
                    return
                except StoreError:
                    # The store may come back before the lease is over; `check` decides.
                    continue
            if (is_stopping or self._signal.is_asked) and self._on_stop is not None:
                # An engine that is just starting keeps it waiting, and the lease must not wait.
                threading.Thread(target=self._on_stop, name="neve-stop", daemon=True).start()
                self._on_stop = None

    def _pause(self, seconds: float) -> bool:
        """Wait, or until somebody wakes it; whether it is over then."""
        self._wake.wait(seconds)
        self._wake.clear()
        return self._is_over


@contextmanager
def hold(
    store: JobStore,
    lease: Lease,
    seconds: float,
    signal: StopSignal | None = None,
    on_stop: Callable[[], None] | None = None,
    *,
    is_deleting: bool = False,
) -> Iterator[HeldLease]:
    """Keep a lease for the length of the block."""
    signal = signal or StopSignal()
    held = HeldLease(store, lease, seconds, signal, on_stop, is_deleting=is_deleting)
    held.start()
    try:
        with signal.running(), signal.holding(held):
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
            said = INTERRUPTED
        held.end(JobState.UNKNOWN, said)
