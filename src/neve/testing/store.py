"""The job store in memory: the same contract, on a clock that a test moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from neve.documents import to_text
from neve.model.figures import counted
from neve.model.job import (
    ALL_JOBS,
    Job,
    JobFilter,
    JobRequest,
    JobState,
    Lease,
    Progress,
    SetAsideTable,
)
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.store.values import CANCELLED_BEFORE, has_begun, lease_lost, no_job, table_busy
from neve.testing.access import MemoryApiKeys, MemoryApprovals, MemoryAudit
from neve.testing.consumers import MemoryConsumers
from neve.testing.events import MemoryEvents, MemorySchedules
from neve.testing.marks import MemoryMarks
from neve.testing.plans import MemoryPlans
from neve.testing.quarantine import MemoryQuarantine
from neve.testing.rooms import MemoryRooms
from neve.testing.shared import MemoryPolicies, MemoryWorkers
from neve.testing.totals import MemoryTotals
from neve.testing.writes import MemoryWrites

#: What no clock of a test says.
GIVEN_BACK = datetime.min.replace(tzinfo=UTC)


class MemoryStore(MemoryEvents, MemorySchedules, MemoryTotals):
    """Keeps jobs and leases in dictionaries, on the clock that it is given."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        MemoryEvents.__init__(self, clock)
        MemorySchedules.__init__(self, clock)
        MemoryTotals.__init__(self)
        self._jobs: dict[str, Job] = {}
        self._keys: dict[str, str] = {}
        self._leases: dict[TableRef, Lease] = {}
        self._outcomes: list[Outcome] = []
        self._leftovers: dict[TableRef, dict[str, str]] = {}
        self._turns: dict[str, int] = {}
        self._failures: dict[TableRef, int] = {}
        self._set_aside: dict[TableRef, SetAsideTable] = {}
        self._retry_seconds: dict[TableRef, float] = {}
        self.quarantine = MemoryQuarantine(clock)
        self.consumers = MemoryConsumers(clock)
        self.marks = MemoryMarks()
        self.api_keys = MemoryApiKeys()
        self.audit = MemoryAudit()
        self.approvals = MemoryApprovals()
        self.plans = MemoryPlans(clock)
        self.rooms = MemoryRooms(clock, self.usage, lambda key: self.job_of_key(key) is not None)
        self.policies = MemoryPolicies(clock)
        self.workers = MemoryWorkers(clock)
        self.writes = MemoryWrites()

    def submit(self, job_id: str, request: JobRequest) -> Job:
        known = self._keys.get(request.idempotency_key or "")
        if known is not None or job_id in self._jobs:
            return self._jobs[known or job_id]
        with self.rooms.used_by(request):
            # Whoever was faster has made it.
            first = self._keys.setdefault(request.idempotency_key or job_id, job_id)
            if first != job_id:
                return self._jobs[first]
            self._jobs[job_id] = self._made(job_id, request)
        self.append_event(job_id, JobState.QUEUED)
        return self._jobs[job_id]

    def _made(self, job_id: str, request: JobRequest) -> Job:
        now = self._clock()
        return Job(
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
            tenant=request.tenant,
            not_before=request.not_before,
            max_attempts=request.max_attempts,
            position=len(self._jobs) + 1,
            estimated_seconds=request.estimated_seconds,
        )

    def submit_all(self, requests: Mapping[str, JobRequest]) -> list[Job]:
        return [self.submit(job_id, request) for job_id, request in requests.items()]

    def begin(self, job_id: str, request: JobRequest, seconds: float) -> Lease:
        self._refuse_if_held(request.table)
        job = self.submit(job_id, replace(request, max_attempts=1))
        if job.job_id != job_id:
            raise has_begun(job.job_id)
        return self.claim_job(job_id, seconds)

    def claim(self, job_id: str, table: TableRef, operation: str, seconds: float) -> Lease:
        return self.begin(job_id, JobRequest(table, operation), seconds)

    def claim_job(self, job_id: str, seconds: float) -> Lease:
        job = self._jobs.get(job_id)
        if job is None:
            raise no_job(job_id)
        self._refuse_if_held(job.table)
        if job.state is not JobState.QUEUED:
            raise has_begun(job_id)
        held, now = self._leases.get(job.table), self._clock()
        epoch = held.epoch + 1 if held else 1
        lease = Lease(job_id, job.table, epoch, now + timedelta(seconds=seconds))
        self._leases[job.table] = lease
        self._change(job_id, JobState.PLANNING, "")
        self._jobs[job_id] = replace(
            self._jobs[job_id],
            epoch=epoch,
            attempts=job.attempts + 1,
            started_at=now,
            progress=None,
        )
        if job.table in self._retry_seconds and not self._is_set_aside(job.table):
            self._wait_for_try(job.table)
        return lease

    def claim_next(self, seconds: float) -> Lease | None:
        now = self._clock()
        queued = [
            job
            for job in self._jobs.values()
            if job.state is JobState.QUEUED
            and not self._is_held(job.table)
            and not self._is_set_aside(job.table)
            and (job.not_before is None or job.not_before <= now)
        ]
        if not queued:
            return None
        chosen = min(
            queued,
            key=lambda job: (self._turns.get(job.tenant, 0), job.tenant, -job.priority),
        )
        self._turns[chosen.tenant] = max(self._turns.values(), default=0) + 1
        return self.claim_job(chosen.job_id, seconds)

    def renew(self, lease: Lease, seconds: float) -> Lease:
        self._require_newest(lease)
        if self._leases[lease.table].expires_at == GIVEN_BACK:
            raise lease_lost(lease)
        renewed = replace(
            lease,
            expires_at=self._clock() + timedelta(seconds=seconds),
            cancel_requested=self._jobs[lease.job_id].cancel_requested,
        )
        self._leases[lease.table] = renewed
        return renewed

    def set_state(self, lease: Lease, state: JobState, reason: str = "") -> None:
        self._require(lease)
        if self._jobs[lease.job_id].state.is_final:
            raise lease_lost(lease)
        self._change(lease.job_id, state, reason)

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        self.end(lease, outcome.status.job_state, outcome.reason)
        self._jobs[lease.job_id] = replace(self._jobs[lease.job_id], outcome=to_text(outcome))
        self._outcomes.append(outcome)
        self._add(counted(outcome))

    def end(
        self, lease: Lease, state: JobState, reason: str, *, is_tables_fault: bool = True
    ) -> None:
        self._require_newest(lease)
        if self._jobs[lease.job_id].state.is_final:
            raise lease_lost(lease)
        self._change(lease.job_id, state, reason)
        if is_tables_fault:
            self._count(lease.table, state)

    def retry(self, lease: Lease, reason: str, delay_seconds: float = 0.0) -> Job:
        self._require_given_back(lease)
        self._count(lease.table, JobState.FAILED)
        return self._queue_again(self._jobs[lease.job_id], reason, delay_seconds)

    def hand_back(self, lease: Lease, reason: str) -> Job:
        self._require_given_back(lease)
        job = self._jobs[lease.job_id]
        self._jobs[lease.job_id] = replace(job, attempts=job.attempts - 1)
        return self._queue_again(self._jobs[lease.job_id], reason, None)

    def release(self, lease: Lease) -> None:
        held = self._leases.get(lease.table)
        if held is not None and (held.job_id, held.epoch) == (lease.job_id, lease.epoch):
            self._leases[lease.table] = replace(held, expires_at=GIVEN_BACK)

    def settle(self, job: Job, state: JobState, reason: str) -> bool:
        if not self._is_left(job):
            return False
        self._end_epoch(job)
        self._change(job.job_id, state, reason)
        self._count(job.table, state)
        return True

    def requeue(self, job: Job, reason: str, delay_seconds: float = 0.0) -> bool:
        if not self._is_left(job) or self._jobs[job.job_id].state is JobState.QUEUED:
            return False
        self._count(job.table, JobState.FAILED)
        self._queue_again(self._jobs[job.job_id], reason, delay_seconds)
        return True

    def dead_jobs(self, limit: int = 100) -> list[Job]:
        dead = sorted((j for j in self._jobs.values() if j.is_dead), key=lambda j: j.updated_at)
        return dead[::-1][:limit]

    def dismiss(self, job_id: str) -> bool:
        job = self._jobs.get(job_id)
        if job is None or not job.is_dead:
            return False
        self._jobs[job_id] = replace(job, is_dead=False)
        return True

    def failures_in_a_row(self, table: TableRef) -> int:
        return self._failures.get(table, 0)

    def set_aside(self, table: TableRef, reason: str, retry_seconds: float | None = None) -> None:
        known = self._set_aside.get(table)
        if known and retry_seconds is not None and table not in self._retry_seconds:
            # What a person set aside stays so, whatever ends on the table after it.
            return
        since = known.since if known else self._clock()
        self._set_aside[table] = SetAsideTable(table, since, reason)
        self._retry_seconds.pop(table, None)
        if retry_seconds is not None:
            self._retry_seconds[table] = retry_seconds
            self._wait_for_try(table)

    def put_back(self, table: TableRef) -> bool:
        if self._set_aside.pop(table, None) is None:
            return False
        self._retry_seconds.pop(table, None)
        self._failures.pop(table, None)
        return True

    def set_aside_tables(self) -> list[SetAsideTable]:
        return [
            replace(aside, failures_in_a_row=self.failures_in_a_row(aside.table))
            for aside in self._set_aside.values()
        ]

    def cancel(self, job_id: str) -> Job | None:
        job = self._jobs.get(job_id)
        if job is None or job.state.is_final:
            return job
        self._jobs[job_id] = replace(job, cancel_requested=True)
        if job.state is JobState.QUEUED:
            self._change(job_id, JobState.CANCELLED, CANCELLED_BEFORE)
        return self._jobs[job_id]

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

    def append_event(
        self, job_id: str, phase: JobState, message: str = "", progress: Progress | None = None
    ) -> int:
        job = self._jobs.get(job_id)
        if progress is not None and job is not None and not job.state.is_final:
            self._jobs[job_id] = replace(job, progress=progress)
        return super().append_event(job_id, phase, message, progress)

    def jobs(
        self,
        table: TableRef | None = None,
        limit: int = 100,
        *,
        chosen: JobFilter = ALL_JOBS,
        before: int | None = None,
    ) -> list[Job]:
        found = [
            job
            for job in list(self._jobs.values())
            if table in (None, job.table)
            and chosen.takes(job)
            and (before is None or job.position < before)
        ]
        return found[::-1][:limit]

    def active_tables(self, tables: Collection[TableRef]) -> set[TableRef]:
        active = {job.table for job in list(self._jobs.values()) if not job.state.is_final}
        return active & set(tables)

    def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def job_of_key(self, idempotency_key: str) -> Job | None:
        return self._jobs.get(self._keys.get(idempotency_key, ""))

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
        if state is not job.state:
            self.append_event(job_id, state, reason)
        if not job.state.is_final:
            self._count_job(job.operation, state)

    def _is_held(self, table: TableRef) -> bool:
        held = self._leases.get(table)
        return held is not None and held.expires_at > self._clock()

    def _refuse_if_held(self, table: TableRef) -> None:
        if self._is_held(table):
            raise table_busy(self._leases[table].job_id, table)

    def _require(self, lease: Lease) -> None:
        self._require_newest(lease)
        if not self._is_held(lease.table):
            raise lease_lost(lease)

    def _require_newest(self, lease: Lease) -> None:
        held = self._leases.get(lease.table)
        if held is None or (held.job_id, held.epoch) != (lease.job_id, lease.epoch):
            raise lease_lost(lease)

    def _require_given_back(self, lease: Lease) -> None:
        self._require_newest(lease)
        state = self._jobs[lease.job_id].state
        if state.is_final or state in (JobState.QUEUED, JobState.UNKNOWN):
            raise lease_lost(lease)

    def _is_left(self, job: Job) -> bool:
        """Whether nobody runs the job, and it is still what was seen."""
        known, held = self._jobs[job.job_id], self._leases.get(job.table)
        runs = held is not None and held.job_id == job.job_id and self._is_held(job.table)
        return known.epoch == job.epoch and not known.state.is_final and not runs

    def _end_epoch(self, job: Job) -> None:
        held = self._leases.get(job.table)
        if held is not None and (held.job_id, held.epoch) == (job.job_id, job.epoch):
            self._leases[job.table] = replace(held, epoch=held.epoch + 1, expires_at=self._clock())

    def _queue_again(self, job: Job, reason: str, delay_seconds: float | None) -> Job:
        """Queue it, unless it is to be cancelled or has no attempt left."""
        self._end_epoch(job)
        state, is_dead, not_before = JobState.QUEUED, False, job.not_before
        if job.cancel_requested:
            state = JobState.CANCELLED
        elif delay_seconds is not None:
            is_dead = job.attempts >= job.max_attempts
            state = JobState.FAILED if is_dead else state
            not_before = self._clock() + timedelta(seconds=delay_seconds)
        self._jobs[job.job_id] = replace(job, is_dead=is_dead, not_before=not_before)
        self._change(job.job_id, state, reason)
        return self._jobs[job.job_id]

    def _count(self, table: TableRef, state: JobState) -> None:
        if state is JobState.FAILED:
            self._failures[table] = self.failures_in_a_row(table) + 1
        elif state is JobState.SUCCEEDED:
            self._failures.pop(table, None)
            if table in self._retry_seconds:
                self.put_back(table)

    def _is_set_aside(self, table: TableRef) -> bool:
        aside = self._set_aside.get(table)
        return aside is not None and (aside.retry_at is None or aside.retry_at > self._clock())

    def _wait_for_try(self, table: TableRef) -> None:
        """Whoever begins the one job of a try lets the others wait for the next."""
        retry_at = self._clock() + timedelta(seconds=self._retry_seconds[table])
        self._set_aside[table] = replace(self._set_aside[table], retry_at=retry_at)
