"""The one frame of every job: claim, settle what was left behind, work, log, finish.

Whoever asks, and whatever for, a change to a table goes through here. The work itself is a
function of the job's context; nothing in it claims, finishes or logs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from neve.model.errors import JobCancelled, NeveError
from neve.model.job import JobRequest, JobState, Lease
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.service.lease import HeldLease, hold
from neve.service.recover import settle_after, settle_left_behind
from neve.service.reporting import JobReporter
from neve.service.services import Services


@dataclass(frozen=True, slots=True)
class JobContext:
    """What the work of a job is given."""

    services: Services
    table: TableRef
    job_id: str
    operation: str
    held: HeldLease
    started_at: datetime
    reporter: JobReporter

    def check(self) -> None:
        """Raise where the table is another's by now, or the job is to stop."""
        self.held.check()

    def enter(self, state: JobState) -> None:
        """Record where the job stands; needs the lease."""
        self.held.enter(state)
        self.reporter.tell(state, "")


Work = Callable[[JobContext], Outcome]


def run_request(
    services: Services, request: JobRequest, work: Work, *, log: bool = True
) -> Outcome:
    """Submit, claim and run a job in this process, or raise TableBusy."""
    lease = services.store.begin(str(uuid.uuid4()), request, services.lease_seconds)
    return run_job(services, lease, request.operation, work, log=log)


def run_job(
    services: Services, lease: Lease, operation: str, work: Work, *, log: bool = True
) -> Outcome:
    """Run a job that was claimed.

    With `log=False` the row of the maintenance log is left to the caller, who may write many.
    """
    with hold(services.store, lease, services.lease_seconds, services.stop) as held:
        started_at = services.clock()
        reporter = JobReporter(
            services.reporter, services.events, lease, operation, held, services.clock, started_at
        )
        told = services.with_reporter(reporter)
        context = JobContext(told, lease.table, lease.job_id, operation, held, started_at, reporter)
        try:
            settle_left_behind(told, lease.table)
            outcome = work(context)
        except JobCancelled as stop:
            outcome = _cancelled(context, stop)
        except NeveError as error:
            _end(context, error)
            reporter.tell(JobState.FAILED, error.message)
            raise
        if log:
            outcome = record_in_log(services, outcome)
        services.store.finish(held.lease, outcome)
        reporter.tell(outcome.status.job_state, outcome.reason)
    return outcome


def _end(context: JobContext, error: NeveError) -> None:
    """An error before the first change ends the job; after it, the table decides."""
    if context.held.has_begun:
        settle_after(context.services, context.held, error)
    else:
        context.held.end(JobState.FAILED, error.message)


def _cancelled(context: JobContext, stop: JobCancelled) -> Outcome:
    """Stopped where nothing had been committed yet, or where the work could not say what was."""
    return Outcome(
        job_id=context.job_id,
        table=context.table,
        operation=context.operation,
        status=Status.CANCELLED,
        reason=stop.message,
        started_at=context.started_at,
        finished_at=context.services.clock(),
    )


def record_in_log(services: Services, outcome: Outcome) -> Outcome:
    """The log must not hide what happened: its failure is said, not raised."""
    try:
        services.log.write([outcome])
    except NeveError as error:
        return replace(
            outcome, reason=f"{outcome.reason} The maintenance log was not written: {error.message}"
        )
    return outcome
