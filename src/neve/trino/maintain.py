"""Maintain one table or all tables of a schema over a cursor: compact, expire, clean up, log.

This is for programs that have a cursor and keep no state; `neve maintain` runs the same operations
as jobs. Each operation stands alone: what fails is recorded and the next one runs. Trouble with
the log is said, and never changes what is said about an operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neve.model.errors import NeveError
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.trino.cursor import Cursor, Errors
from neve.trino.maintenance_log import TrinoLog
from neve.trino.procedures import Clock, TrinoProcedures
from neve.trino.selection import listing, user_tables
from neve.trino.settings import DEFAULT_SETTINGS, MaintenanceSettings


def maintain_schema(
    cursor: Cursor,
    *,
    run_id: str,
    clock: Clock,
    errors: Errors,
    settings: MaintenanceSettings = DEFAULT_SETTINGS,
) -> list[Outcome]:
    """Maintain every user table of the schema, one after the other."""
    with listing(settings.catalog, settings.schema, errors):
        tables = user_tables(cursor, settings.catalog, settings.schema)
    return _maintain(TrinoProcedures(cursor, errors, settings), tables, run_id, clock)


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
    procedures = TrinoProcedures(cursor, errors, settings)
    ref = TableRef(settings.catalog, (settings.schema,), table)
    return _maintain(procedures, [ref], run_id, clock)


def _maintain(
    procedures: TrinoProcedures, tables: Sequence[TableRef], run_id: str, clock: Clock
) -> list[Outcome]:
    log = TrinoLog(procedures.cursor, procedures.errors)
    return [
        _logged(log, replace(procedures.run(table, operation, run_id, clock), run_id=run_id))
        for table in tables
        for operation in procedures.operations
    ]


def _logged(log: TrinoLog, outcome: Outcome) -> Outcome:
    try:
        log.write([outcome])
    except NeveError as error:
        return replace(
            outcome, reason=f"{outcome.reason} The maintenance log was not written: {error.message}"
        )
    return outcome
