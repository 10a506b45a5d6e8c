"""Commands that plan changes and make them: plan, apply, compact, rollback."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from neve.app import App
from neve.catalog.connect import Found
from neve.cli.context import (
    EXIT_ERROR,
    EXIT_OK,
    EXIT_WORK_FOUND,
    ConfigOption,
    OutputOption,
    TableArgument,
    application,
    errors_explained,
    exit_after,
    one_by_one,
)
from neve.cli.look import user_tables
from neve.cli.output import Format, Output
from neve.cli.render import render_outcome, render_plan
from neve.cli.timestamps import parse_moment
from neve.documents import to_document
from neve.model.errors import FilterError, InputError, NeveError
from neve.model.outcome import Outcome
from neve.model.plan import Plan
from neve.model.policy import Strategy
from neve.model.table import TableRef
from neve.policy.effective import plan_request
from neve.policy.keys import SORT_ORDER
from neve.service.plan_file import plan_document, read_plan_file, write_plan_file
from neve.service.rollback import RollbackTarget, roll_back

WhereOption = Annotated[
    str | None, typer.Option("--where", help="Only files that may hold matching rows.")
]
StrategyOption = Annotated[
    Strategy | None,
    typer.Option("--strategy", help="Which problem to cure; auto by default."),
]
SortOption = Annotated[
    str | None, typer.Option("--sort-by", help="Columns for sort and zorder, comma-separated.")
]
TargetOption = Annotated[
    str | None, typer.Option("--target-size", help="Size of the files to make, e.g. 128MB.")
]
CostOption = Annotated[
    float | None, typer.Option("--max-cost", help="Budget in USD; the best gain per dollar first.")
]


class EngineChoice(StrEnum):
    """`auto` copies where the bytes allow it; `spark` always re-encodes."""

    AUTO = "auto"
    SPARK = "spark"


EngineOption = Annotated[
    EngineChoice | None, typer.Option("--engine", help="Who rewrites the files.")
]


def overrides_of(
    where: str | None,
    strategy: Strategy | None,
    sort_by: str | None,
    target_size: str | None,
    max_cost: float | None,
    engine: EngineChoice | None,
) -> dict[str, object]:
    """Flags as the strongest layer of the policy: those that were given, by the keys they set."""
    if max_cost is not None and not max_cost >= 0:
        raise InputError("--max-cost must not be negative.", next_step="Give a number of USD.")
    if where is not None and not where.strip():
        raise FilterError("The filter is empty.", next_step="Leave --where out for all files.")
    values = {
        "rewrite_data_files.where": where,
        **_order(strategy, sort_by),
        "rewrite_data_files.options.target-file-size-bytes": target_size,
        "budget.max_cost_usd": max_cost,
        "rewrite_data_files.engine": engine,
    }
    return {key: value for key, value in values.items() if value is not None}


def _order(strategy: Strategy | None, sort_by: str | None) -> dict[str, object]:
    """A policy knows z-order as a way to sort, the command line as a strategy."""
    columns = ", ".join(part.strip() for part in (sort_by or "").split(",") if part.strip())
    if columns and not (strategy and strategy.orders_rows):
        raise InputError(
            f"Strategy {strategy or Strategy.AUTO} does not order rows, so it takes no sort "
            "columns.",
            next_step="Use --strategy sort or --strategy zorder with --sort-by.",
        )
    if strategy is Strategy.ZORDER:
        if not columns:
            raise InputError(
                "Strategy zorder needs columns.",
                next_step="Add --sort-by, for example --strategy zorder --sort-by a,b.",
            )
        return {"rewrite_data_files.strategy": "sort", SORT_ORDER: f"zorder({columns})"}
    order: dict[str, object] = {SORT_ORDER: columns} if columns else {}
    return {"rewrite_data_files.strategy": strategy, **order}


def plan_of(app: App, table: TableRef, overrides: Mapping[str, object]) -> Plan:
    """What compacting the table would do, by its policy."""
    policy = app.maintenance.effective(table, overrides)
    return app.maintenance.plan(
        table,
        plan_request(policy),
        where=policy.rewrite_data_files.where,
        policy=policy.compaction,
    )


def plan(
    patterns: Annotated[list[str], typer.Argument(help="Tables or globs.")],
    where: WhereOption = None,
    strategy: StrategyOption = None,
    sort_by: SortOption = None,
    target_size: TargetOption = None,
    max_cost: CostOption = None,
    engine: EngineOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the plan to a file.")] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Say what would be done, why, and what it costs. Exit code 2 means there is work."""
    printer = Output(output)
    with application(printer, config) as app:
        overrides = overrides_of(where, strategy, sort_by, target_size, max_cost, engine)
        found = matching_tables(app, patterns)
        plans, problems = one_by_one(
            found.tables, lambda table: plan_of(app, table, overrides), found.problems.values()
        )
        if out is not None:
            write_plan_file(out, plans)
    printer.result(plan_document(plans), *(render_plan(item) for item in plans))
    work = any(not item.is_empty for item in plans)
    exit_after(printer, problems, EXIT_WORK_FOUND if work else EXIT_OK)


