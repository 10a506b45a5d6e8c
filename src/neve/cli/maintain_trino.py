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
from neve.trino.selection import Place, select_tables


def maintain_by_trino(
    settings: TrinoSettings, patterns: Sequence[str], *, dry_run: bool, printer: Output
) -> bool:
    """Maintain the tables and print what happened; False if something failed."""
    errors = trino_errors()
    with closing(_connect(settings)) as connection:
        cursor = connection.cursor()
        places = select_tables(cursor, patterns, _maintenance(settings), errors)
        if dry_run:
            _show_counts(cursor, places, printer)
            return True
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


def _show_counts(cursor: Any, places: Sequence[Place], printer: Output) -> None:
    """Trino has no dry run of its own, so what there is stands for what would be looked at."""
    found = []
    for place in places:
        where = {"catalog": place.settings.catalog, "schema": place.settings.schema}
        counts = Counts(
            snapshots=get_snapshot_count(cursor, place.table, **where),
            files=get_file_count(cursor, place.table, **where),
        )
        found.append((place, counts))
    printer.result(
        {"engine": "trino", "tables": [{"table": str(p), **asdict(c)} for p, c in found]},
        lambda: table_of(
            ("table", "snapshots", "files"),
            [(str(p), str(c.snapshots), str(c.files)) for p, c in found],
        ),
    )


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
