"""The one frame of every job: claim, settle what was left behind, work, log, finish.

Whoever asks, and whatever for, a change to a table goes through here. What is done is for the
operation's handler; nothing in it claims, finishes or logs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial

from neve.model.errors import JobCancelled, NeveError, StoreError
from neve.model.job import Job, JobRequest, JobState, Lease
from neve.model.outcome import Outcome, Status
from neve.model.plan import CompactionPlan
from neve.service.again import (
    handed_back,
    is_tables_fault,
    queued_after_error,
    queued_after_failure,
)
from neve.service.audited_jobs import audit_job
from neve.service.auditing import Evidence
from neve.service.context import JobContext, Prepared, Work, uncounted
from neve.service.lease import hold
from neve.service.notices import notify_job
from neve.service.operations.registry import handler_for
from neve.service.operations.rollback import with_expected_head
from neve.service.policies import DELETING
from neve.service.ports import Engine
from neve.service.recover import settle_after, settle_left_behind
from neve.service.reporting import JobReporter
from neve.service.services import Services


def check(services: Services, request: JobRequest) -> None:
    """Refuse what could never be run."""
    request = _fixed(services, request)
    handler_for(request).prepare(services, request)


def submit(services: Services, request: JobRequest) -> Job:
    """Queue a job for whoever claims it; refuses what could never be run."""
    request = _fixed(services, request)
    prepared = handler_for(request).prepare(services, request)
    if prepared is not None and isinstance(prepared.plan, CompactionPlan):
        request = replace(request, estimated_seconds=prepared.plan.cost.seconds.expected)
    return services.store.submit(str(uuid.uuid4()), request)


def run(
    services: Services, request: JobRequest, *, prepared: Prepared | None = None, log: bool = True
) -> Outcome:
    """Submit, claim and run a job in this process, or raise TableBusy.

    What was planned and shown already is run as far as it still holds. With `log=False` the row of
    the maintenance log is left to the caller, who may write many.
    """
    request = _fixed(services, request)
    handler = handler_for(request)
    made = prepared or handler.prepare(services, request)
    return run_work(services, request, partial(handler.run, prepared=made), log=log)


def _fixed(services: Services, request: JobRequest) -> JobRequest:
    """The request as it is kept: what its caller saw of the table belongs to it."""
    handler_for(request)
    return with_expected_head(services, request)


def run_job(services: Services, lease: Lease) -> Outcome:
    """Run a job that was claimed from the queue: all that a worker does with one.

    What may pass is queued again after a while, and so is what had to stop with its worker.
    """
    job = services.store.job(lease.job_id)
    if job is None:
        raise StoreError(f"Job {lease.job_id} is not in the store any more.")
    # Whoever queued it may not have asked: a job that cannot be run ends like any other.
    return _run_claimed(
        services,
        lease,
        job.request,
        lambda context: handler_for(context.request).run(context),
        attempt=job.attempts,
    )


def run_work(services: Services, request: JobRequest, work: Work, *, log: bool = True) -> Outcome:
    """Begin a job in this process and do this work in it, or raise TableBusy."""
    # From before the claim: an interrupt in between must not leave the table claimed.
    with services.stop.running():
        lease = services.store.begin(str(uuid.uuid4()), request, services.lease_seconds)
        return _run_claimed(services, lease, request, work, log=log)


def _run_claimed(
    services: Services,
    lease: Lease,
    request: JobRequest,
    work: Work,
    *,
    log: bool = True,
    attempt: int | None = None,
) -> Outcome:
    """`attempt` is the number of this one, where another may come after it."""
    services = replace(services, evidence=Evidence())
    try:
        outcome = _work_claimed(services, lease, request, work, log=log, attempt=attempt)
    except NeveError as error:
        audit_job(services, lease.job_id, request, error)
        notify_job(services, lease.job_id)
        raise
    audit_job(services, lease.job_id, request, outcome)
    # The table is free by now: a channel that answers late keeps no other job waiting.
    notify_job(services, lease.job_id, outcome)
    return outcome


def _work_claimed(
    services: Services,
    lease: Lease,
    request: JobRequest,
    work: Work,
    *,
    log: bool,
    attempt: int | None,
) -> Outcome:
    entered: list[Engine] = []

    def stop_tasks() -> None:
        for engine in entered:
            # It may have ended already; the next boundary of the work stops it as well.
            with suppress(NeveError):
                engine.cancel(lease.job_id)

    with (
        hold(
            services.store,
            lease,
            services.lease_seconds,
            services.stop,
            stop_tasks,
            is_deleting=request.operation in DELETING,
        ) as held,
        ExitStack() as stack,
    ):
        started_at = services.clock()
        reporter = JobReporter(
            services.reporter,
            services.events,
            services.store,
            lease,
            request.operation,
            held,
            services.clock,
            started_at,
        )
        told = replace(
            services.with_reporter(reporter),
            make_engine=_engine_for(lease.job_id, services.make_engine, stack, entered),
            progress=reporter.account,
        )
        context = JobContext(told, lease.job_id, request, held, started_at, reporter)
        try:
            settle_left_behind(told, lease.table)
            outcome = work(context)
        except JobCancelled as stop:
            outcome = _cancelled(context, stop)
        except NeveError as error:
            if attempt is None or not queued_after_error(context, error, attempt):
                _end(context, error)
                reporter.tell(JobState.FAILED, error.message)
            raise
        outcome = replace(outcome, run_id=request.run_id)
        if attempt is not None and handed_back(context, outcome):
            return outcome
        # A process that has to end writes no row about nothing.
        if log and not (held.is_handed_back and _changed_nothing(outcome)):
            outcome = _record_in_log(services, outcome)
        if attempt is not None and queued_after_failure(context, outcome, attempt):
            return outcome
        services.store.finish(held.lease, outcome)
        reporter.tell(outcome.status.job_state, outcome.reason)
    return outcome


def _engine_for(
    job_id: str, make_engine: Callable[[], Engine], stack: ExitStack, entered: list[Engine]
) -> Callable[[], Engine]:
    """The engine, working for this job from when it is first asked for something."""

    def make() -> Engine:
        engine = make_engine()
        if engine not in entered:
            stack.enter_context(engine.job(job_id))
            entered.append(engine)
        return engine

    return make


def _end(context: JobContext, error: NeveError) -> None:
    """An error before the first change ends the job; after it, the table decides."""
    if context.held.has_begun:
        settle_after(context, error)
    else:
        fault = is_tables_fault(error)
        context.held.end(JobState.FAILED, error.message, is_tables_fault=fault)


def _cancelled(context: JobContext, stop: JobCancelled) -> Outcome:
    """Stopped where nothing had been committed yet, or where the work could not say what was."""
    return uncounted(
        context.job_id,
        context.request,
        Status.CANCELLED,
        stop.message,
        started_at=context.started_at,
        finished_at=context.services.clock(),
    )


def _changed_nothing(outcome: Outcome) -> bool:
    is_cancelled = outcome.status is Status.CANCELLED and outcome.proof is None
    return is_cancelled and outcome.snapshot_before == outcome.snapshot_after


def _record_in_log(services: Services, outcome: Outcome) -> Outcome:
    """The log must not hide what happened: its failure is said, not raised."""
    try:
        services.log.write([outcome])
    except NeveError as error:
        return replace(
            outcome, reason=f"{outcome.reason} The maintenance log was not written: {error.message}"
        )
    return outcome
