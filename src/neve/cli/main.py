"""The `neve` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from neve import __version__
from neve.cli import (
    audit,
    change,
    consumers,
    demo,
    doctor,
    expire,
    job,
    jobs,
    keys,
    look,
    maintain,
    orphans,
    policy,
    serve,
    snapshots,
    upkeep,
)
from neve.cli.context import COMMAND, EXIT_ERROR, LOGGING
from neve.cli.output import Format, Output
from neve.model.errors import InputError
from neve.model.logs import LogFormat, LogSettings

#: What typer raises for options and arguments that it cannot take; it has no public name.
UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """Usage errors are errors: with typer's exit code 2, a typing error would mean work found."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        self._words = list(sys.argv[1:] if args is None else args)
        return super().main(args, *rest, **options)

    def make_context(self, *args: Any, **options: Any) -> Any:
        try:
            return super().make_context(*args, **options)
        except UsageError as error:
            self._explain(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            self._explain(error)
            raise

    def _explain(self, error: Any) -> None:
        error.exit_code = EXIT_ERROR
        if _asks_for_json(self._words):
            command = error.ctx.command_path if error.ctx else "neve"
            refusal = InputError(error.format_message(), next_step=f"See {command} --help.")
            Output(Format.JSON).error(refusal)
            sys.exit(EXIT_ERROR)


def _asks_for_json(words: Sequence[str]) -> bool:
    apart = any(pair in (("-o", "json"), ("--output", "json")) for pair in pairwise(words))
    return apart or "-ojson" in words or "--output=json" in words


app = typer.Typer(
    cls=Commands,
    name="neve",
    help="Keeps Apache Iceberg tables fast and cheap.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"neve {__version__}")
        raise typer.Exit


@app.callback()
def neve(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_show_version, is_eager=True
    ),
    verbose: int = typer.Option(
        0, "-v", "--verbose", count=True, help="Log the phases of jobs to stderr; -vv every event."
    ),
    quiet: bool = typer.Option(False, "-q", "--quiet", help="Show no progress."),
    log_format: LogFormat = typer.Option(LogFormat.TEXT, help="How lines of the log are written."),
    log_file: Path | None = typer.Option(None, help="Log the phases of jobs to this file."),
) -> None:
    """Keeps Apache Iceberg tables fast and cheap."""
    Output.is_quiet = quiet
    COMMAND[:] = [context.invoked_subcommand or ""]
    LOGGING[:] = [LogSettings(verbose, log_format, log_file)]


app.command("tables")(look.tables)
app.command("health")(look.health)
app.command("history")(look.history)
app.command("jobs")(jobs.jobs)
app.command("job")(job.job)
app.command("cancel")(job.cancel)
app.command("plan")(change.plan)
app.command("apply")(change.apply)
app.command("compact")(change.compact)
app.command("rollback")(change.rollback)
app.command("snapshots")(snapshots.snapshots)
app.command("expire")(expire.expire)
app.add_typer(consumers.consumers_app, name="consumers")
app.command("orphans")(orphans.orphans)
app.command("manifests")(upkeep.manifests)
app.command("deletes")(upkeep.deletes)
app.command("stats")(upkeep.stats)
app.command("maintain")(maintain.maintain)
app.add_typer(policy.policy_app, name="policy")
app.command("serve")(serve.serve)
app.add_typer(keys.keys_app, name="keys")
app.add_typer(audit.audit_app, name="audit")
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)


def run() -> None:
    """Entry point of the installed command."""
    app()
