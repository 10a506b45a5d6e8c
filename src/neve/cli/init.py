"""`neve init`: a commented neve.yaml, from what is already configured or runs on this machine."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.context import EXIT_ERROR, EXIT_OK, OutputOption, errors_explained
from neve.cli.output import Format, Output
from neve.documents import to_document
from neve.initial import InitialFile, Source, initial_file
from neve.model.errors import InputError

if TYPE_CHECKING:
    from neve.neve import Check


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("neve.yaml"),
    source: Annotated[
        Source | None,
        typer.Option(
            "--from",
            help="Where catalogs are taken from; without it, ~/.pyiceberg.yaml if there is one, "
            "then a running stack, then the embedded lakehouse.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    output: OutputOption = Format.TEXT,
) -> None:
    """Write a commented neve.yaml, and check that it works; secrets stay where they are."""
    printer = Output(output)
    with errors_explained(printer):
        if path.exists() and not force:
            raise InputError(
                f"{path} is there already.", next_step="Give another name, or --force."
            )
        made = initial_file(source)
        try:
            _write(path, made.text)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from error
        from neve.neve import Neve

        checks = Neve.check_machine(str(path))
    document = {
        "path": str(path),
        "source": str(made.source),
        "catalogs": list(made.catalogs),
        "checks": [to_document(check) for check in checks],
    }
    printer.result(document, lambda: _render(path, made, checks))
    sys.exit(EXIT_OK if not _problems(checks) else EXIT_ERROR)


def _problems(checks: list[Check]) -> list[Check]:
    """What keeps it from working."""
    return [check for check in checks if not check.passed]


def _write(path: Path, text: str) -> None:
    """For its owner's eyes: credentials of a stack may be in it."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _render(path: Path, made: InitialFile, checks: list[Check]) -> RenderableType:
    lines: list[RenderableType] = [
        f"{escape(str(path))} is written, with {', '.join(made.catalogs)} from {made.says}."
    ]
    problems = _problems(checks)
    for check in problems:
        lines.append(f"[red]✘[/] {escape(check.name)}: {escape(check.detail)}")
        lines += [f"  → {escape(check.fix)}"] if check.fix else []
    if not problems:
        config = "" if path == Path("neve.yaml") else f" --config {shlex.quote(str(path))}"
        from neve.neve import NO_TABLE_YET

        is_there = all(check.detail != NO_TABLE_YET for check in checks)
        lines.append(f"It works. Next: neve{escape(config)} {'tables' if is_there else 'demo'}")
    return Group(*lines)
