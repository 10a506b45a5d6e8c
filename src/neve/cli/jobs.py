"""`neve jobs`: what runs, what has run, and what was left behind, which is settled first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from neve.cli.context import EXIT_OK, ConfigOption, OutputOption, application, exit_after
from neve.cli.job import ServerOption
from neve.cli.job_views import JobView
from neve.cli.output import Format, Output
from neve.cli.places import job_place
from neve.cli.render import table_of
from neve.cli.short_ids import shortened
from neve.model.durations import format_duration
from neve.model.job import Job, JobReport, JobState

#: Jobs of a server that are looked through for a table.
MAX_JOBS = 10_000
NOT_AT_WORK = (
    JobState.QUEUED,
    JobState.UNKNOWN,
    JobState.SUCCEEDED,
    JobState.FAILED,
    JobState.CANCELLED,
)


def jobs(
    pattern: Annotated[
        str, typer.Argument(help="Only jobs of this table, or of those that a glob is for.")
    ] = "*",
    running: Annotated[
        bool, typer.Option("--running", help="Only jobs that have not come to an end.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs.")] = 50,
    server: ServerOption = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """List jobs, newest first; those that were left without an end get one, if the table tells.

    No engine is started: a job that only Spark can judge says so.
    """
    out = Output(output)
    if server is not None:
        _of_server(out, server, pattern, running, limit)
        return
    with application(out, config) as neve:
        found, now = neve.jobs(pattern, running=running, limit=limit), neve.now()
    documents = [_document(report, now) for report in found]
    out.result(documents, lambda: _render(documents))
    # What Spark is needed for is no problem; a table that cannot be read is one, and is told once.
    told = {
        report.problem.message: report.problem
        for report in found
        if report.problem and not report.needs_engine
    }
    exit_after(out, list(told.values()), EXIT_OK)


def _of_server(out: Output, server: str, pattern: str, running: bool, limit: int) -> None:
    """What a server tells; it settles by itself what was left behind."""
    with job_place(out, None, server) as place:
        found = place.jobs(limit if pattern == "*" else MAX_JOBS, running=running)
    now = datetime.now(tz=UTC)
    chosen = [job for job in found if fnmatchcase(job.table, pattern)][:limit]
    documents = [_shown(job, job.state not in NOT_AT_WORK, job.reason, now) for job in chosen]
    out.result(documents, lambda: _render(documents))


def _document(report: JobReport, now: datetime) -> dict[str, Any]:
    job, reason, why = report.job, report.job.reason, report.problem
    if why is not None and report.needs_engine:
        reason = f"{reason} {why.message}: neve compact {job.table.typed}".strip()
    elif why is not None:
        reason = f"{reason} It cannot be settled now: {why.message}".strip()
    return _shown(job, report.is_running, reason, now)


def _shown(job: Job | JobView, is_running: bool, reason: str, now: datetime) -> dict[str, Any]:
    return {
        "job_id": job.job_id,
        "table": str(job.table),
        "operation": job.operation,
        "state": str(job.state),
        "running": is_running,
        "started_at": job.created_at.isoformat(),
        "age_seconds": round((now - job.created_at).total_seconds(), 3),
        "reason": reason,
    }


def _render(documents: Sequence[dict[str, Any]]) -> RenderableType:
    if not documents:
        return "No jobs."
    names = shortened(item["job_id"] for item in documents)
    rows = [
        (
            names[item["job_id"]],
            item["table"],
            item["operation"],
            item["state"] + (" (running)" if item["running"] else ""),
            item["started_at"][:16].replace("T", " "),
            format_duration(int(item["age_seconds"])),
            item["reason"],
        )
        for item in documents
    ]
    headers = ("job", "table", "operation", "state", "started", "age", "what happened")
    return table_of(headers, rows)
