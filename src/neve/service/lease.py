"""Holding a table while a job works on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from neve.model.errors import JobCancelled, LeaseLost, NeveError, StoreError
from neve.model.job import JobState, Lease
from neve.model.table import TableRef
from neve.service.ports import JobStore


class HeldLease:
    """A lease that a thread keeps renewing, until it is lost or given back."""

    def __init__(self, store: JobStore, lease: Lease, seconds: float) -> None:
        self.lease = lease
        self._store = store
        self._seconds = seconds
        self._stop = threading.Event()
        self._lost: LeaseLost | None = None
        self._thread = threading.Thread(target=self._keep, name="neve-lease", daemon=True)

    def check(self) -> None:
        """Raise where the lease is gone or the job is cancelled.

        Called before anything that cannot be taken back.
        """
        if self._lost is None:
            try:
                self.lease = self._store.renew(self.lease, self._seconds)
            except LeaseLost as error:
                self._lost = error
        if self._lost is not None:
            raise self._lost
        if self.lease.cancel_requested:
            raise JobCancelled(f"Job {self.lease.job_id} was cancelled.")

    def enter(self, state: JobState) -> None:
        """Record where the job stands; needs the lease."""
        self.check()
        self._store.set_state(self.lease, state)

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
        while not self._stop.wait(self._seconds / 3):
            try:
                self._store.renew(self.lease, self._seconds)
            except LeaseLost as error:
                self._lost = error
                return
            except StoreError:
                # The store may come back before the lease is over; `check` decides.
                continue


@contextmanager
def hold_table(
    store: JobStore, job_id: str, table: TableRef, operation: str, seconds: float
) -> Iterator[HeldLease]:
    """Be the only writer of a table for the length of the block."""
    held = HeldLease(store, store.claim(job_id, table, operation, seconds), seconds)
    held.start()
    try:
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
