"""A table's page: what it is now, what it was before its last compaction, what was done to it."""

from __future__ import annotations

from neve.documents import from_text
from neve.model.errors import EnvironmentProblem
from neve.model.facts import TableFacts
from neve.model.job import Job
from neve.model.operation import Operation
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.service.maintenance import Maintenance

HISTORY = 50


def reported(services: Maintenance, table: TableRef) -> str:
    """The page, from metadata and the state alone."""
    try:
        # Whoever makes no pictures does not need its package.
        from neve.pictures import report
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"Pictures need the package {error.name}, which is not installed.",
            next_step="pip install 'neve[pictures]'",
        ) from error
    facts = services.surveyor.survey(table)
    outcomes = [found for job in services.store.jobs(table, HISTORY) if (found := _outcome(job))]
    return report(
        facts,
        services.health(table),
        outcomes,
        target_bytes=services.effective(table, None).compaction.target_file_size_bytes,
        before=_before(services, facts, outcomes),
    )


def _before(services: Maintenance, facts: TableFacts, outcomes: list[Outcome]) -> TableFacts | None:
    """The table as the last compaction found it, while that snapshot is kept."""
    for outcome in outcomes:
        is_one = outcome.operation == Operation.REWRITE_DATA_FILES.value
        if is_one and outcome.status is Status.SUCCEEDED:
            if facts.snapshot(outcome.snapshot_before) is None:
                return None
            return services.surveyor.survey(facts.table, snapshot_id=outcome.snapshot_before)
    return None


def _outcome(job: Job) -> Outcome | None:
    try:
        return from_text(Outcome, job.outcome) if job.outcome else None
    except ValueError:
        # Written by another version.
        return None
