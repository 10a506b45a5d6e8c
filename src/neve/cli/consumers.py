"""`neve consumers`: who still reads old snapshots, so that expiry waits for them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from neve.cli.context import (
    ConfigOption,
    OutputOption,
    TableArgument,
    application,
)
from neve.cli.output import Format, Output
from neve.cli.render_expiry import render_consumers
from neve.cli.short_ids import snapshot_of
from neve.cli.timestamps import parse_moment
from neve.documents import to_document
from neve.model.durations import parse_duration
from neve.model.errors import InputError

consumers_app = typer.Typer(
    help="List readers of old snapshots that expiry waits for; add and remove them.",
    invoke_without_command=True,
)
NameArgument = Annotated[str, typer.Argument(help="The consumer's name.")]


@consumers_app.callback()
def consumers(
    context: typer.Context,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """List consumers, with where they read from and until when they count."""
    if context.invoked_subcommand is None:
        printer = Output(output)
        with application(printer, config) as neve:
            found = neve.consumers()
        printer.result([to_document(item) for item in found], lambda: render_consumers(found))


@consumers_app.command("add")
def add(
    name: NameArgument,
    table: TableArgument,
    snapshot: Annotated[
        str | None,
        typer.Option(help="It has read up to this snapshot, by its id or how that begins."),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="It has read up to this moment (ISO 8601, UTC).")
    ] = None,
    lease: Annotated[
        str, typer.Option(help="How long expiry waits for it, unless renewed.")
    ] = "7d",
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Register a consumer, or move it on and renew its lease."""
    printer = Output(output)
    with application(printer, config) as neve:
        if (snapshot is None) == (at is None):
            raise InputError(
                "Say where the consumer reads from, in one way.",
                next_step="Give one of --snapshot ID or --at TS.",
            )
        if not (name.strip() and name.isprintable()):
            raise InputError(
                "A consumer needs a name of printable characters.",
                next_step="Give the name of the job that reads.",
            )
        seconds = parse_duration(lease)
        moment = parse_moment(at) if at is not None else None
        read_to = snapshot_of(neve.outline(table), snapshot) if snapshot is not None else None
        found = neve.add_consumer(
            name, table, snapshot_id=read_to, at=moment, lease_seconds=seconds
        )
    printer.result(to_document(found), lambda: render_consumers([found]))


@consumers_app.command("remove")
def remove(
    name: NameArgument,
    table: TableArgument,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Forget a consumer: expiry no longer waits for it."""
    printer = Output(output)
    with application(printer, config) as neve:
        ref = neve.table(table)
        if not neve.remove_consumer(name, ref):
            raise InputError(
                f"No consumer named {name!r} reads table {ref}.",
                next_step="List them: neve consumers",
            )
    document = {"name": name, "table": str(ref), "removed": True}
    printer.result(document, escape(f"Consumer {name} of {ref} is forgotten."))
