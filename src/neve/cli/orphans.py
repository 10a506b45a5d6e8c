"""The command for orphan files: look, quarantine, purge, restore."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from neve.cli.context import (
    EXIT_ERROR,
    EXIT_OK,
    ConfigOption,
    OutputOption,
    TableArgument,
    application,
)
from neve.cli.output import Format, Output
from neve.cli.render import render_outcome
from neve.cli.render_orphans import render_quarantine, render_report
from neve.documents import to_document
from neve.model.durations import parse_duration
from neve.model.errors import InputError
from neve.model.job import Trigger
from neve.model.operation import Operation
from neve.model.orphans import check_orphan_age
from neve.model.table import TableRef

if TYPE_CHECKING:
    from neve.neve import Neve


def orphans(
    table: TableArgument,
    paths: Annotated[list[str] | None, typer.Argument(help="For --restore: which files.")] = None,
    older_than: Annotated[
        str | None, typer.Option(help="Only files older than this, e.g. 3d; 24h is the least.")
    ] = None,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Put orphans on the list; files are not touched.")
    ] = False,
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete what has been on the list long enough.")
    ] = False,
    restore: Annotated[
        bool,
        typer.Option("--restore", help="Take files off the list for good, the named ones or all."),
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="Show the list: the quarantine.")] = False,
    max_orphan_ratio: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="With a larger share of orphans, change nothing."),
    ] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Find files that nothing refers to: look, then --quarantine, then --purge.

    Without an option, nothing is changed.
    """
    printer = Output(output)
    with application(printer, config) as neve:
        _check(quarantine, purge, restore, show, paths or [])
        ref = neve.table(table)
        overrides = _overrides(older_than, max_orphan_ratio)
        if show:
            _show(neve, printer, ref)
        elif restore:
            _restore(neve, printer, ref, paths or [])
        elif quarantine or purge:
            code = _change(neve, printer, ref, overrides, quarantine, purge)
        else:
            report = neve.orphans(ref, overrides)
            printer.result(to_document(report), lambda: render_report(report))
    if quarantine or purge:
        sys.exit(code)


def _check(quarantine: bool, purge: bool, restore: bool, show: bool, paths: list[str]) -> None:
    if sum((quarantine, purge, restore, show)) > 1:
        raise InputError(
            "One thing at a time.",
            next_step="Give one of --quarantine, --purge, --restore and --list.",
        )
    if paths and not restore:
        raise InputError("Paths are for --restore only.", next_step="Leave them out.")


def _overrides(older_than: str | None, max_orphan_ratio: float | None) -> dict[str, object]:
    overrides: dict[str, object] = {}
    if older_than is not None:
        check_orphan_age(parse_duration(older_than))
        overrides["remove_orphan_files.older_than"] = older_than
    if max_orphan_ratio is not None:
        overrides["guards.max_orphan_ratio"] = max_orphan_ratio
    return overrides


def _show(neve: Neve, printer: Output, ref: TableRef) -> None:
    entries = neve.quarantine(ref)
    printer.result(to_document(entries), lambda: render_quarantine(entries))


def _restore(neve: Neve, printer: Output, ref: TableRef, paths: list[str]) -> None:
    entries = neve.restore(ref, paths)
    printer.result(
        to_document(entries), f"{len(entries)} files were taken off the list; they stay."
    )


def _change(
    neve: Neve,
    printer: Output,
    ref: TableRef,
    overrides: dict[str, object],
    quarantine: bool,
    purge: bool,
) -> int:
    outcome = neve.run(
        ref,
        Operation.REMOVE_ORPHAN_FILES,
        overrides=overrides,
        arguments={"quarantine": quarantine, "purge": purge},
        trigger=Trigger.CLI,
    )
    printer.result(to_document(outcome), lambda: render_outcome(outcome))
    return EXIT_OK if outcome.status.is_good else EXIT_ERROR
