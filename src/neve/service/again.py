"""Which jobs that did not get through are queued again, and which are not.

Whatever may have changed its table is never queued again without a look at it.
"""

from __future__ import annotations

from contextlib import suppress

from neve.model.errors import (
    CatalogError,
    CommitUnknown,
    EnvironmentProblem,
    ExecutionError,
    LeaseLost,
    NeveError,
    PlanStale,
    ProofFailed,
    RefLost,
    StoreError,
    TableBusy,
    TableNotFound,
    TableUnreadable,
)
from neve.model.job import Job, JobRequest, JobState, retry_delay_seconds
from neve.model.operation import Operation
from neve.model.outcome import Outcome, Status
from neve.service.context import JobContext
from neve.service.operations.rewrite_data_files import PLAN
from neve.service.operations.rollback import OPERATION as ROLLBACK
from neve.service.verify import is_listed

#: What is wrong may be right in a while: a catalog that was away, an engine that died, a writer, a
#: process that slept for longer than its claim. Queueing again asks whether another job came since.
MAY_PASS = (CatalogError, EnvironmentProblem, ExecutionError, LeaseLost, TableBusy)
#: These are answers, and the same question gets them again; or only the table can tell.
STAYS = (TableNotFound, TableUnreadable, ProofFailed, RefLost, CommitUnknown)
STOPPED = "Its worker was stopped, and another one takes it."
#: They commit no snapshots by which the table would tell whose work is in it.
LEFT_TO_THE_NEXT_TURN = frozenset({Operation.EXPIRE_SNAPSHOTS, Operation.REMOVE_ORPHAN_FILES})


def may_pass(error: NeveError, request: JobRequest) -> bool:
    """Whether another attempt at the same request may get through."""
    if isinstance(error, PlanStale):
        # A plan that came with the job stays stale; a table is planned anew.
        return PLAN not in request.arguments
    return isinstance(error, MAY_PASS) and not isinstance(error, STAYS)


def is_tables_fault(error: NeveError) -> bool:
    """Whether a job that ended so says that its table is in trouble: a plan may be too old."""
    return not isinstance(error, PlanStale)


def can_be_repeated(request: JobRequest) -> bool:
    """Whether asking the same later means the same."""
    # Who asked for a rollback saw the table as it was then, and what Trino did nobody knows.
    return request.operation != ROLLBACK and not request.is_for_trino


def is_taken_up(job: Job) -> bool:
    """Whether a job whose worker vanished is run again, where its table shows nothing of it."""
    if job.max_attempts == 1 or not can_be_repeated(job.request):
        return False
    return job.operation not in LEFT_TO_THE_NEXT_TURN or job.state is JobState.PLANNING


def delay_after_loss(job: Job) -> float:
    """A job whose worker vanished is taken up at once; one that loses all workers is not."""
    return retry_delay_seconds(job.attempts - 1) if job.attempts > 1 else 0.0


def queued_after_error(context: JobContext, error: NeveError, attempt: int) -> bool:
    """Queue the job again, if the error may pass and the table shows nothing of the job."""
    if not may_pass(error, context.request) or not can_be_repeated(context.request):
        return False
    if context.held.has_begun and _may_show(context):
        return False
    return _retried(context, error.message, attempt)


def handed_back(context: JobContext, outcome: Outcome) -> bool:
    """Queue a job again that had to stop with its worker, as if it had not begun."""
    if outcome.status is not Status.CANCELLED or not context.held.is_handed_back:
        return False
    with suppress(LeaseLost, StoreError):
        context.services.store.hand_back(context.held.lease, STOPPED)
    context.reporter.tell(JobState.QUEUED, STOPPED)
    return True


def queued_after_failure(context: JobContext, outcome: Outcome, attempt: int) -> bool:
    """Queue the job again, if it failed and the table shows nothing of it."""
    if outcome.status is not Status.FAILED or not can_be_repeated(context.request):
        return False
    if _may_show(context):
        return False
    return _retried(context, outcome.reason, attempt)


def _retried(context: JobContext, reason: str, attempt: int) -> bool:
    # A claim that is lost, or a store that is away: the job is settled by whoever comes next.
    with suppress(LeaseLost, StoreError):
        context.services.store.retry(context.held.lease, reason, retry_delay_seconds(attempt))
    context.reporter.tell(JobState.QUEUED, reason)
    return True


def _may_show(context: JobContext) -> bool:
    """Whether the table may hold work of the job; also what was taken back is listed there."""
    if context.operation in LEFT_TO_THE_NEXT_TURN:
        return True
    try:
        return is_listed(context.job_id, context.services.surveyor.survey(context.table))
    except NeveError:
        return True
