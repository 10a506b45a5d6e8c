"""`neve job`, `neve cancel`: one job, here or at a server."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.context import EXIT_ERROR, EXIT_OK, ConfigOption, OutputOption
from neve.cli.interrupt import EXIT_INTERRUPTED
from neve.cli.job_views import JobView
from neve.cli.output import Format, Output
from neve.cli.places import follow, job_place
from neve.cli.render import render_outcome, table_of
from neve.cli.short_ids import short
from neve.documents import to_document
from neve.model.job import JobState
from neve.model.sizes import format_size

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="NEVE_SERVER",
        help="Ask a server, e.g. http://localhost:8080; NEVE_API_KEY tells it who asks.",
    ),
]
JobArgument = Annotated[
    str, typer.Argument(help="A job's id as neve jobs lists it, or its beginning.")
]


def job(
    job_id: JobArgument,
    is_followed: Annotated[
        bool, typer.Option("--follow", "-f", help="Tell what it says until its end.")
    ] = False,
    server: ServerOption = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Show one job: where it stands, how far it is, and what came of it.

    With --follow, exit code 1 means that it did not succeed.
    """
    out = Output(output)
    with job_place(out, config, server) as place:
        job_id = place.id_of(job_id)
        found = place.job(job_id)
        if is_followed:
            try:
                found = follow(place, out, job_id)
            except KeyboardInterrupt:
                out.warn(f"Job {job_id} goes on; neve cancel {job_id} ends it.")
                sys.exit(EXIT_INTERRUPTED)
    out.result(to_document(found), lambda: render_job(found))
    is_good = not is_followed or found.state is JobState.SUCCEEDED
    sys.exit(EXIT_OK if is_good else EXIT_ERROR)


def cancel(
    job_id: JobArgument,
    server: ServerOption = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """End a job: one that is queued at once, one that runs at its next boundary."""
    out = Output(output)
    with job_place(out, config, server) as place:
        found = place.cancel(place.id_of(job_id))
    is_cancelled = found.state is JobState.CANCELLED or (
        found.cancel_requested and not found.is_over
    )
    out.result(
        {"job_id": found.job_id, "state": str(found.state), "cancelled": is_cancelled},
        lambda: escape(_cancelled(found, is_cancelled)),
    )
    sys.exit(EXIT_OK if is_cancelled else EXIT_ERROR)


def _cancelled(job: JobView, is_cancelled: bool) -> str:
    if job.state is JobState.CANCELLED:
        return f"Job {job.job_id} is cancelled."
    if is_cancelled:
        return f"Job {job.job_id} is {job.state}; it ends at its next boundary."
    return f"Job {job.job_id} is over already: {job.state}."


def render_job(job: JobView) -> RenderableType:
    """A job in lines, and its outcome once there is one."""
    rows = [(name, value) for name, value in _lines(job) if value]
    lines: list[Any] = [table_of(("job", job.job_id), rows)]
    if job.outcome is not None:
        lines.append(render_outcome(job.outcome))
    return Group(*lines)


def _lines(job: JobView) -> list[tuple[str, str]]:
    progress = job.progress
    done = f"{progress.partitions_completed} of {progress.partitions_total} partitions"
    moved = f"{format_size(progress.bytes_read)} → {format_size(progress.bytes_written)}"
    return [
        ("table", job.table),
        ("operation", job.operation),
        ("state", f"{job.state}{' (to be cancelled)' if _is_ending(job) else ''}"),
        ("asked for", f"{job.created_at:%Y-%m-%d %H:%M:%S}"),
        ("asked by", job.requested_by),
        ("began", f"{job.started_at:%Y-%m-%d %H:%M:%S}" if job.started_at else ""),
        ("attempts", f"{job.attempts} of {job.max_attempts}" if job.attempts else ""),
        ("turn", _turn(job)),
        ("progress", f"{done}, {moved}" if progress.partitions_total else ""),
        ("what happened", job.reason),
    ]


def _turn(job: JobView) -> str:
    if job.turn_id is None:
        return ""
    return f"{short(job.turn_id)}, undo: neve rollback --turn {short(job.turn_id)}"


def _is_ending(job: JobView) -> bool:
    return job.cancel_requested and not job.is_over
