"""The job store in memory: the same contract, on a clock that a test moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from neve.documents import to_text
from neve.model.errors import InputError, LeaseLost, TableBusy
from neve.model.job import Job, JobRequest, JobState, Lease, ScheduleState
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.testing.consumers import MemoryConsumers
from neve.testing.quarantine import MemoryQuarantine


class MemoryStore:
    """Keeps jobs and leases in dictionaries, on the clock that it is given."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._keys: dict[str, str] = {}
        self._leases: dict[TableRef, Lease] = {}
        self._outcomes: list[Outcome] = []
        self._leftovers: dict[TableRef, dict[str, str]] = {}
        self._runs: dict[TableRef, datetime] = {}
        self.quarantine = MemoryQuarantine(clock)
        self.consumers = MemoryConsumers(clock)

    def submit(self, job_id: str, request: JobRequest) -> Job:
        if request.idempotency_key is not None:
            known = self._keys.setdefault(request.idempotency_key, job_id)
            if known != job_id:
                return self._jobs[known]
        now = self._clock()
        self._jobs[job_id] = Job(
            job_id,
            request.table,
            request.operation,
            JobState.QUEUED,
            0,
            now,
            now,
            # As a store on disk would give them back.
            arguments=json.loads(json.dumps(dict(request.arguments))),
            requested_by=request.requested_by,
            trigger=request.trigger,
            priority=request.priority,
        )
        return self._jobs[job_id]

    def begin(self, job_id: str, request: JobRequest, seconds: float) -> Lease:
        self._refuse_if_held(request.table)
        self.submit(job_id, request)
        return self.claim_job(job_id, seconds)

    def claim(self, job_id: str, table: TableRef, operation: str, seconds: float) -> Lease:
        return self.begin(job_id, JobRequest(table, operation), seconds)

    def claim_job(self, job_id: str, seconds: float) -> Lease:
        job = self._jobs.get(job_id)
        if job is None:
            raise InputError(f"There is no job {job_id}.")
        self._refuse_if_held(job.table)
        if job.state is not JobState.QUEUED:
            raise TableBusy(f"Job {job_id} has begun already, or is over.")
        held, now = self._leases.get(job.table), self._clock()
        epoch = held.epoch + 1 if held else 1
        lease = Lease(job_id, job.table, epoch, now + timedelta(seconds=seconds))
        self._leases[job.table] = lease
        self._change(job_id, JobState.PLANNING, "")
        self._jobs[job_id] = replace(self._jobs[job_id], epoch=epoch)
        return lease

    def claim_next(self, seconds: float) -> Lease | None:
        queued = [
            job
            for job in self._jobs.values()
            if job.state is JobState.QUEUED and not self._is_held(job.table)
        ]
        if not queued:
            return None
        chosen = min(queued, key=lambda job: (-job.priority, job.created_at))
        return self.claim_job(chosen.job_id, seconds)

    def renew(self, lease: Lease, seconds: float) -> Lease:
        self._require(lease)
        renewed = replace(
            lease,
            expires_at=self._clock() + timedelta(seconds=seconds),
            cancel_requested=self._jobs[lease.job_id].cancel_requested,
        )
        self._leases[lease.table] = renewed
        return renewed

    def set_state(self, lease: Lease, state: JobState, reason: str = "") -> None:
        self._require(lease)
        self._change(lease.job_id, state, reason)

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        self.end(lease, outcome.status.job_state, outcome.reason)
        self._jobs[lease.job_id] = replace(self._jobs[lease.job_id], outcome=to_text(outcome))
        self._outcomes.append(outcome)

    def end(self, lease: Lease, state: JobState, reason: str) -> None:
        held = self._leases.get(lease.table)
        if held is None or (held.job_id, held.epoch) != (lease.job_id, lease.epoch):
            raise _lost(lease)
        self._change(lease.job_id, state, reason)

    def release(self, lease: Lease) -> None:
        held = self._leases.get(lease.table)
        if held is not None and held.epoch == lease.epoch:
            self._leases[lease.table] = replace(held, expires_at=self._clock())

    def settle(self, job: Job, state: JobState, reason: str) -> bool:
        known, held = self._jobs[job.job_id], self._leases.get(job.table)
        is_mine = held is not None and held.job_id == job.job_id
        if known.epoch != job.epoch or known.state.is_final:
            return False
        if held is not None and is_mine:
            if held.expires_at > self._clock():
                return False
            self._leases[job.table] = replace(held, epoch=held.epoch + 1)
        self._change(job.job_id, state, reason)
        return True

    def cancel(self, job_id: str) -> Job | None:
        job = self._jobs.get(job_id)
        if job is None or job.state.is_final:
            return job
        self._jobs[job_id] = replace(job, cancel_requested=True)
        if job.state is JobState.QUEUED:
            self._change(job_id, JobState.CANCELLED, "It was cancelled before it began.")
        return self._jobs[job_id]

    def record(self, outcomes: Sequence[Outcome]) -> None:
        now = self._clock()
        for outcome in outcomes:
            if outcome.job_id not in self._jobs:
                state = outcome.status.job_state
                job = Job(outcome.job_id, outcome.table, outcome.operation, state, 0, now, now)
                text = to_text(outcome)
                self._jobs[outcome.job_id] = replace(job, reason=outcome.reason, outcome=text)
                self._outcomes.append(outcome)

    def unfinished(self, table: TableRef | None = None) -> list[Job]:
        return [job for job in self._left_behind() if table in (None, job.table)]

    def add_uncommitted_files(self, job_id: str, table: TableRef, paths: Sequence[str]) -> None:
        known = self._leftovers.setdefault(table, {})
        for path in paths:
            known.setdefault(path, job_id)

    def uncommitted_files(self, table: TableRef) -> list[str]:
        return list(self._leftovers.get(table, {}))

    def writers_of_uncommitted_files(self, table: TableRef) -> dict[str, str]:
        return dict(self._leftovers.get(table, {}))

    def record_run(self, tables: Sequence[TableRef]) -> None:
        self._runs.update(dict.fromkeys(tables, self._clock()))

    def schedule_state(self, table: TableRef) -> ScheduleState | None:
        last_run = self._runs.get(table)
        return ScheduleState(table, last_run) if last_run else None

    def jobs(self, table: TableRef | None = None, limit: int = 100) -> list[Job]:
        found = [job for job in self._jobs.values() if table is None or job.table == table]
        return found[::-1][:limit]

    def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def outcomes(self, limit: int = 200) -> list[Outcome]:
        return self._outcomes[::-1][:limit]

    def _left_behind(self) -> list[Job]:
        running = {lease.job_id for table, lease in self._leases.items() if self._is_held(table)}
        return [
            job
            for job in self._jobs.values()
            if not job.state.is_final
            and job.state is not JobState.QUEUED
            and job.job_id not in running
        ]

    def _change(self, job_id: str, state: JobState, reason: str) -> None:
        job = self._jobs[job_id]
        self._jobs[job_id] = replace(job, state=state, reason=reason, updated_at=self._clock())

    def _is_held(self, table: TableRef) -> bool:
        held = self._leases.get(table)
        return held is not None and held.expires_at > self._clock()

    def _refuse_if_held(self, table: TableRef) -> None:
        if self._is_held(table):
            raise TableBusy(f"Job {self._leases[table].job_id} is working on table {table}.")

    def _require(self, lease: Lease) -> None:
        held = self._leases.get(lease.table)
        if held is None or held.epoch != lease.epoch or held.expires_at <= self._clock():
            raise _lost(lease)


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(f"Job {lease.job_id} lost its claim on table {lease.table}.")
