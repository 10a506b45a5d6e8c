"""The maintenance log: its table, its columns and its rows, the same whoever writes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC

from neve.model.outcome import Outcome
from neve.model.table import TableRef

LOG_TABLE_NAME = "_maintenance_log"
JOB_COLUMN = "job_id"
#: Columns in their order, with Iceberg's names of their types.
LOG_COLUMNS: Mapping[str, str] = {
    "table_name": "string",
    "operation": "string",
    "status": "string",
    "details": "string",
    "snapshots_before": "int",
    "snapshots_after": "int",
    "files_before": "int",
    "files_after": "int",
    # The id by which the caller knows the run, such as that of an Airflow DAG run; empty where
    # nobody gave one.
    "dag_run_id": "string",
    # When it ended, in UTC without saying so: all engines read it alike.
    "executed_at": "timestamp",
    # Neve's own id of the job. Logs of earlier versions get the column with their next row.
    JOB_COLUMN: "string",
}
#: The log speaks the words that every engine's log speaks.
LOGGED_OPERATIONS = {"rewrite_data_files": "optimize"}
#: What was held against what before the commit, by the level of the proof.
VERIFIED = {
    "bytes": "bytes",
    "rows": "the values of rows",
    "store": "digests of the store",
    "metadata": "row counts and metadata",
    "counts": "row counts",
}


def by_log(outcomes: Sequence[Outcome]) -> dict[TableRef, list[Outcome]]:
    """Outcomes by the log that they belong to: the one beside their table."""
    found: dict[TableRef, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        found[outcome.table.sibling(LOG_TABLE_NAME)].append(outcome)
    return dict(found)


def log_row(outcome: Outcome) -> dict[str, object]:
    """What the log says about an outcome, by column."""
    values = (
        outcome.table.name,
        LOGGED_OPERATIONS.get(outcome.operation, outcome.operation),
        "completed" if outcome.status.is_good else "failed",
        # A file's name may hold bytes that are no text.
        _details(outcome).encode("utf-8", "replace").decode("utf-8"),
        outcome.snapshots_before,
        outcome.snapshots_after,
        outcome.stats.files_before,
        outcome.stats.files_after,
        # A log of others may not allow that there is none.
        outcome.run_id,
        outcome.finished_at.astimezone(UTC).replace(tzinfo=None),
        # A program without jobs knows its runs by one id.
        outcome.job_id if outcome.job_id != outcome.run_id else None,
    )
    return dict(zip(LOG_COLUMNS, values, strict=True))


def _details(outcome: Outcome) -> str:
    """What happened, and what was verified, where files were rewritten."""
    proof = outcome.proof
    if proof is None or proof.level not in VERIFIED:
        return outcome.reason
    return f"{outcome.reason} Verified by {VERIFIED[proof.level]}."
