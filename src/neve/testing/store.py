"""The job store's twin in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from neve.documents import to_text
from neve.model.errors import LeaseLost, TableBusy
from neve.model.job import Job, JobState, Lease
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.testing.consumers import MemoryConsumers
from neve.testing.quarantine import MemoryQuarantine

FINAL = {Status.FAILED: JobState.FAILED, Status.UNKNOWN: JobState.UNKNOWN}


class MemoryStore:
    """Keeps jobs and leases in dictionaries, on the clock that it is given."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._leases: dict[TableRef, Lease] = {}
        self._outcomes: list[Outcome] = []
        self._leftovers: dict[TableRef, dict[str, str]] = {}
        self.quarantine = MemoryQuarantine(clock)
        self.consumers = MemoryConsumers(clock)

    def claim(self, job_id: str, table: TableRef, operation: str, seconds: float) -> Lease:
        now, held = self._clock(), self._leases.get(table)
        if held is not None and held.expires_at > now:
            raise TableBusy(f"Job {held.job_id} is working on table {table}.")
        epoch = held.epoch + 1 if held else 1
        lease = Lease(job_id, table, epoch, now + timedelta(seconds=seconds))
        self._leases[table] = lease
        self._jobs[job_id] = Job(job_id, table, operation, JobState.PLANNING, epoch, now, now)
        return lease

    def renew(self, lease: Lease, seconds: float) -> Lease:
        self._require(lease)
        renewed = replace(lease, expires_at=self._clock() + timedelta(seconds=seconds))
        self._leases[lease.table] = renewed
        return renewed

    def set_state(self, lease: Lease, state: JobState, reason: str = "") -> None:
        self._require(lease)
        self.settle(lease.job_id, state, reason)

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        state = FINAL.get(outcome.status, JobState.SUCCEEDED)
        self.settle(lease.job_id, state, outcome.reason)
        self._jobs[lease.job_id] = replace(self._jobs[lease.job_id], outcome=to_text(outcome))
        self._outcomes.append(outcome)

    def record(self, outcomes: Sequence[Outcome]) -> None:
        now = self._clock()
        for outcome in outcomes:
            if outcome.job_id not in self._jobs:
                state = FINAL.get(outcome.status, JobState.SUCCEEDED)
                job = Job(outcome.job_id, outcome.table, outcome.operation, state, 0, now, now)
                text = to_text(outcome)
                self._jobs[outcome.job_id] = replace(job, reason=outcome.reason, outcome=text)
                self._outcomes.append(outcome)

    def release(self, lease: Lease) -> None:
        held = self._leases.get(lease.table)
        if held is not None and held.epoch == lease.epoch:
            self._leases[lease.table] = replace(held, expires_at=self._clock())

    def settle(self, job_id: str, state: JobState, reason: str) -> None:
        job = self._jobs[job_id]
        self._jobs[job_id] = replace(job, state=state, reason=reason, updated_at=self._clock())

    def unfinished(self, table: TableRef | None = None) -> list[Job]:
        now = self._clock()
        running = {held.job_id for held in self._leases.values() if held.expires_at > now}
        return [
            job
            for job in self._jobs.values()
            if table in (None, job.table) and not job.state.is_final and job.job_id not in running
        ]

    def add_leftovers(self, job_id: str, table: TableRef, paths: Sequence[str]) -> None:
        known = self._leftovers.setdefault(table, {})
        for path in paths:
            known.setdefault(path, job_id)

    def leftovers(self, table: TableRef) -> list[str]:
        return list(self._leftovers.get(table, {}))

    def writers_of_leftovers(self, table: TableRef) -> dict[str, str]:
        return dict(self._leftovers.get(table, {}))

    def jobs(self, table: TableRef | None = None, limit: int = 100) -> list[Job]:
        found = [job for job in self._jobs.values() if table is None or job.table == table]
        return found[::-1][:limit]

    def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def outcomes(self, limit: int = 200) -> list[Outcome]:
        return self._outcomes[::-1][:limit]

    def _require(self, lease: Lease) -> None:
        held = self._leases.get(lease.table)
        if held is None or held.epoch != lease.epoch or held.expires_at <= self._clock():
            raise LeaseLost(f"Job {lease.job_id} lost its claim on table {lease.table}.")
