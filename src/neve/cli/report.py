"""`neve report`: a table's page for people who would rather look than read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from neve.cli.context import ConfigOption, OutputOption, application
from neve.cli.output import Format, Output
from neve.model.errors import InputError
from neve.model.sizes import format_size


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """Where a page was written."""

    table: str
    path: str
    size_bytes: int


def report(
    table: Annotated[str, typer.Argument(help="The table.")],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("report.html"),
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Write one page of HTML with pictures of a table and of what was done to it.

    It holds all that it needs: files by size with the target, partitions, deletes, snapshots, and
    what runs were predicted to take and took. It starts no JVM.
    """
    printer = Output(output)
    with application(printer, config) as neve:
        page = neve.report(table)
        written = WrittenReport(str(neve.table(table)), str(out), len(page.encode()))
        try:
            out.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{out} cannot be written: {error.strerror}.", next_step="Give --out another file."
            ) from error
    printer.result(
        asdict(written),
        f"{escape(written.path)}: {format_size(written.size_bytes)}. Open it in a browser.",
    )
