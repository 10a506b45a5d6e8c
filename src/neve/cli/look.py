"""Commands that only look: tables, health, history. None of them starts a JVM."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from neve.cli.context import (
    EXIT_OK,
    ConfigOption,
    OutputOption,
    application,
    exit_after,
    one_by_one,
)
from neve.cli.output import Format, Output
from neve.cli.render import (
    render_advice,
    render_health,
    render_healths,
    render_jobs,
    render_tables,
)
from neve.documents import to_document
from neve.model.errors import InputError, StoreError
from neve.model.facts import TableFacts

if TYPE_CHECKING:
    from neve.neve import Neve


def tables(
    pattern: Annotated[str, typer.Argument(help="A glob such as 'lake.demo.*'.")] = "*",
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """List tables with their size."""
    out = Output(output)
    with application(out, config) as neve:
        found = neve.find(pattern)
        surveyed, problems = one_by_one(
            found.tables,
            neve.survey,
            found.problems.values(),
        )
        facts = [(item, neve.live_records(item)) for item in surveyed]
    listing = partial(render_tables, facts) if facts else _none(pattern)
    out.result([_table_document(*item) for item in facts], listing)
    exit_after(out, problems, EXIT_OK)


def _none(pattern: str) -> str:
    """Instead of a listing without a row, which looks like a defect."""
    return "No tables." if pattern == "*" else escape(f"No table matches {pattern}.")


def _table_document(facts: TableFacts, live: int | None) -> dict[str, Any]:
    return {
        "table": str(facts.table),
        "format_version": facts.format_version,
        "snapshot_id": facts.snapshot_id,
        "data_files": len(facts.data_files),
        "delete_files": len(facts.delete_files),
        "total_bytes": facts.total_bytes,
        "records": facts.total_records,
        "live_records": live,
        "snapshots": len(facts.snapshots),
        "refs": [to_document(ref) for ref in facts.refs],
    }


def health(
    table: Annotated[str, typer.Argument(help="A table, or a glob such as 'lake.demo.*'.")],
    advice: Annotated[
        bool,
        typer.Option("--advice", help="Say what to change about partitions, writers, metadata."),
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Also write it to _health_history beside the table.")
    ] = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Say how well a table is, and why; with a glob, all that match, the worst first."""
    out = Output(output)
    if advice:
        _advise(out, config, table)
        return
    with application(out, config) as neve:
        found = neve.find(table)
        judge = partial(neve.health, with_set_policies=_has_state(neve, out))
        judged, problems = one_by_one(found.tables, judge, found.problems.values())
        for history in neve.record_health(judged) if record else ():
            out.tell(f"Recorded in {history}.")
    if found.is_named:
        out.result(to_document(judged[0]), lambda: render_health(judged[0]))
        return
    judged.sort(key=lambda item: (-item.gain.seconds, item.score, item.table))
    listing = partial(render_healths, judged) if judged else _none(table)
    out.result([to_document(item) for item in judged], listing)
    exit_after(out, problems, EXIT_OK)


def _advise(out: Output, config: str | None, table: str) -> None:
    with application(out, config) as neve:
        if not neve.find(table).is_named:
            raise InputError("Advice is about one table.", next_step="Name it without a glob.")
        found = neve.advice(table)
    out.result([to_document(item) for item in found], lambda: render_advice(found))


def _has_state(neve: Neve, out: Output) -> bool:
    """Whether the state answers; asked once, since a server that is away is waited for."""
    try:
        neve.stored_policies()
    except StoreError as error:
        out.warn(f"{error.message} Policies that were set through the API do not count here.")
        return False
    return True


def history(
    table: Annotated[str | None, typer.Argument(help="Only jobs of this table.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs.")] = 20,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """List what was done, newest first."""
    out = Output(output)
    with application(out, config) as neve:
        jobs = neve.history(table, limit)
    out.result([_job_document(to_document(job)) for job in jobs], lambda: render_jobs(jobs))


def _job_document(job: dict[str, Any]) -> dict[str, Any]:
    """The outcome is stored as text; a reader wants it as a document."""
    return {**job, "outcome": json.loads(job["outcome"]) if job["outcome"] else None}
