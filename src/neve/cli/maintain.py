"""`neve maintain`: all operations on many tables, each where its policy asks for it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NoReturn

import typer

from neve.cli.change import VerifyOption, refuse_if_none
from neve.cli.context import (
    EXIT_ERROR,
    EXIT_OK,
    EXIT_WORK_FOUND,
    ConfigOption,
    OutputOption,
    application,
    exit_after,
)
from neve.cli.hand_over import LocalOption, RunIdOption, handing_over
from neve.cli.job import ServerOption
from neve.cli.maintain_server import maintain_at_server
from neve.cli.maintain_views import has_work, render_all, render_turn, totals_of
from neve.cli.output import Format, Output
from neve.cli.places import at_server
from neve.documents import to_document
from neve.model.errors import InputError, NeveError
from neve.model.job import SPARK, TRINO
from neve.model.maintenance import MaintainRequest, TableReport


@dataclass(frozen=True)
class _Turn:
    """What there is to tell of it."""

    engine: str
    reports: Sequence[TableReport]
    seconds: float
    is_dry: bool
    shows_all: bool
    #: None where it cannot be undone as a whole.
    turn_id: str | None = None
    problems: Mapping[str, NeveError] = field(default_factory=dict)


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
    run_id: RunIdOption = "",
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every operation, also those that were skipped.")
    ] = False,
    server: ServerOption = None,
    local: LocalOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Compact, clean deletes and manifests, expire snapshots, sweep orphans: in this order.

    With --dry-run, exit code 2 means that there is work.
    What removes files for good runs only where a policy enables it, or with --apply; with
    `engine: trino`, the configuration is the order to do it. Where a server of the same
    configuration runs on this machine, jobs are handed to it.
    """
    printer, began = Output(output), time.monotonic()
    if server is not None and not local:
        asked = {"dry_run": dry_run, "apply": apply, "only_due": due, "any_time": now}
        with at_server(printer, server) as client:
            if verify is not None:
                raise InputError(
                    "--verify is not for a server: its policies decide.", next_step="Leave it out."
                )
            reports = maintain_at_server(client, printer, patterns or [], asked)
        seconds = time.monotonic() - began
        _tell(printer, _Turn(SPARK, reports, seconds, dry_run, show_all))
    with application(printer, config) as neve:
        # Before any table is asked for.
        MaintainRequest(only_due=due, any_time=now, verify=verify).check(neve.engine)
        found = neve.maintainable(*(patterns or []))
        if neve.engine != TRINO:
            # Trino refuses names of nothing itself, and an empty schema of it is no mistake.
            refuse_if_none(found, patterns or ["*"])
        is_here = local or dry_run or neve.engine == TRINO
        turn_id = None if dry_run or neve.engine == TRINO else str(uuid.uuid4())
        with neve.events(printer.job):
            reports = neve.maintain(
                found.tables,
                dry_run=dry_run,
                apply=apply,
                only_due=due,
                any_time=now,
                verify=verify,
                hand_over=handing_over(neve, printer, local=is_here),
                turn_id=turn_id,
                run_id=run_id,
            )
        engine = neve.engine
    seconds = time.monotonic() - began
    _tell(printer, _Turn(engine, reports, seconds, dry_run, show_all, turn_id, found.problems))


def _tell(printer: Output, turn: _Turn) -> NoReturn:
    reports = turn.reports
    printer.result(
        _document(turn),
        *([lambda: render_all(reports)] if turn.shows_all else []),
        lambda: render_turn(
            reports, turn_id=turn.turn_id, seconds=turn.seconds, is_dry=turn.is_dry
        ),
    )
    code = EXIT_WORK_FOUND if turn.is_dry and any(map(has_work, reports)) else EXIT_OK
    is_good = all(report.is_good for report in reports)
    exit_after(printer, list(turn.problems.values()), code if is_good else EXIT_ERROR)


def _document(turn: _Turn) -> dict[str, Any]:
    """Every table's report, and every catalog whose tables could not be listed."""
    return {
        "engine": turn.engine,
        "turn_id": turn.turn_id,
        "seconds": round(turn.seconds, 3),
        "totals": to_document(totals_of(turn.reports)),
        "tables": [to_document(report) for report in turn.reports],
        "catalog_problems": [
            {"catalog": name, "problem": why.message, "next_step": why.next_step}
            for name, why in turn.problems.items()
        ],
    }
