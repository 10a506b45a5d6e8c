"""The `neve` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from neve import __version__
from neve.cli.commands import COMMANDS, PANELS, build
from neve.model.logs import LogFormat, LogSettings

#: What typer raises for options and arguments that it cannot take; it has no public name.
UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """Commands are imported when they are called; usage errors are errors.

    With typer's exit code 2, a typing error would mean work found.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = COMMANDS.get(cmd_name)
        if known is None:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = build(cmd_name, known)
        return self.commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except UsageError as error:
            # Typer itself compares with commands that are imported already: hardly any.
            if near := get_close_matches(args[0], COMMANDS, n=1):
                error.message = f"{error.message} Did you mean {near[0]}?"
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Plain text: rich takes longer to be imported than all of this to be printed."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        for panel in PANELS:
            with formatter.section(panel):
                formatter.write_dl(
                    [(name, k.summary) for name, k in COMMANDS.items() if k.panel == panel]
                )
        with formatter.section("Options, before the command"):
            formatter.write_dl([p.get_help_record(ctx) for p in self.get_params(ctx)])
        formatter.write_paragraph()
        formatter.write_text("neve COMMAND -h shows what a command takes, and an example of it.")

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        self._words = list(sys.argv[1:] if args is None else args)
        return super().main(args, *rest, **options)

    def make_context(self, *args: Any, **options: Any) -> Any:
        try:
            return super().make_context(*args, **options)
        except UsageError as error:
            self._explain(error)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            self._explain(error)

    def _explain(self, error: Any) -> NoReturn:
        from neve.cli.context import EXIT_ERROR, EXIT_OK
        from neve.cli.output import Format, Output
        from neve.model.errors import InputError

        # By its name: it has no public one. Help was printed when it was made.
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.exit(EXIT_OK)
        _audit_usage(self._words, error)
        named = next((word for word in self._words if word in COMMANDS), "")
        command = error.ctx.command_path if error.ctx else f"neve {named}".strip()
        # Typer passes on what the library says that checks values for it.
        message = error.format_message().replace("Value error, ", "")
        refusal = InputError(message, next_step=f"See {command} --help.")
        Output(Format.JSON if _asks_for_json(self._words) else Format.TEXT).error(refusal)
        sys.exit(EXIT_ERROR)


def _audit_usage(words: Sequence[str], error: Any) -> None:
    """What cannot be understood is a refusal like any other, where there is a log of them."""
    from neve.cli.context import LOGGING, audit_refusal
    from neve.model.errors import NeveError
    from neve.neve import Neve

    command = error.ctx.command_path.removeprefix("neve").strip() if error.ctx else ""
    # A configuration that cannot be used has no log; the command was refused either way.
    with suppress(NeveError), Neve.open(_config_of(words), log=LOGGING[-1]) as neve:
        audit_refusal(neve, command or next(iter(words), ""), error.format_message())


def _config_of(words: Sequence[str]) -> str | None:
    """The configuration that was named, whether or not the rest was understood."""
    for word, following in pairwise([*words, ""]):
        if word in ("-c", "--config"):
            return following or None
        for prefix in ("--config=", "-c="):
            if word.startswith(prefix):
                return word.removeprefix(prefix)
    return None


def _asks_for_json(words: Sequence[str]) -> bool:
    apart = any(pair in (("-o", "json"), ("--output", "json")) for pair in pairwise(words))
    return apart or "-ojson" in words or "--output=json" in words


app = typer.Typer(
    cls=Commands,
    name="neve",
    help="Keeps Apache Iceberg tables fast and cheap.",
    invoke_without_command=True,
    suggest_commands=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"neve {__version__}")
        raise typer.Exit


@app.callback()
def neve(
    ctx: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_show_version, is_eager=True
    ),
    verbose: int = typer.Option(
        0, "-v", "--verbose", count=True, help="Log the phases of jobs to stderr; -vv every event."
    ),
    quiet: bool = typer.Option(False, "-q", "--quiet", help="Show no progress."),
    log_format: LogFormat = typer.Option(LogFormat.TEXT, help="How lines of the log are written."),
    log_file: Path | None = typer.Option(None, help="Log the phases of jobs to this file."),
    config: str | None = typer.Option(None, "-c", "--config", help="The configuration file."),
) -> None:
    """Keeps Apache Iceberg tables fast and cheap."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit
    from neve.cli.context import COMMAND, LOGGING
    from neve.cli.output import Output

    Output.is_quiet = quiet
    COMMAND[:] = [ctx.invoked_subcommand]
    LOGGING[:] = [LogSettings(verbose, log_format, log_file)]


def run() -> None:
    """What the installed command of an earlier version calls."""
    from neve.cli.start import run as start

    start()
