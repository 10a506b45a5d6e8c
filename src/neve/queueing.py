"""The part of the façade about what waits: jobs, their events, tables that workers leave alone."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import replace

from neve.looking import Table
from neve.model.errors import InputError
from neve.model.events import RecordedEvent
from neve.model.job import (
    Job,
    JobFilter,
    JobPage,
    JobState,
    ScheduleState,
    SetAsideTable,
)
from neve.service.operations.turns import LOOKED_THROUGH, jobs_of_turn
from neve.working import Working

#: What a page or a read of events holds at most.
MAX_PAGE = 1000


class Queueing(Working):
    """What can be asked of the state alone: no catalog and no engine is in the way of it."""

    def job(self, job_id: str) -> Job | None:
        return self._services.store.job(job_id)

    def job_page(
        self,
        table: Table | None = None,
        *,
        states: Collection[JobState] = (),
        operation: str | None = None,
        tenant: str | None = None,
        is_dead: bool | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> JobPage:
        """Jobs, newest first, as they stand in the state; `before` goes on after another page."""
        chosen = JobFilter(frozenset(states), operation, tenant, is_dead)
        ref, size = self.table(table) if table else None, min(max(limit, 1), MAX_PAGE)
        found = self._services.store.jobs(ref, size + 1, chosen=chosen, before=before)
        page = found[:size]
        return JobPage(tuple(page), page[-1].position if len(found) > size else None)

    def turn_jobs(self, turn_id: str, table: Table | None = None) -> list[Job]:
        """The jobs of a turn, oldest first; the beginning of its id will do where it is unique."""
        newest: list[Job] = []
        page = JobPage((), None)
        for _ in range(LOOKED_THROUGH // MAX_PAGE):
            page = self.job_page(table, before=page.before, limit=MAX_PAGE)
            newest += page.jobs
            if page.before is None:
                break
        return jobs_of_turn(newest, turn_id)

    def job_events(self, job_id: str, after: int = 0, limit: int = 100) -> list[RecordedEvent]:
        """What a job said since that event, by whatever process it is run; in order."""
        size = min(max(limit, 1), MAX_PAGE)
        return self._services.store.events_after(job_id, after, size)

    def cancel(self, job_id: str) -> Job | None:
        """A queued job ends at once, a running one at its next boundary; None: no such job."""
        return self._services.store.cancel(job_id)

    def dead_jobs(self, limit: int = 100) -> list[Job]:
        """Jobs that failed as often as they may, the last one first; each says why."""
        return self._services.store.dead_jobs(limit)

    def requeue(self, job_id: str, *, requested_by: str = "", room: str = "") -> Job:
        """Queue what a failed or cancelled job was asked for again, as a job of its own.

        However often it is asked for, one job is made of it.
        """
        job, store = self.job(job_id), self._services.store
        if job is None:
            raise InputError(f"There is no job {job_id}.", next_step="neve jobs lists them.")
        if job.state not in (JobState.FAILED, JobState.CANCELLED):
            raise InputError(
                f"Job {job_id} is {job.state}: only what failed or was cancelled is queued again.",
                next_step="Wait for its end, or submit another job.",
            )
        request = replace(
            job.request,
            idempotency_key=f"again {job_id}",
            requested_by=requested_by or job.requested_by,
            room=room,
        )
        # Its first fate is not looked into again: that it could be asked for was checked then.
        queued = store.submit(str(uuid.uuid4()), request)
        store.dismiss(job_id)
        return queued

    def set_aside_tables(self) -> list[SetAsideTable]:
        """Tables that keep failing, whose jobs workers pass over; the oldest first."""
        return self._services.store.set_aside_tables()

    def put_back(self, table: Table) -> bool:
        """Let workers take the table's jobs again; False where it was not set aside."""
        return self._services.store.put_back(self.table(table))

    def pause(self, table: Table) -> ScheduleState:
        """Leave the table's scheduled turns out, until they are resumed."""
        ref, store = self.table(table), self._services.store
        store.pause(ref)
        return store.schedule_state(ref) or ScheduleState(ref, is_paused=True)

    def resume(self, table: Table) -> ScheduleState:
        """Let the table's scheduled turns come again; one that was missed is caught up."""
        ref, store = self.table(table), self._services.store
        store.resume(ref)
        return store.schedule_state(ref) or ScheduleState(ref)

    def schedule_states(self) -> list[ScheduleState]:
        """When turns of tables came last, and whose are left out."""
        return self._services.store.schedule_states()
