"""The command for orphan files: look, quarantine, purge, restore."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from neve.app import App
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
from neve.model.orphans import OrphanRules, check_orphan_age
from neve.model.table import TableRef
from neve.service.orphans import change_orphans, find_orphans, quarantined, restore_orphans


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
    with application(printer, config) as app:
        _check(quarantine, purge, restore, show, paths or [])
        ref = app.catalogs.parse(table)
        rules = _rules(app, ref, older_than, max_orphan_ratio)
        if show:
            _show(app, printer, ref)
        elif restore:
            _restore(app, printer, ref, paths or [])
        elif quarantine or purge:
            code = _change(app, printer, ref, rules, quarantine, purge)
        else:
            report = find_orphans(app.maintenance, ref, rules)
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


def _rules(
    app: App, ref: TableRef, older_than: str | None, max_orphan_ratio: float | None
) -> OrphanRules:
    overrides: dict[str, object] = {}
    if older_than is not None:
        check_orphan_age(parse_duration(older_than))
        overrides["remove_orphan_files.older_than"] = older_than
    if max_orphan_ratio is not None:
        overrides["guards.max_orphan_ratio"] = max_orphan_ratio
    return app.maintenance.effective(ref, overrides).remove_orphan_files


def _show(app: App, printer: Output, ref: TableRef) -> None:
    entries = quarantined(app.maintenance, ref)
    printer.result(to_document(entries), lambda: render_quarantine(entries))


def _restore(app: App, printer: Output, ref: TableRef, paths: list[str]) -> None:
    entries = restore_orphans(app.maintenance, ref, paths)
    printer.result(
        to_document(entries), f"{len(entries)} files were taken off the list; they stay."
    )


def _change(
    app: App, printer: Output, ref: TableRef, rules: OrphanRules, quarantine: bool, purge: bool
) -> int:
    swept = change_orphans(app.maintenance, ref, rules, quarantine=quarantine, purge=purge)
    outcome = swept.outcome
    printer.result(to_document(outcome), lambda: render_outcome(outcome))
    return EXIT_OK if outcome.status.is_good else EXIT_ERROR
