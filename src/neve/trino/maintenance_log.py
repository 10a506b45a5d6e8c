"""The table that keeps the history of maintenance, itself an Iceberg table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from neve.model.errors import CatalogError, InputError, NeveError
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.planning.maintenance_log import (
    JOB_COLUMN,
    LOG_COLUMNS,
    LOG_TABLE_NAME,
    by_log,
    log_row,
)
from neve.retries import RetryPolicy, Sleep, retrying
from neve.trino.cursor import Cursor, Errors, run
from neve.trino.quoting import place_of, quote_table
from neve.trino.sentences import error_sentence, was_refused
from neve.trino.tables import DEFAULT_CATALOG, DEFAULT_SCHEMA

#: Iceberg's types in Trino's words.
TRINO_TYPES = {"string": "VARCHAR", "int": "INTEGER", "timestamp": "TIMESTAMP(6)"}
#: Tables that are maintained side by side write to one log.
POLICY = RetryPolicy(attempts=5, first_pause_seconds=0.2)


def build_maintenance_log_ddl(
    *, catalog: str = DEFAULT_CATALOG, schema: str = DEFAULT_SCHEMA
) -> str:
    columns = ", ".join(f"{name} {TRINO_TYPES[kind]}" for name, kind in LOG_COLUMNS.items())
    name = quote_table(catalog, schema, LOG_TABLE_NAME)
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}) WITH (format = 'PARQUET')"


def build_maintenance_log_insert(
    table_name: str,
    operation: str,
    status: str,
    details: str,
    snapshots_before: int | None,
    snapshots_after: int | None,
    files_before: int | None,
    files_after: int | None,
    dag_run_id: str,
    executed_at: datetime,
    job_id: str | None = None,
    *,
    catalog: str = DEFAULT_CATALOG,
    schema: str = DEFAULT_SCHEMA,
) -> tuple[str, list[Any]]:
    """The statement for one row, and the parameters to run it with."""
    if executed_at.tzinfo is None:
        raise InputError("The time of an operation must carry its time zone.")
    # The column holds UTC without saying so, and Trino does not convert a zoned value on its own.
    at = executed_at.astimezone(UTC).replace(tzinfo=None)
    # Plain strings: drivers refuse subclasses such as enum members.
    texts = [str(text) for text in (table_name, operation, status, details)]
    counts = [snapshots_before, snapshots_after, files_before, files_after]
    values = [*texts, *counts, str(dag_run_id), at]
    values += [] if job_id is None else [str(job_id)]
    # A log of an earlier version has no column for jobs, and need not have one without a job.
    names = ", ".join(list(LOG_COLUMNS)[: len(values)])
    marks = ", ".join("?" for _ in values)
    statement = (
        f"INSERT INTO {quote_table(catalog, schema, LOG_TABLE_NAME)} ({names}) VALUES ({marks})"
    )
    return statement, values


def build_job_column(*, catalog: str = DEFAULT_CATALOG, schema: str = DEFAULT_SCHEMA) -> str:
    """What gives a log of an earlier version its column for jobs."""
    name = quote_table(catalog, schema, LOG_TABLE_NAME)
    return f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS {JOB_COLUMN} VARCHAR"


@dataclass(frozen=True, slots=True)
class TrinoLog:
    """Appends rows to the log beside each table; a missing log is made."""

    cursor: Cursor
    errors: Errors
    sleep: Sleep = time.sleep

    def write(self, outcomes: Sequence[Outcome]) -> list[TableRef]:
        """A row about each outcome; one that cannot be written does not keep the others out."""
        logs, problems = by_log(outcomes), []
        for log, members in logs.items():
            problem = self._create(log)
            for outcome in members:
                if said := self._insert(log, outcome):
                    # What was wrong first is the cause.
                    problems.append(f"Writing to {log} failed: {problem or said}")
        if problems:
            raise CatalogError(
                problems[0], next_step="Check that Trino may create and write that table."
            )
        return list(logs)

    def _create(self, log: TableRef) -> str | None:
        try:
            run(self.cursor, build_maintenance_log_ddl(**place_of(log)))
        except self.errors as error:
            # Perhaps another run created it in this very moment: the insert will tell.
            return error_sentence(error)
        return None

    def _run_again(self, statement: str, parameters: list[Any]) -> None:
        retrying(
            partial(run, self.cursor, statement, parameters),
            on=lambda error: isinstance(error, self.errors) and was_refused(error),
            policy=POLICY,
            sleep=self.sleep,
        )

    def _insert(self, log: TableRef, outcome: Outcome) -> str | None:
        """What is wrong, if anything is; again only where certainly nothing was committed."""
        # With its zone, so that a time without one is refused.
        row: dict[str, Any] = {**log_row(outcome), "executed_at": outcome.finished_at}
        try:
            statement, parameters = build_maintenance_log_insert(**(row | place_of(log)))
            insert = partial(self._run_again, statement, parameters)
            try:
                insert()
            except self.errors as error:
                if JOB_COLUMN not in error_sentence(error):
                    raise
                run(self.cursor, build_job_column(**place_of(log)))
                insert()
        except NeveError as error:
            return error.message
        except self.errors as error:
            return error_sentence(error)
        return None
