"""Jobs that were left without an end are settled by what the table shows."""

from __future__ import annotations

from neve.model.facts import TableFacts
from neve.model.job import Job, JobState
from neve.service.verify import snapshots_of, verify_commits
from neve.service.world import World


def settle_unfinished(world: World, facts: TableFacts) -> None:
    """Find each lost job's id in the snapshot log, and prove what it committed."""
    for job in world.store.unfinished(facts.table):
        state, reason = _judge(world, job, facts)
        world.store.settle(job.job_id, state, reason)


def _judge(world: World, job: Job, facts: TableFacts) -> tuple[JobState, str]:
    snapshots = snapshots_of(job.job_id, facts)
    if not snapshots:
        return JobState.FAILED, "It left no snapshot in the table."
    verdict = verify_commits(world, facts.table, snapshots)
    if verdict.problem:
        return (
            JobState.FAILED,
            f"Its snapshot is in the table, but {verdict.problem} "
            f"Undo it: neve rollback {facts.table} --job {job.job_id}",
        )
    return JobState.SUCCEEDED, "Its snapshot was found in the table, and its rows add up."
