"""Commands that keep metadata and deletes in shape: manifests, deletes, stats."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neve.cli.context import (
    EXIT_ERROR,
    EXIT_OK,
    ConfigOption,
    OutputOption,
    TableArgument,
    application,
)
from neve.cli.hand_over import LocalOption, run_or_hand_over
from neve.cli.output import Format, Output
from neve.cli.render_upkeep import render_operation_outcome, render_operation_plan
from neve.documents import to_document
from neve.model.operation import Operation
from neve.model.outcome import Outcome
from neve.model.plan import Plan

if TYPE_CHECKING:
    from neve.neve import Neve

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


def manifests(
    table: TableArgument,
    dry_run: DryRunOption = False,
    local: LocalOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Merge many small manifests into few: scans are planned faster."""
    _upkeep(
        table,
        [Operation.REWRITE_MANIFESTS],
        dry_run,
        local,
        output,
        config,
    )


def deletes(
    table: TableArgument,
    dry_run: DryRunOption = False,
    local: LocalOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Merge position delete files, then drop delete files that apply to no data file."""
    _upkeep(
        table,
        [Operation.REWRITE_POSITION_DELETE_FILES, Operation.REMOVE_DANGLING_DELETES],
        dry_run,
        local,
        output,
        config,
    )


def stats(
    table: TableArgument,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Only these columns, comma-separated.")
    ] = None,
    dry_run: DryRunOption = False,
    local: LocalOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Compute statistics of columns and of partitions, where they are missing or old."""
    names = [part.strip() for part in (columns or "").split(",") if part.strip()]
    _upkeep(
        table,
        [Operation.COMPUTE_TABLE_STATS, Operation.COMPUTE_PARTITION_STATS],
        dry_run,
        local,
        output,
        config,
        {"compute_table_stats.columns": names} if names else {},
    )


def _upkeep(
    table: str,
    wanted: Sequence[Operation],
    dry_run: bool,
    local: bool,
    output: Format,
    config: str | None,
    overrides: Mapping[str, object] | None = None,
) -> None:
    """Plan or run operations on one table, one after the other."""
    printer = Output(output)
    plans: list[Plan[Any]] = []
    outcomes: list[Outcome] = []
    with application(printer, config) as neve:
        if dry_run:
            plans = [neve.plan(table, name, overrides=overrides) for name in wanted]
        else:
            outcomes = _run_all(neve, printer, table, wanted, overrides, local)
    if dry_run:
        document = {"plans": [to_document(plan) for plan in plans]}
        printer.result(document, *(render_operation_plan(plan) for plan in plans))
        return
    document = {"outcomes": [to_document(outcome) for outcome in outcomes]}
    printer.result(document, *(render_operation_outcome(outcome) for outcome in outcomes))
    sys.exit(EXIT_OK if all(outcome.status.is_good for outcome in outcomes) else EXIT_ERROR)


def _run_all(
    neve: Neve,
    printer: Output,
    table: str,
    wanted: Sequence[Operation],
    overrides: Mapping[str, object] | None,
    local: bool,
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for operation in wanted:
        outcome = run_or_hand_over(
            neve, printer, table, operation, overrides=overrides, local=local
        )
        outcomes.append(outcome)
        if not outcome.status.is_good:
            # A table with a problem is looked at before anything more is done to it.
            break
    return outcomes
