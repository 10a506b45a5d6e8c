"""Commands that keep metadata and deletes in shape: manifests, deletes, stats."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

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
from neve.cli.render_upkeep import render_operation_outcome, render_operation_plan
from neve.documents import to_document
from neve.model.operation import OperationPlan
from neve.model.outcome import Outcome
from neve.model.policies import ComputeTableStatsArguments
from neve.model.table import TableRef
from neve.service.operate import TableOperation, plan_operation, run_operation
from neve.service.upkeep import (
    ComputePartitionStatsOperation,
    ComputeTableStatsOperation,
    RemoveDanglingDeletesOperation,
    RewriteManifestsOperation,
    RewritePositionDeleteFilesOperation,
)

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


def manifests(
    table: TableArgument,
    dry_run: DryRunOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Merge many small manifests into few: scans are planned faster."""
    _upkeep(
        table,
        lambda app: [RewriteManifestsOperation(undo_window_seconds=_undo_window(app))],
        dry_run,
        output,
        config,
    )


def deletes(
    table: TableArgument,
    dry_run: DryRunOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Merge position delete files, then drop delete files that apply to no data file."""
    _upkeep(
        table,
        lambda app: [
            RewritePositionDeleteFilesOperation(undo_window_seconds=_undo_window(app)),
            RemoveDanglingDeletesOperation(undo_window_seconds=_undo_window(app)),
        ],
        dry_run,
        output,
        config,
    )


def stats(
    table: TableArgument,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Only these columns, comma-separated.")
    ] = None,
    dry_run: DryRunOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Compute statistics of columns and of partitions, where they are missing or old."""
    names = tuple(part.strip() for part in (columns or "").split(",") if part.strip())
    _upkeep(
        table,
        lambda _: [
            ComputeTableStatsOperation(arguments=ComputeTableStatsArguments(names)),
            ComputePartitionStatsOperation(),
        ],
        dry_run,
        output,
        config,
    )


def _undo_window(app: App) -> int:
    return app.maintenance.policy.undo_window_seconds


def _upkeep(
    table: str,
    operations_of: Callable[[App], Sequence[TableOperation]],
    dry_run: bool,
    output: Format,
    config: str | None,
) -> None:
    """Plan or run operations on one table, one after the other."""
    printer = Output(output)
    plans: list[OperationPlan[Any]] = []
    outcomes: list[Outcome] = []
    with application(printer, config) as app:
        ref, operations = app.catalogs.parse(table), operations_of(app)
        if dry_run:
            plans = [plan_operation(app.maintenance, ref, item) for item in operations]
        else:
            outcomes = _run_all(app, ref, operations)
    if dry_run:
        document = {"plans": [to_document(plan) for plan in plans]}
        printer.result(document, *(render_operation_plan(plan) for plan in plans))
        return
    document = {"outcomes": [to_document(outcome) for outcome in outcomes]}
    printer.result(document, *(render_operation_outcome(outcome) for outcome in outcomes))
    sys.exit(EXIT_OK if all(outcome.status.is_good for outcome in outcomes) else EXIT_ERROR)


def _run_all(app: App, table: TableRef, operations: Sequence[TableOperation]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for operation in operations:
        outcomes.append(run_operation(app.maintenance, table, operation))
        if not outcomes[-1].status.is_good:
            # A table in trouble is looked at before anything more is done to it.
            break
    return outcomes
