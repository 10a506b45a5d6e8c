"""`neve serve`: the API, a worker and a scheduler in one process, or some of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from neve.cli.context import LOGGING, ConfigOption, errors_explained
from neve.cli.output import Format, Output
from neve.neve import Neve
from neve.serve import ALL_ROLES, Role, ServeSettings, run


class RoleChoice(StrEnum):
    """What a process does."""

    ALL = "all"
    API = "api"
    WORKER = "worker"
    SCHEDULER = "scheduler"


def serve(
    role: Annotated[
        list[RoleChoice] | None,
        typer.Option("--role", help="What this process does; may be given several times."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address that the API listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Its port; 0: any.")] = 8080,
    concurrency: Annotated[
        int, typer.Option(min=1, max=64, help="Jobs that the worker runs at the same time.")
    ] = 1,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds that running jobs get to end after a signal.")
    ] = 30.0,
    config: ConfigOption = None,
) -> None:
    """Serve the API, run queued jobs, and submit those of schedules, until SIGTERM or Ctrl-C.

    Running jobs are given time to end, and what takes longer is handed back to the queue.
    """
    out = Output(Format.TEXT)
    chosen = set(role or [RoleChoice.ALL])
    roles = (
        ALL_ROLES if RoleChoice.ALL in chosen else tuple(Role(r) for r in RoleChoice if r in chosen)
    )
    settings = ServeSettings(roles, host, port, concurrency, grace)
    with errors_explained(out), Neve.open(config, log=LOGGING[-1]) as neve:
        run(neve, settings, say=lambda text: typer.echo(text, err=True))
