"""What every command has: its options, its output, and the application behind it."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

from neve.cli.interrupt import finish_interrupted, interruptible
from neve.cli.interrupted_jobs import NOTHING
from neve.cli.output import Format, Output
from neve.model.errors import Interrupted, NeveError, TableNotFound
from neve.model.logs import LogSettings
from neve.model.table import TableRef, quote_part

if TYPE_CHECKING:
    from neve.neve import Neve

#: What the options before the command said about the log, and which command it is.
LOGGING = [LogSettings()]
COMMAND = [""]
EXIT_OK, EXIT_ERROR, EXIT_WORK_FOUND = 0, 1, 2
#: How much alike two names must be, catalog and namespace included, for one to be a slip.
NEAR = 0.75

OutputOption = Annotated[
    Format, typer.Option("--output", "-o", help="text for people, json for programs.")
]


def _config(ctx: typer.Context, value: str | None) -> str | None:
    """What stands after the command, then what stands before it, then the environment."""
    source = ctx.get_parameter_source("config")
    if source is not None and source.name == "COMMANDLINE":
        return value
    before: str | None = ctx.find_root().params.get("config")
    return before or value


ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        "-c",
        help="The configuration file.",
        envvar="NEVE_CONFIG",
        callback=_config,
    ),
]
TableArgument = Annotated[str, typer.Argument(help="catalog.namespace.table or namespace.table")]


@contextmanager
def errors_explained(output: Output) -> Iterator[None]:
    """Errors become one sentence and exit code 1."""
    try:
        yield
    except Interrupted as end:
        output.interrupted(end)
        finish_interrupted()
    except NeveError as error:
        output.error(error)
        sys.exit(EXIT_ERROR)
    except KeyboardInterrupt:
        output.interrupted(Interrupted())
        finish_interrupted()


Result = TypeVar("Result")


def one_by_one(
    tables: Sequence[TableRef],
    do: Callable[[TableRef], Result],
    earlier: Iterable[NeveError] = (),
) -> tuple[list[Result], list[NeveError]]:
    """Do it for every table: one table's problem is its own, and the others go on.

    Troubles that came `earlier`, such as those of catalogs, are told with those of tables.
    """
    results: list[Result] = []
    problems = list(earlier)
    for table in tables:
        try:
            results.append(do(table))
        except NeveError as error:
            if len(tables) == 1 and not problems:
                raise
            problems.append(error)
    return results, problems


def exit_after(output: Output, problems: Sequence[NeveError], code: int) -> NoReturn:
    """End with the code, or with that of an error after saying what it was."""
    for problem in problems:
        output.complain(problem)
    sys.exit(EXIT_ERROR if problems else code)


@contextmanager
def application(
    output: Output, config: str | None, *, if_interrupted: str = NOTHING
) -> Iterator[Neve]:
    """The configured Neve, closed at the end, with errors explained.

    A command that changes something without a job says with `if_interrupted` what is left of it.
    """
    from neve.neve import Neve

    with (
        errors_explained(output),
        output.working(),
        Neve.open(config, reporter=output, log=LOGGING[-1]) as neve,
        interruptible(neve, output, if_interrupted),
        refusals_audited(neve),
        near_names_told(neve),
    ):
        yield neve


@contextmanager
def refusals_audited(neve: Neve) -> Iterator[None]:
    """What a command is refused stands in the audit log, where there is one."""
    try:
        yield
    except NeveError as error:
        audit_refusal(neve, COMMAND[-1], error.message)
        raise


@contextmanager
def near_names_told(neve: Neve) -> Iterator[None]:
    """Whoever may run this command may see all tables: a mistyped name gets a guess."""
    try:
        yield
    except TableNotFound as error:
        if guess := _near(neve, error.name):
            error.next_step = f"Did you mean {guess.typed}?"
        raise


def _near(neve: Neve, name: str) -> TableRef | None:
    """The table of the catalog whose name is nearest."""
    if not name:
        return None
    wanted = neve.table(name)
    # The guess is a courtesy: what it runs into is not what the user has to hear of.
    with suppress(NeveError):
        known = {str(table): table for table in neve.tables(f"{quote_part(wanted.catalog)}.*")}
        if near := get_close_matches(str(wanted), known, n=1, cutoff=NEAR):
            return known[near[0]]
    return None


def audit_refusal(neve: Neve, command: str, why: str) -> None:
    """A row about a command that was refused, where the configuration asks for a log."""
    neve.access.record(user_name(), f"neve {command[:200]}", "refused", detail=why)


def user_name() -> str:
    """Who runs the command, as this machine knows it."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return "cli"
