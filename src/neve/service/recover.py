"""Jobs that were left without an end are settled by what the table shows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from neve.model.errors import (
    CommitUnknown,
    EngineDied,
    EnvironmentProblem,
    ExecutionError,
    JobRefused,
    NeveError,
    StoreError,
    TableNotFound,
)
from neve.model.facts import SnapshotFacts, TableFacts
from neve.model.job import ROLLBACK, Job, JobState
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.operation import Operation
from neve.model.table import TableRef
from neve.service.again import delay_after_loss, is_tables_fault, is_taken_up
from neve.service.context import JobContext
from neve.service.notices import notify_job
from neve.service.operations.rollback import EXPECTED_HEAD
from neve.service.services import Services
from neve.service.unchanged import CHECKS, check_commits
from neve.service.undo import settle_undo_tag, tag_of
from neve.service.verify import is_listed, snapshots_of, verify_commits

NO_SNAPSHOT = "It left no snapshot in the table."
#: Operations that commit no snapshot, so that the table does not show whose work is in it.
INTERRUPTED_EXPIRY = (
    "It ended early. Snapshots that it expired are gone, the others are planned again; "
    "files that it freed and did not delete are left to the sweep for orphans."
)
ENDED_EARLY = {
    Operation.EXPIRE_SNAPSHOTS: INTERRUPTED_EXPIRY,
    Operation.REMOVE_ORPHAN_FILES: "It ended early. What it put into quarantine is on the list, "
    "and what it deleted is on record.",
    Operation.COMPUTE_TABLE_STATS: "It ended early. Statistics that are missing are planned again.",
    Operation.COMPUTE_PARTITION_STATS: "It ended early. Statistics that are missing are planned "
    "again.",
}


#: Trino's snapshots carry no job's name.
ENDED_IN_TRINO = (
    "It ended early. Trino may have finished it all the same, which the table does not tell; "
    "what it left undone is done by the next run."
)

MAY_STILL_ARRIVE = (
    "The table does not show it so far. Its worker may have been asleep in the middle of its "
    "request, which would still arrive: look at the table before you ask again."
)


def settle_unfinished(services: Services, facts: TableFacts) -> list[tuple[Job, NeveError]]:
    """Find each lost job's id in the snapshot log, and prove what it committed.

    Returns the jobs about which nothing could be found out now, each with the reason: they stay,
    and the others do not wait for them.
    """
    left: list[tuple[Job, NeveError]] = []
    for job in settle_untraceable(services, services.store.unfinished(facts.table)):
        try:
            state, reason = _judge(services, job, facts)
            _settle(services, job, facts, state, reason)
        except StoreError:
            raise
        except NeveError as error:
            left.append((job, error))
    return left


def _settle(services: Services, job: Job, facts: TableFacts, state: JobState, reason: str) -> None:
    """Give the job its end; one of the queue that left nothing in its table is taken up again."""
    if state is JobState.FAILED and is_taken_up(job) and not is_listed(job.job_id, facts):
        services.store.requeue(job, f"Its worker ended early. {reason}", delay_after_loss(job))
        # The next attempt takes the tag over, if there is one.
        queued = services.store.job(job.job_id)
        if queued is not None and queued.state.is_final:
            settle_undo_tag(services, facts, job.job_id)
    else:
        note = ""
        # A rollback's tag keeps what it left behind, and is where it belongs.
        if job.operation != ROLLBACK and tag_of(job.job_id, facts) is not None:
            # This ends the epoch: a worker that was only asleep cannot go on without its tag.
            if not services.store.settle(job, JobState.UNKNOWN, reason):
                return
            note = settle_undo_tag(services, facts, job.job_id)
        services.store.settle(job, state, f"{reason} {note}".strip())
    notify_job(services, job.job_id)


def settle_left_behind(services: Services, table: TableRef) -> list[tuple[Job, NeveError]]:
    """The same for whoever has not surveyed the table; most tables have nothing to settle."""
    jobs = settle_untraceable(services, services.store.unfinished(table))
    if not jobs:
        return []
    try:
        facts = services.surveyor.survey(table)
    except TableNotFound:
        for job in jobs:
            reason = f"There is no table {table} any more: it was dropped or renamed."
            services.store.settle(job, JobState.FAILED, reason)
            notify_job(services, job.job_id)
        return []
    except StoreError:
        raise
    except NeveError as error:
        return [(job, error) for job in jobs]
    return settle_unfinished(services, facts)


def settle_untraceable(services: Services, jobs: Sequence[Job]) -> list[Job]:
    """End the jobs of which no table can tell anything; returns the others."""
    for job in jobs:
        if job.request.is_for_trino:
            services.store.settle(job, JobState.FAILED, ENDED_IN_TRINO)
            notify_job(services, job.job_id)
    return [job for job in jobs if not job.request.is_for_trino]


def settle_after(context: JobContext, error: NeveError) -> None:
    """End a job that an error has ended; the error itself must not be hidden by more of them."""
    services, held, state = context.services, context.held, JobState.UNKNOWN
    if isinstance(error, ExecutionError | EnvironmentProblem | JobRefused) and not isinstance(
        error, CommitUnknown
    ):
        with suppress(NeveError):
            # A commit may have landed before the error, and is verified with the next turn then.
            facts = services.surveyor.survey(context.table)
            if not snapshots_of(context.job_id, facts):
                state = JobState.FAILED
                _drop_tag(context, facts, error)
    held.end(state, error.message, is_tables_fault=is_tables_fault(error))


def _drop_tag(context: JobContext, facts: TableFacts, error: NeveError) -> None:
    # What a process that is gone asked for may still be on its way to the catalog.
    if context.operation != ROLLBACK and not isinstance(error, EngineDied):
        # Whoever lost the table has lost the tag, too: another attempt may have taken it over.
        context.held.require()
        settle_undo_tag(context.services, facts, context.job_id)


def _judge(services: Services, job: Job, facts: TableFacts) -> tuple[JobState, str]:
    if job.operation == ROLLBACK:
        return _judge_rollback(job, facts)
    snapshots = snapshots_of(job.job_id, facts)
    if not snapshots:
        return JobState.FAILED, _why_nothing(job, facts)
    known = {snapshot.snapshot_id for snapshot in facts.snapshots}
    if any(snapshot.parent_id not in known for snapshot in snapshots):
        return (
            JobState.FAILED,
            "Its snapshot is in the table, but the one before it has expired: "
            "whether it changed a row can no longer be told.",
        )
    if problem := _problem(services, job, facts, snapshots):
        return (
            JobState.FAILED,
            f"Its snapshot is in the table, but {problem} "
            f"Undo it: neve rollback {facts.table.typed} --job {job.job_id}",
        )
    return JobState.SUCCEEDED, "Its snapshot was found in the table, and its rows add up."


def _why_nothing(job: Job, facts: TableFacts) -> str:
    if job.operation in ENDED_EARLY:
        return ENDED_EARLY[Operation(job.operation)]
    if all(snapshot.committed_at > job.updated_at for snapshot in facts.snapshots):
        return (
            f"{NO_SNAPSHOT} All that are there are younger: the table was made again, "
            "or its old snapshots have expired."
        )
    return NO_SNAPSHOT


def _why_no_rollback(job: Job, facts: TableFacts) -> str:
    """A worker that was only asleep sends its request when it wakes; another head refuses it."""
    expected = job.arguments.get(EXPECTED_HEAD, facts.snapshot_id)
    may_have_sent = job.state in (JobState.COMMITTING, JobState.UNKNOWN)
    if may_have_sent and str(expected) == str(facts.snapshot_id):
        return MAY_STILL_ARRIVE
    return "It ended before it changed the table."


def _judge_rollback(job: Job, facts: TableFacts) -> tuple[JobState, str]:
    """A rollback tags what it leaves behind, and commits no snapshot of its own."""
    tag = next((ref for ref in facts.refs if ref.name == UNDO_TAG_PREFIX + job.job_id), None)
    if tag is None:
        return JobState.FAILED, _why_no_rollback(job, facts)
    if tag.snapshot_id == facts.snapshot_id:
        return JobState.FAILED, "The table is where it was when it began."
    now = {snapshot.snapshot_id for snapshot in facts.ancestry()}
    if tag.snapshot_id in now:
        # The tag comes with the change: this one undid another, and went forward.
        return JobState.SUCCEEDED, f"The table was found to have gone on from {tag.snapshot_id}."
    then = replace(facts, snapshot_id=tag.snapshot_id).ancestry()
    common = next((s.snapshot_id for s in then if s.snapshot_id in now), facts.snapshot_id)
    return JobState.SUCCEEDED, f"The table was found to have gone back to snapshot {common}."


def _problem(
    services: Services, job: Job, facts: TableFacts, snapshots: Sequence[SnapshotFacts]
) -> str | None:
    if job.operation in CHECKS:
        return check_commits(services, facts.table, Operation(job.operation), snapshots)
    return verify_commits(services, facts.table, snapshots).problem
