"""Jobs that were left without an end are settled by what the table shows."""

from __future__ import annotations

from neve.model.facts import TableFacts
from neve.model.job import JobState
from neve.service.ports import JobStore


def settle_unfinished(store: JobStore, facts: TableFacts) -> None:
    """Find each lost job's id in the snapshot log: there it succeeded, else it failed."""
    landed = {snapshot.job_id for snapshot in facts.snapshots}
    for job in store.unfinished(facts.table):
        if job.job_id in landed:
            store.settle(job.job_id, JobState.SUCCEEDED, "Its snapshot was found in the table.")
        else:
            store.settle(job.job_id, JobState.FAILED, "It left no snapshot in the table.")
