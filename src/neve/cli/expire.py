"""`neve expire`: old snapshots go, and the files that only they reached."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from neve.cli.context import (
    EXIT_ERROR,
    EXIT_OK,
    ConfigOption,
    OutputOption,
    TableArgument,
    application,
)
from neve.cli.output import Format, Output
from neve.cli.render import render_outcome
from neve.cli.render_expiry import render_expiry
from neve.documents import to_document
from neve.model.expiry import MAX_KEPT
from neve.model.job import Trigger
from neve.model.operation import Operation


def expire(
    table: TableArgument,
    apply: Annotated[
        bool, typer.Option("--apply", help="Expire them; without it, only look.")
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", help="Younger snapshots stay, e.g. 36h; 7d by default."),
    ] = None,
    retain_last: Annotated[
        int | None,
        typer.Option("--retain-last", min=1, help="So many of the last of every branch stay."),
    ] = None,
    keep_hourly: Annotated[
        int | None,
        typer.Option(
            min=0, max=MAX_KEPT, help="Keep the last snapshot of each of this many hours."
        ),
    ] = None,
    keep_daily: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_KEPT, help="Keep the last snapshot of each of this many days."),
    ] = None,
    keep_weekly: Annotated[
        int | None,
        typer.Option(
            min=0, max=MAX_KEPT, help="Keep the last snapshot of each of this many weeks."
        ),
    ] = None,
    keep_monthly: Annotated[
        int | None,
        typer.Option(
            min=0, max=MAX_KEPT, help="Keep the last snapshot of each of this many months."
        ),
    ] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Say which snapshots would go, what they free and what is lost; with --apply, let them go."""
    printer = Output(output)
    with application(printer, config) as neve:
        flags = {
            "older_than": older_than,
            "retain_last": retain_last,
            "keep.hourly": keep_hourly,
            "keep.daily": keep_daily,
            "keep.weekly": keep_weekly,
            "keep.monthly": keep_monthly,
        }
        overrides = {
            f"expire_snapshots.{key}": value for key, value in flags.items() if value is not None
        }
        ref = neve.table(table)
        if apply:
            outcome = neve.run(
                ref, Operation.EXPIRE_SNAPSHOTS, overrides=overrides, trigger=Trigger.CLI
            )
        else:
            step, reason = neve.expiry(ref, overrides)
            # Only people are shown short ids.
            known = neve.outline(ref).snapshots if output is Format.TEXT else ()
    if apply:
        printer.result(to_document(outcome), lambda: render_outcome(outcome))
        sys.exit(EXIT_OK if outcome.status.is_good else EXIT_ERROR)
    document = {
        "table": str(ref),
        "reason": reason,
        "freed_bytes": step.freed_bytes,
        **to_document(step),
    }
    printer.result(document, lambda: render_expiry(ref, step, reason, known))
