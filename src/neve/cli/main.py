"""The `neve` command."""

from __future__ import annotations

import typer

from neve import __version__
from neve.cli import change, demo, doctor, look

app = typer.Typer(
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
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Keeps Apache Iceberg tables fast and cheap."""


app.command("tables")(look.tables)
app.command("health")(look.health)
app.command("history")(look.history)
app.command("plan")(change.plan)
app.command("apply")(change.apply)
app.command("compact")(change.compact)
app.command("rollback")(change.rollback)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)


def run() -> None:
    """Entry point of the installed command."""
    app()