def matching_tables(app: App, patterns: list[str]) -> Found:
    """Tables that any of the patterns is for, each once, and catalogs that did not answer."""
    tables: dict[TableRef, None] = {}
    problems: dict[str, NeveError] = {}
    for pattern in patterns:
        found = user_tables(app, pattern)
        tables |= dict.fromkeys(found.tables)
        problems |= found.problems
    if not tables and not problems:
        raise InputError(
            f"No table matches {' '.join(patterns)}.", next_step="List tables: neve tables"
        )
    return Found(list(tables), problems)


def apply(
    file: Annotated[Path, typer.Argument(help="A plan file of neve plan --out.")],
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Run the plans of a file; a plan whose table has moved on is refused."""
    printer = Output(output)
    with errors_explained(printer):
        plans = read_plan_file(file)
    with application(printer, config) as app:
        outcomes, refused = [], []
        for item in plans:
            try:
                outcomes.append(_apply_one(app, item))
            except NeveError as error:
                # One table's problem is its own: the others go on.
                refused.append((item, error))
    printer.result(
        {
            "outcomes": [to_document(outcome) for outcome in outcomes],
            "refused": [
                {"table": str(item.table), "type": type(why).__name__, "reason": why.message}
                for item, why in refused
            ],
        },
        *(render_outcome(outcome) for outcome in outcomes),
    )
    failed = any(not outcome.status.is_good for outcome in outcomes)
    exit_after(printer, [why for _, why in refused], EXIT_ERROR if failed else EXIT_OK)


def _apply_one(app: App, item: Plan) -> Outcome:
    # The name is checked against this configuration before anything is touched.
    app.catalogs.parse(str(item.table))
    return app.maintenance.apply(item)


def compact(
    table: TableArgument,
    where: WhereOption = None,
    strategy: StrategyOption = None,
    sort_by: SortOption = None,
    target_size: TargetOption = None,
    max_cost: CostOption = None,
    engine: EngineOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Compact a table: plan, run, prove, remember."""
    printer = Output(output)
    with application(printer, config) as app:
        overrides = overrides_of(where, strategy, sort_by, target_size, max_cost, engine)
        ref = app.catalogs.parse(table)
        if dry_run:
            made = plan_of(app, ref, overrides)
        else:
            policy = app.maintenance.effective(ref, overrides)
            outcome = app.maintenance.compact(
                ref,
                plan_request(policy),
                where=policy.rewrite_data_files.where,
                policy=policy.compaction,
            )
    if dry_run:
        printer.result(plan_document([made]), lambda: render_plan(made))
        return
    printer.result(to_document(outcome), lambda: render_outcome(outcome))
    sys.exit(EXIT_OK if outcome.status.is_good else EXIT_ERROR)


def rollback(
    table: TableArgument,
    to_snapshot: Annotated[int | None, typer.Option(help="Back to this snapshot.")] = None,
    to_time: Annotated[
        str | None, typer.Option(help="Back to the last snapshot of this moment (ISO 8601, UTC).")
    ] = None,
    job: Annotated[str | None, typer.Option(help="Undo this job of neve history.")] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Take a table back to an earlier snapshot."""
    printer = Output(output)
    with application(printer, config) as app:
        target = _rollback_target(to_snapshot, to_time, job)
        ref = app.catalogs.parse(table)
        window = app.maintenance.effective(ref).compaction.undo_window_seconds
        outcome = roll_back(app.maintenance, ref, target, undo_window_seconds=window)
    printer.result(to_document(outcome), lambda: render_outcome(outcome))


def _rollback_target(
    to_snapshot: int | None, to_time: str | None, job: str | None
) -> RollbackTarget:
    if sum(option is not None for option in (to_snapshot, to_time, job)) != 1:
        raise InputError(
            "Say where to go back to, in one way.",
            next_step="Give one of --to-snapshot ID, --to-time TS or --job ID.",
        )
    if to_time is None:
        return RollbackTarget(snapshot_id=to_snapshot, job_id=job)
    return RollbackTarget(time=parse_moment(to_time))
