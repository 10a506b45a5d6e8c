"""Jobs that were left without an end are settled by what the table shows."""

from __future__ import annotations

from neve.model.facts import SnapshotFacts, TableFacts
from neve.model.job import Job, JobState
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.operation import Operation
from neve.service.unchanged import CHECKS, check_commits
from neve.service.verify import snapshots_of, verify_commits
from neve.service.world import World

INTERRUPTED_EXPIRY = (
    "It ended early. Snapshots that it expired are gone, the others are planned again; "
    "files that it freed and did not delete are left to the sweep for orphans."
)


def settle_unfinished(world: World, facts: TableFacts) -> None:
    """Find each lost job's id in the snapshot log, and prove what it committed."""
    for job in world.store.unfinished(facts.table):
        state, reason = _judge(world, job, facts)
        world.store.settle(job, state, reason)


def _judge(world: World, job: Job, facts: TableFacts) -> tuple[JobState, str]:
    snapshots = snapshots_of(job.job_id, facts)
    if not snapshots and job.operation == Operation.EXPIRE_SNAPSHOTS:
        # An expiry commits no snapshot, so the table does not show whose work is missing in it.
        return JobState.FAILED, INTERRUPTED_EXPIRY
    if not snapshots and _went_back(job, facts):
        return JobState.SUCCEEDED, "The tag that it set in the same commit was found."
    if not snapshots:
        return JobState.FAILED, "It left no snapshot in the table."
    if problem := _problem(world, job, facts, snapshots):
        return (
            JobState.FAILED,
            f"Its snapshot is in the table, but {problem} "
            f"Undo it: neve rollback {facts.table} --job {job.job_id}",
        )
    return JobState.SUCCEEDED, "Its snapshot was found in the table, and its rows add up."


def _went_back(job: Job, facts: TableFacts) -> bool:
    """A rollback tags what it leaves behind in the very commit that leaves it."""
    tag = UNDO_TAG_PREFIX + job.job_id
    return job.operation == "rollback" and any(ref.name == tag for ref in facts.refs)


def _problem(
    world: World, job: Job, facts: TableFacts, snapshots: list[SnapshotFacts]
) -> str | None:
    if job.operation in CHECKS:
        return check_commits(world, facts.table, Operation(job.operation), snapshots)
    return verify_commits(world, facts.table, snapshots).problem
