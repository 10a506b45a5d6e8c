"""`neve maintain`: all operations on many tables, each where its policy asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.change import VerifyOption, refuse_if_none
from neve.cli.context import (
    EXIT_ERROR,
    EXIT_OK,
    ConfigOption,
    OutputOption,
    application,
    exit_after,
)
from neve.cli.hand_over import LocalOption, handing_over
from neve.cli.job import ServerOption
from neve.cli.maintain_server import maintain_at_server
from neve.cli.output import Format, Output
from neve.cli.places import at_server
from neve.cli.render import table_of
from neve.documents import to_document
from neve.model.errors import InputError, NeveError
from neve.model.job import SPARK, TRINO
from neve.model.maintenance import MaintainRequest, TableReport


def maintain(
    patterns: Annotated[
        list[str] | None, typer.Argument(help="Tables or globs; all tables without any.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done.")
    ] = False,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Expire and sweep also where no policy says whether to."),
    ] = False,
    due: Annotated[
        bool, typer.Option("--due", help="Only tables whose schedule has come.")
    ] = False,
    now: Annotated[bool, typer.Option("--now", help="Also tables whose window is closed.")] = False,
    verify: VerifyOption = None,
    server: ServerOption = None,
    local: LocalOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Compact, clean deletes and manifests, expire snapshots, sweep orphans: in this order.

    What removes files for good runs only where a policy enables it, or with --apply; with
    `engine: trino`, the configuration is the order to do it. Where a server of the same
    configuration runs on this machine, jobs are handed to it.
    """
    printer = Output(output)
    if server is not None and not local:
        asked = {"dry_run": dry_run, "apply": apply, "only_due": due, "any_time": now}
        with at_server(printer, server) as client:
            if verify is not None:
                raise InputError(
                    "--verify is not for a server: its policies decide.", next_step="Leave it out."
                )
            reports = maintain_at_server(client, printer, patterns or [], asked)
        _tell(printer, SPARK, reports, {})
    with application(printer, config) as neve:
        # Before any table is asked for.
        MaintainRequest(only_due=due, any_time=now, verify=verify).check(neve.engine)
        found = neve.maintainable(*(patterns or []))
        if neve.engine != TRINO:
            # Trino refuses names of nothing itself, and an empty schema of it is no mistake.
            refuse_if_none(found, patterns or ["*"])
        is_here = local or dry_run or neve.engine == TRINO
        with neve.events(printer.job):
            reports = neve.maintain(
                found.tables,
                dry_run=dry_run,
                apply=apply,
                only_due=due,
                any_time=now,
                verify=verify,
                hand_over=handing_over(neve, printer, local=is_here),
            )
        engine = neve.engine
    _tell(printer, engine, reports, found.problems)


def _tell(
    printer: Output,
    engine: str,
    reports: Sequence[TableReport],
    problems: Mapping[str, NeveError],
) -> NoReturn:
    printer.result(_document(engine, reports, problems), lambda: _render(reports))
    is_good = all(report.is_good for report in reports)
    exit_after(printer, list(problems.values()), EXIT_OK if is_good else EXIT_ERROR)


def _document(
    engine: str, reports: Sequence[TableReport], problems: Mapping[str, NeveError]
) -> dict[str, Any]:
    """Every table's report, and every catalog whose tables could not be listed."""
    return {
        "engine": engine,
        "tables": [to_document(report) for report in reports],
        "catalog_problems": [
            {"catalog": name, "problem": why.message, "next_step": why.next_step}
            for name, why in problems.items()
        ],
    }


def _render(reports: Sequence[TableReport]) -> RenderableType:
    lines: list[RenderableType] = []
    for report in reports:
        lines.append(f"[bold]{escape(str(report.table))}[/]")
        if report.skipped:
            lines.append(f"  [dim]{escape(report.skipped)}[/]")
        if report.problem:
            next_step = f" → {report.next_step}" if report.next_step else ""
            lines.append(f"  [red]{escape(report.problem + next_step)}[/]")
        if report.operations:
            rows = [(f"  {r.operation}", str(r.status), r.reason) for r in report.operations]
            lines.append(table_of(("  operation", "status", "what happened"), rows))
        if report.log_problem:
            lines.append(f"  [yellow]not logged: {escape(report.log_problem)}[/]")
    return Group(*lines)
