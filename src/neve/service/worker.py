"""A worker: claims the job whose turn it is, runs it, and claims the next one.

It also settles what killed workers left behind, and leaves tables alone that keep failing. When it
is drained it claims nothing more, gives running jobs time to end, and hands the others back.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from neve.model.errors import ExecutionError, NeveError, StoreError
from neve.model.job import SPARK, Job, JobRequest, JobState, Lease
from neve.model.table import TableRef
from neve.model.workers import AnnouncedWorker, EngineReport, EngineState
from neve.service.recover import settle_left_behind, settle_untraceable
from neve.service.run_job import run_job
from neve.service.services import Services


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How a worker goes about it."""

    #: Jobs that run at the same time, each on another table, all on one engine.
    concurrency: int = 1
    #: How long it waits where nothing can be claimed.
    poll_seconds: float = 0.5
    #: How often it looks for what others left behind.
    settle_seconds: float = 2.0
    #: A table whose catalog cannot tell about it is asked again after this long.
    settle_again_seconds: float = 30.0
    #: Attempts on a table that may fail in a row before workers leave it alone.
    failures_before_set_aside: int = 5
    #: After this long, one job on such a table is tried.
    try_again_seconds: float = 3600.0
    #: How often it says that it is there, and for how long that counts.
    announce_seconds: float = 2.0
    announced_seconds: float = 10.0


class Worker:
    """One process's share of the work."""

    def __init__(
        self,
        services: Services,
        settings: WorkerSettings | None = None,
        *,
        services_for: Callable[[JobRequest], Services] | None = None,
        say: Callable[[str], None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        engine: Callable[[], EngineReport] | None = None,
    ) -> None:
        self._services = services
        self._engine = engine or (lambda: EngineReport(SPARK, EngineState.READY))
        self._id = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        #: Whoever watches the process is told what goes wrong.
        self._say = say or services.reporter
        self._settings = settings or WorkerSettings()
        self._services_for = services_for or (lambda request: services)
        self._monotonic = monotonic
        self._draining = threading.Event()
        self._changed = threading.Condition()
        self._running: dict[str, TableRef] = {}
        self._not_before: dict[TableRef, float] = {}

    @property
    def running(self) -> list[str]:
        """Jobs that it is at."""
        with self._changed:
            return list(self._running)

    @property
    def is_draining(self) -> bool:
        return self._draining.is_set()

    def run(self) -> None:
        """Work until it is drained; settling has a thread of its own, as catalogs may be slow."""
        beside = [
            threading.Thread(target=self._keep_settling, name="neve-settle", daemon=True),
            threading.Thread(target=self._keep_announcing, name="neve-announce", daemon=True),
        ]
        for thread in beside:
            thread.start()
        while not self.is_draining:
            if not self.take():
                self._wait_for_change()
            ended = [thread.name for thread in beside if not thread.is_alive()]
            # A worker that settles nothing must not go on as if it did.
            if ended and not self.is_draining:
                raise ExecutionError(f"{ended[0]} ended by itself.")

    def announce(self) -> None:
        """Tell everybody who shares the state that it is there, and how its engine is."""
        worker = AnnouncedWorker(
            self._id,
            socket.gethostname(),
            os.getpid(),
            self._engine(),
            self._settings.concurrency,
            len(self.running),
        )
        self._services.store.workers.announce(worker, self._settings.announced_seconds)

    def take(self) -> bool:
        """Claim and begin one job, if there is a place for it; whether one was begun."""
        with self._changed:
            if self.is_draining or len(self._running) >= self._settings.concurrency:
                return False
        try:
            lease = self._services.store.claim_next(self._services.lease_seconds)
        except StoreError as error:
            # It may come back; what runs meanwhile cannot commit without it.
            self._say(error.message)
            return False
        if lease is None:
            return False
        with self._changed:
            self._running[lease.job_id] = lease.table
        name = f"neve-job-{lease.job_id}"
        threading.Thread(target=self._work, args=(lease,), name=name, daemon=True).start()
        return True

    def drain(self, grace_seconds: float, stop_seconds: float = 30.0) -> bool:
        """Claim nothing more, and wait for running jobs; whether all of them came to an end.

        Those that take longer than the grace time stop at their next boundary and are handed
        back. What is not even there after the second time is settled by other workers.
        """
        self._draining.set()
        with self._changed:
            self._changed.notify_all()
        if self.wait_for_jobs(grace_seconds):
            return True
        self._services.stop.ask()
        return self.wait_for_jobs(stop_seconds)

    def settle(self) -> list[Job]:
        """Settle what others left behind, by what tables show; returns what nobody could tell."""
        store, now = self._services.store, self._monotonic()
        lost = settle_untraceable(self._services, store.unfinished())
        left: list[Job] = []
        for table in dict.fromkeys(job.table for job in lost):
            if self._not_before.get(table, now) > now:
                continue
            found = settle_left_behind(self._services, table)
            left += [job for job, _ in found]
            if found:
                self._not_before[table] = now + self._settings.settle_again_seconds
            else:
                self._not_before.pop(table, None)
                self._set_aside_if_needed(table)
        return left

    def _work(self, lease: Lease) -> None:
        try:
            self._run(lease)
        finally:
            with self._changed:
                del self._running[lease.job_id]
                self._changed.notify_all()

    def _run(self, lease: Lease) -> None:
        try:
            run_job(self._services_of(lease), lease)
        except NeveError as error:
            # The job's own end, or its next attempt, is in the store; here it is only told.
            self._say(f"Job {lease.job_id}: {error.message}")
        with suppress(StoreError):
            self._set_aside_if_needed(lease.table)

    def _services_of(self, lease: Lease) -> Services:
        job = self._services.store.job(lease.job_id)
        if job is None or not job.request.is_for_trino:
            return self._services
        return self._services_for(job.request)

    def _set_aside_if_needed(self, table: TableRef) -> None:
        store = self._services.store
        failures = store.failures_in_a_row(table)
        if failures >= self._settings.failures_before_set_aside:
            last = next((j.reason for j in store.jobs(table, 20) if _has_failed(j)), "")
            reason = f"{failures} attempts failed in a row. {last}".strip()
            store.set_aside(table, reason, self._settings.try_again_seconds)

    def _keep_settling(self) -> None:
        while not self._draining.wait(self._settings.settle_seconds):
            try:
                self.settle()
            except StoreError as error:
                self._say(error.message)

    def _keep_announcing(self) -> None:
        is_over = False
        while not is_over:
            # What is wrong with the store is told by whoever claims.
            with suppress(StoreError):
                self.announce()
            is_over = self._draining.wait(self._settings.announce_seconds)
        with suppress(StoreError):
            self._services.store.workers.leave(self._id)

    def _wait_for_change(self) -> None:
        with self._changed:
            if not self.is_draining:
                self._changed.wait(self._settings.poll_seconds)

    def wait_for_jobs(self, seconds: float) -> bool:
        """Wait until none of its jobs runs; whether that came to be."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)


def _has_failed(job: Job) -> bool:
    return bool(job.reason) and job.state in (JobState.FAILED, JobState.QUEUED)
