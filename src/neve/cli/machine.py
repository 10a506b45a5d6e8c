"""`neve doctor` without a table: this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.markup import escape

from neve.cli.context import EXIT_ERROR, EXIT_OK
from neve.cli.output import Format, Output

if TYPE_CHECKING:
    from neve.neve import Check


def examine_machine(output: Format, config: str | None) -> None:
    """Print every check and, where it failed, what to do."""
    printer = Output(output)
    from neve.neve import Neve

    checks = Neve.check_machine(config)
    printer.result([asdict(check) for check in checks], *(_line(check) for check in checks))
    sys.exit(EXIT_OK if all(check.passed for check in checks) else EXIT_ERROR)


def _line(check: Check) -> str:
    if check.passed:
        return f"[green]✔[/] {escape(check.name)}: {escape(check.detail)}"
    fix = f"\n  [dim]→[/] {escape(check.fix)}" if check.fix else ""
    return f"[red]✘[/] {escape(check.name)}: {escape(check.detail)}{fix}"
