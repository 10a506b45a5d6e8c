"""`neve jobs`: what runs, what has run, and what was left behind, which is settled first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from neve.app import App
from neve.cli.context import EXIT_OK, ConfigOption, OutputOption, application, exit_after
from neve.cli.output import Format, Output
from neve.cli.render import table_of
from neve.model.durations import format_duration
from neve.model.errors import CatalogError, EngineNeeded, NeveError, TableNotFound, TableUnreadable
from neve.model.job import Job
from neve.model.table import TableRef
from neve.service.ports import Engine
from neve.service.recover import settle_left_behind

#: Jobs that are looked through where a glob selects some of them.
MAX_JOBS = 1_000_000


def jobs(
    pattern: Annotated[
        str, typer.Argument(help="Only jobs of this table, or of those that a glob is for.")
    ] = "*",
    running: Annotated[
        bool, typer.Option("--running", help="Only jobs that have not come to an end.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs.")] = 50,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """List jobs, newest first; those that were left without an end get one, if the table tells.

    No engine is started: a job that only Spark can judge says so.
    """
    out = Output(output)
    with application(out, config) as app:
        left = _settle(app, pattern)
        now = app.maintenance.clock()
        lost = {job.job_id for job in app.store.unfinished()}
        found = [
            job
            for job in app.store.jobs(limit=limit if pattern == "*" and not running else MAX_JOBS)
            if _is_for(app, job.table, pattern) and not (running and job.state.is_final)
        ][:limit]
    documents = [_document(job, left.get(job.job_id), lost, now) for job in found]
    out.result(documents, lambda: _render(documents))
    # What Spark is needed for is no problem; a table that cannot be read is one, and is told once.
    said = {why.message: why for why in left.values() if not isinstance(why, EngineNeeded)}
    exit_after(out, list(said.values()), EXIT_OK)


def _is_for(app: App, table: TableRef, pattern: str) -> bool:
    return pattern in ("*", str(table)) or app.catalogs.matches(table, pattern)


def _settle(app: App, pattern: str) -> dict[str, NeveError]:
    """Settle what was left behind, table by table; returns jobs that stay, with the reason."""

    def no_engine() -> Engine:
        raise EngineNeeded("Its rows can be compared by Spark alone")

    services = replace(app.maintenance, make_engine=no_engine)
    lost = [job for job in app.store.unfinished() if _is_for(app, job.table, pattern)]
    left: dict[str, NeveError] = {}
    down: dict[str, NeveError] = {
        name: CatalogError(f"Catalog {name} is not configured any more.")
        for name in {job.table.catalog for job in lost} - set(app.catalogs.names)
    }
    for table in dict.fromkeys(job.table for job in lost):
        if table.catalog in down:
            # It is waited for once, and not for each of its tables.
            left |= {job.job_id: down[table.catalog] for job in lost if job.table == table}
            continue
        for job, why in settle_left_behind(services, table):
            left[job.job_id] = why
            if isinstance(why, CatalogError) and not isinstance(
                why, TableNotFound | TableUnreadable
            ):
                down[table.catalog] = why
    return left


def _document(
    job: Job, why: NeveError | None, lost: Collection[str], now: datetime
) -> dict[str, Any]:
    reason = job.reason
    if isinstance(why, EngineNeeded):
        reason = f"{reason} {why.message}: neve compact {job.table}".strip()
    elif why is not None:
        reason = f"{reason} It cannot be settled now: {why.message}".strip()
    return {
        "job_id": job.job_id,
        "table": str(job.table),
        "operation": job.operation,
        "state": str(job.state),
        "running": not job.state.is_final and job.job_id not in lost,
        "started_at": job.created_at.isoformat(),
        "age_seconds": round((now - job.created_at).total_seconds(), 3),
        "reason": reason,
    }


def _render(documents: Sequence[dict[str, Any]]) -> RenderableType:
    if not documents:
        return "No jobs."
    rows = [
        (
            item["job_id"],
            item["table"],
            item["operation"],
            item["state"] + (" (running)" if item["running"] else ""),
            item["started_at"][:19].replace("T", " "),
            format_duration(int(item["age_seconds"])),
            item["reason"],
        )
        for item in documents
    ]
    headers = ("job", "table", "operation", "state", "started", "age", "what happened")
    return table_of(headers, rows)
