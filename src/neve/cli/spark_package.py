"""`neve spark-package`: what executors need, as a file that can be laid anywhere."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from neve.cli.context import OutputOption, errors_explained
from neve.cli.output import Format, Output
from neve.model.sizes import format_size


def spark_package(
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("neve-executors.zip"),
    output: OutputOption = Format.TEXT,
) -> None:
    """Write the archive that executors of a Spark cluster run Neve's tasks from.

    Sessions send one by themselves; this is for clusters that are to fetch it from elsewhere.
    """
    printer = Output(output)
    with errors_explained(printer):
        from neve.neve import Neve

        made = Neve.write_spark_package(out)
    printer.result(
        asdict(made),
        f"{escape(made.path)}: {format_size(made.size_bytes)}, for Python {made.python} on "
        f"{escape(made.platform)}.",
        "Name it, or where you lay it, in neve.yaml:",
        escape(f"  spark: {{package: {made.path}}}"),
    )
