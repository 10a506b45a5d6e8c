"""`neve maintain` where the configuration says `engine: trino`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from neve.app import utc_now
from neve.cli.output import Output
from neve.cli.render import table_of
from neve.model.errors import InputError
from neve.settings import TrinoSettings
from neve.trino import (
    Counts,
    MaintenanceSettings,
    Outcome,
    Status,
    get_file_count,
    get_snapshot_count,
    maintain_table,
)
from neve.trino.connect import connect, trino_errors
from neve.trino.maintain import Errors
from neve.trino.selection import Place, select_tables
from neve.trino.sentences import error_sentence


def maintain_by_trino(
    settings: TrinoSettings, patterns: Sequence[str], *, dry_run: bool, printer: Output
) -> bool:
    """Maintain the tables and print what happened; False if something failed."""
    errors = trino_errors()
    with closing(_connect(settings)) as connection:
        cursor = connection.cursor()
        places = select_tables(cursor, patterns, _maintenance(settings), errors)
        if patterns and not places:
            raise InputError(
                f"No table in Trino matches {' '.join(patterns)}.",
                next_step="Check the spelling, and trino.catalog and trino.schema in neve.yaml.",
            )
        if dry_run:
            return _show_counts(cursor, places, errors, printer)
        run_id = str(uuid.uuid4())
        outcomes: list[tuple[Place, Outcome]] = []
        for done, place in enumerate(places):
            printer(f"Maintaining {place} …")
            printer.progress(done, len(places))
            outcomes += [
                (place, outcome)
                for outcome in maintain_table(
                    cursor,
                    place.table,
                    run_id=run_id,
                    clock=utc_now,
                    errors=errors,
                    settings=place.settings,
                )
            ]
    printer.result(
        {"run_id": run_id, "engine": "trino", "outcomes": [_document(*item) for item in outcomes]},
        lambda: _render(outcomes),
    )
    return all(outcome.status is Status.COMPLETED for _, outcome in outcomes)


def _connect(settings: TrinoSettings) -> Any:
    return connect(
        host=settings.host,
        port=settings.port,
        user=settings.user,
        password=settings.password,
        http_scheme=settings.http_scheme,
        catalog=settings.catalog,
        schema=settings.schema_name,
        session_properties={"query_max_run_time": settings.query_max_run_time},
    )


def _maintenance(settings: TrinoSettings) -> MaintenanceSettings:
    return MaintenanceSettings(
        catalog=settings.catalog,
        schema=settings.schema_name,
        file_size_threshold=settings.file_size_threshold,
        snapshot_retention=settings.snapshot_retention,
        orphan_retention=settings.orphan_retention,
        min_retention=settings.min_retention,
    )


def _show_counts(cursor: Any, places: Sequence[Place], errors: Errors, printer: Output) -> bool:
    """Trino has no dry run of its own, so what there is stands for what would be looked at."""
    found = [_counted(cursor, place, errors) for place in places]
    printer.result(
        {"engine": "trino", "tables": found},
        lambda: table_of(
            ("table", "snapshots", "files", "problem"),
            [tuple("" if value is None else str(value) for value in row.values()) for row in found],
        ),
    )
    return not any(row["problem"] for row in found)


def _counted(cursor: Any, place: Place, errors: Errors) -> dict[str, Any]:
    where = {"catalog": place.settings.catalog, "schema": place.settings.schema}
    counts, problem = Counts(), None
    try:
        counts = Counts(
            snapshots=get_snapshot_count(cursor, place.table, **where),
            files=get_file_count(cursor, place.table, **where),
        )
    except errors as error:
        # Its own problem: the other tables are looked at.
        problem = error_sentence(error)
    return {"table": str(place), **asdict(counts), "problem": problem}


def _document(place: Place, outcome: Outcome) -> dict[str, Any]:
    return {
        "table": str(place),
        "operation": str(outcome.operation),
        "status": str(outcome.status),
        "details": outcome.details,
        "snapshots_before": outcome.before.snapshots,
        "snapshots_after": outcome.after.snapshots,
        "files_before": outcome.before.files,
        "files_after": outcome.after.files,
        "executed_at": outcome.executed_at.isoformat(),
        "log_problem": outcome.log_problem,
    }


def _render(outcomes: Sequence[tuple[Place, Outcome]]) -> RenderableType:
    rows = [
        (
            str(place),
            str(outcome.operation),
            str(outcome.status),
            outcome.details
            + (f" (not logged: {outcome.log_problem})" if outcome.log_problem else ""),
        )
        for place, outcome in outcomes
    ]
    return table_of(("table", "operation", "status", "what happened"), rows)
