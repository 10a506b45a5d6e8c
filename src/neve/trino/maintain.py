"""Maintain one table or all tables of a schema: compact, expire, clean up, keep a log.

Each operation stands alone: what fails is recorded and the next one runs. Trouble with the log
never changes what is said about an operation.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from neve.model.errors import CatalogError, NeveError
from neve.trino.cursor import Cursor, run
from neve.trino.maintenance_log import build_maintenance_log_ddl, build_maintenance_log_insert
from neve.trino.operations import (
    DEFAULT_FILE_SIZE_THRESHOLD,
    DEFAULT_RETENTION,
    run_expire_snapshots,
    run_optimize,
    run_remove_orphan_files,
)
from neve.trino.outcome import Counts, Operation, Outcome, Status
from neve.trino.quoting import duration_literal, quote_identifier, size_literal
from neve.trino.sentences import describe, error_sentence, was_refused
from neve.trino.tables import (
    DEFAULT_CATALOG,
    DEFAULT_SCHEMA,
    get_file_count,
    get_snapshot_count,
    get_user_tables,
    get_views,
)

#: Between attempts at a row of the log that another writer's commit was in the way of.
LOG_PAUSES_SECONDS = (0.2, 0.4, 0.8, 1.6, 0.0)

Clock = Callable[[], datetime]
Errors = tuple[type[Exception], ...]


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """Where the tables are and how far each operation goes.

    `min_retention` lowers Trino's own floor of 7 days; leave it out to keep that protection.
    """

    catalog: str = DEFAULT_CATALOG
    schema: str = DEFAULT_SCHEMA
    file_size_threshold: str = DEFAULT_FILE_SIZE_THRESHOLD
    snapshot_retention: str = DEFAULT_RETENTION
    orphan_retention: str = DEFAULT_RETENTION
    min_retention: str | None = None

    def __post_init__(self) -> None:
        quote_identifier(self.catalog)
        quote_identifier(self.schema)
        size_literal(self.file_size_threshold)
        duration_literal(self.snapshot_retention)
        duration_literal(self.orphan_retention)
        if self.min_retention is not None:
            duration_literal(self.min_retention)


DEFAULT_SETTINGS = MaintenanceSettings()


def maintain_schema(
    cursor: Cursor,
    *,
    run_id: str,
    clock: Clock,
    errors: Errors,
    settings: MaintenanceSettings = DEFAULT_SETTINGS,
) -> list[Outcome]:
    """Maintain every user table of the schema, one after the other."""
    place = {"catalog": settings.catalog, "schema": settings.schema}
    try:
        # In this order: the client would warn of parameters if its first statement had some.
        tables = get_user_tables(cursor, **place)
        views = get_views(cursor, **place)
    except errors as error:
        raise CatalogError(
            f"Trino did not list the tables of {settings.catalog}.{settings.schema}: "
            f"{error_sentence(error)}",
            next_step="Check that Trino and its catalog are up and that the schema exists.",
        ) from error
    maintenance = _Maintenance(cursor, run_id, clock, (*errors, NeveError), settings)
    return [
        outcome for table in tables if table not in views for outcome in maintenance.maintain(table)
    ]


def maintain_table(
    cursor: Cursor,
    table: str,
    *,
    run_id: str,
    clock: Clock,
    errors: Errors,
    settings: MaintenanceSettings = DEFAULT_SETTINGS,
) -> list[Outcome]:
    """Compact the table, expire its snapshots, remove its orphan files; one outcome each.

    `errors` are what the cursor's driver raises (see `neve.trino.connect.trino_errors`): they
    fail an operation. Anything else is a defect and is not caught.
    """
    return _Maintenance(cursor, run_id, clock, (*errors, NeveError), settings).maintain(table)


@dataclass(frozen=True, slots=True)
class _Maintenance:
    """What all operations of one run share."""

    cursor: Cursor
    run_id: str
    clock: Clock
    caught: Errors
    settings: MaintenanceSettings

    def maintain(self, table: str) -> list[Outcome]:
        outcomes = []
        for operation, action in self._actions(table):
            outcome = self._attempt(table, operation, action)
            outcomes.append(replace(outcome, log_problem=self._record(outcome)))
        return outcomes

    def _actions(self, table: str) -> list[tuple[Operation, Callable[[], None]]]:
        settings, place = self.settings, self._place()
        optimize = partial(run_optimize, file_size_threshold=settings.file_size_threshold)
        expire = partial(
            run_expire_snapshots,
            retention=settings.snapshot_retention,
            min_retention=settings.min_retention,
        )
        clean_up = partial(
            run_remove_orphan_files,
            retention=settings.orphan_retention,
            min_retention=settings.min_retention,
        )
        return [
            (Operation.OPTIMIZE, partial(optimize, self.cursor, table, **place)),
            (Operation.EXPIRE_SNAPSHOTS, partial(expire, self.cursor, table, **place)),
            (Operation.REMOVE_ORPHAN_FILES, partial(clean_up, self.cursor, table, **place)),
        ]

    def _attempt(self, table: str, operation: Operation, action: Callable[[], None]) -> Outcome:
        executed_at = self.clock()
        before = self._count(table)
        failure = None
        try:
            action()
        except self.caught as error:
            failure = error_sentence(error)
        after = self._count(table)
        return Outcome(
            table=table,
            operation=operation,
            status=Status.COMPLETED if failure is None else Status.FAILED,
            details=failure or describe(operation, before, after),
            before=before,
            after=after,
            executed_at=executed_at,
        )

    def _count(self, table: str) -> Counts:
        """Count snapshots and files; a table that cannot be counted may still be maintained."""
        try:
            return Counts(
                snapshots=get_snapshot_count(self.cursor, table, **self._place()),
                files=get_file_count(self.cursor, table, **self._place()),
            )
        except self.caught:
            return Counts()

    def _record(self, outcome: Outcome) -> str | None:
        """Write the outcome to the log; say what is wrong if that does not work."""
        missing = None
        try:
            run(self.cursor, build_maintenance_log_ddl(**self._place()))
        except self.caught as error:
            # Perhaps another run created it in this very moment: the insert will tell.
            missing = error_sentence(error)
        for pause in LOG_PAUSES_SECONDS:
            try:
                self._insert(outcome)
                return None
            except self.caught as error:
                problem = missing or error_sentence(error)
                if not was_refused(error):
                    return problem
            # Tables that are maintained side by side write to one log.
            time.sleep(random.uniform(0.5, 1.5) * pause)
        return problem

    def _insert(self, outcome: Outcome) -> None:
        statement, parameters = build_maintenance_log_insert(
            outcome.table,
            outcome.operation,
            outcome.status,
            outcome.details,
            outcome.before.snapshots,
            outcome.after.snapshots,
            outcome.before.files,
            outcome.after.files,
            self.run_id,
            outcome.executed_at,
            **self._place(),
        )
        run(self.cursor, statement, parameters)

    def _place(self) -> dict[str, str]:
        return {"catalog": self.settings.catalog, "schema": self.settings.schema}
