"""`neve serve`: the API, a worker and a scheduler in one process, or some of them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from neve.cli.context import LOGGING, ConfigOption, errors_explained
from neve.cli.output import Format, Output

if TYPE_CHECKING:
    from neve.serve import Role


class RoleChoice(StrEnum):
    """What a process does."""

    ALL = "all"
    API = "api"
    WORKER = "worker"
    SCHEDULER = "scheduler"


def serve(
    role: Annotated[
        list[RoleChoice] | None,
        # All of them as a choice are longer than a line has room for.
        typer.Option(
            "--role",
            metavar="<role>",
            help=f"What this process does; may be given several times: {', '.join(RoleChoice)}.",
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="The address that the API listens on (127.0.0.1).")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Its port (8080); 0: any.")
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Jobs that the worker runs at the same time (1)."),
    ] = None,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds that running jobs get to end after a signal.")
    ] = 30.0,
    config: ConfigOption = None,
) -> None:
    """Serve the API, run queued jobs, and submit those of schedules, until SIGTERM or Ctrl-C.

    Options that are not given are as the configuration says. Running jobs are given time to end,
    and what takes longer is handed back to the queue.
    """
    from neve.neve import Neve
    from neve.serve import ServeSettings, run

    out = Output(Format.TEXT)
    with errors_explained(out), Neve.open(config, log=LOGGING[-1]) as neve:
        defaults = neve.serve_defaults()
        settings = ServeSettings(
            _roles(role, is_scheduling=defaults.is_scheduling),
            defaults.host if host is None else host,
            defaults.port if port is None else port,
            defaults.concurrency if concurrency is None else concurrency,
            grace,
        )
        run(neve, settings, say=lambda text: typer.echo(text, err=True))


def _roles(chosen: list[RoleChoice] | None, *, is_scheduling: bool) -> tuple[Role, ...]:
    """Those that were named, or all that the configuration leaves on."""
    from neve.serve import ALL_ROLES, Role

    if not chosen:
        return tuple(r for r in ALL_ROLES if is_scheduling or r is not Role.SCHEDULER)
    if RoleChoice.ALL in chosen:
        return ALL_ROLES
    return tuple(Role(r) for r in RoleChoice if r in chosen)
