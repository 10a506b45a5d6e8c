"""Commands that plan changes and make them: plan, apply, compact, rollback."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

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
from neve.cli.hand_over import (
    LocalOption,
    RunIdOption,
    compact_at_server,
    follow_to_end,
    outcome_of,
    plan_at_server,
    run_or_hand_over,
)
from neve.cli.job import ServerOption
from neve.cli.output import Format, Output
from neve.cli.places import MAX_JOBS, ServerJobs, at_server
from neve.cli.render import render_outcome, render_plan
from neve.cli.short_ids import check_snapshot, resolve, snapshot_of
from neve.cli.timestamps import parse_moment
from neve.documents import to_document
from neve.model.errors import FilterError, InputError, NeveError
from neve.model.found import Found
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.outcome import Outcome, RolledBack
from neve.model.policy import Strategy, Verify
from neve.model.table import TableRef

if TYPE_CHECKING:
    from neve.neve import Neve

#: The policy key of an order of rows.
SORT_ORDER = "rewrite_data_files.sort_order"
VERIFY = "rewrite_data_files.verify"

WhereOption = Annotated[
    str | None, typer.Option("--where", help="Only files that may hold matching rows.")
]
StrategyOption = Annotated[
    Strategy | None,
    # All of them as a choice are longer than a line has room for.
    typer.Option(
        "--strategy",
        metavar="<strategy>",
        help=f"Which problem to cure; auto by default. One of {', '.join(Strategy)}.",
    ),
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


VerifyOption = Annotated[
    Verify | None,
    typer.Option(
        "--verify",
        help="What new files are held against before the commit. Without it, what tasks write is "
        "read back, and what Iceberg's writer wrote is counted; full reads that back, too.",
    ),
]


def overrides_of(
    where: str | None,
    strategy: Strategy | None,
    sort_by: str | None,
    target_size: str | None,
    max_cost: float | None,
    engine: EngineChoice | None,
    verify: Verify | None,
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
        VERIFY: verify,
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


def plan(
    patterns: Annotated[list[str], typer.Argument(help="Tables or globs.")],
    where: WhereOption = None,
    strategy: StrategyOption = None,
    sort_by: SortOption = None,
    target_size: TargetOption = None,
    max_cost: CostOption = None,
    engine: EngineOption = None,
    verify: VerifyOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the plan to a file.")] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Say what would be done, why, and what it costs. Exit code 2 means there is work."""
    printer = Output(output)
    with application(printer, config) as neve:
        overrides = overrides_of(where, strategy, sort_by, target_size, max_cost, engine, verify)
        found = matching_tables(neve, patterns)
        plans, problems = one_by_one(
            found.tables,
            lambda table: neve.plan_compaction(table, overrides=overrides),
            found.problems.values(),
        )
        document = neve.plan_document(plans)
        if out is not None:
            neve.write_plans(out, plans)
    printer.result(document, *(render_plan(item) for item in plans))
    if out is not None:
        printer.note(f"The plan is in {out}. Run exactly it: neve apply {shlex.quote(str(out))}")
    work = any(not item.is_empty for item in plans)
    exit_after(printer, problems, EXIT_WORK_FOUND if work else EXIT_OK)


def matching_tables(neve: Neve, patterns: list[str]) -> Found:
    """Tables that any of the patterns is for, and catalogs that did not answer."""
    found = neve.find(*patterns)
    refuse_if_none(found, patterns)
    return found


def refuse_if_none(found: Found, patterns: list[str]) -> None:
    """Raise where no table matches, and every catalog has answered."""
    if not found.tables and not found.problems:
        raise InputError(
            f"No table matches {' '.join(patterns)}.", next_step="List tables: neve tables"
        )


def apply(
    file: Annotated[Path, typer.Argument(help="A plan file of neve plan --out.")],
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Run the plans of a file; a plan whose table has moved on is refused."""
    printer = Output(output)
    with errors_explained(printer):
        from neve.neve import Neve

        plans = Neve.read_plans(file)
    with application(printer, config) as neve:
        outcomes, refused = [], []
        for item in plans:
            try:
                outcomes.append(neve.apply(item))
            except NeveError as error:
                # One table's problem is its own: the others go on.
                refused.append((item, error))
    printer.result(
        {
            "outcomes": [to_document(outcome) for outcome in outcomes],
            "refused": [_refused(item.table, why) for item, why in refused],
        },
        *(render_outcome(outcome) for outcome in outcomes),
    )
    failed = any(not outcome.status.is_good for outcome in outcomes)
    exit_after(printer, [why for _, why in refused], EXIT_ERROR if failed else EXIT_OK)


def compact(
    table: TableArgument,
    where: WhereOption = None,
    strategy: StrategyOption = None,
    sort_by: SortOption = None,
    target_size: TargetOption = None,
    max_cost: CostOption = None,
    engine: EngineOption = None,
    verify: VerifyOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
    run_id: RunIdOption = "",
    server: ServerOption = None,
    local: LocalOption = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Compact a table: plan, run, prove, remember.

    Where a server of the same configuration runs on this machine, the job is handed to it.
    """
    printer = Output(output)
    if server is not None and not local:
        options: dict[str, Any] = {"strategy": strategy, "partition_filter": where}
        options |= {"max_cost": max_cost, "target_file_size": target_size}
        options |= {"engine": engine, "sort_by": sort_by, "verify": verify}
        with at_server(printer, server) as client:
            if dry_run:
                made = plan_at_server(client, table, **options)
            else:
                job_id = compact_at_server(client, table, **options)
                outcome = outcome_of(follow_to_end(ServerJobs(client), printer, job_id))
        if dry_run:
            from neve.neve import Neve

            printer.result(Neve.plan_document([made]), lambda: render_plan(made))
            return
        _tell_outcome(printer, outcome)
    with application(printer, config) as neve:
        overrides = overrides_of(where, strategy, sort_by, target_size, max_cost, engine, verify)
        if dry_run:
            made = neve.plan_compaction(table, overrides=overrides)
            document = neve.plan_document([made])
        else:
            outcome = run_or_hand_over(
                neve, printer, table, overrides=overrides, local=local, run_id=run_id
            )
    if dry_run:
        printer.result(document, lambda: render_plan(made))
        return
    _tell_outcome(printer, outcome)


def _target(neve: Neve, table: str, snapshot: str | None, job: str | None) -> dict[str, Any]:
    """Ids that may have been given by their beginnings."""
    facts = neve.outline(table)
    if snapshot is not None:
        return {"snapshot_id": snapshot_of(facts, snapshot)}
    if job is None:
        return {}
    jobs = {item.job_id for item in neve.history(table, MAX_JOBS)}
    jobs |= {item.job_id for item in facts.snapshots if item.job_id}
    tags = (ref.name for ref in facts.refs if ref.name.startswith(UNDO_TAG_PREFIX))
    jobs |= {name.removeprefix(UNDO_TAG_PREFIX) for name in tags}
    return {"job_id": resolve(job, jobs, "job")}


def _tell_undone(printer: Output, undone: Sequence[RolledBack]) -> NoReturn:
    outcomes = [item.outcome for item in undone if item.outcome]
    refused = [(item.table, item.problem) for item in undone if item.problem]
    printer.result(
        {
            "outcomes": [to_document(outcome) for outcome in outcomes],
            "refused": [_refused(table, why) for table, why in refused],
        },
        *(render_outcome(outcome) for outcome in outcomes),
    )
    exit_after(printer, [why for _, why in refused], EXIT_OK)


def _refused(table: TableRef, why: NeveError) -> dict[str, str]:
    return {"table": str(table), "type": type(why).__name__, "reason": why.message}


def _tell_outcome(printer: Output, outcome: Outcome) -> NoReturn:
    printer.result(to_document(outcome), lambda: render_outcome(outcome))
    sys.exit(EXIT_OK if outcome.status.is_good else EXIT_ERROR)


def rollback(
    table: Annotated[
        str | None, typer.Argument(help="catalog.namespace.table; with --turn, all of its tables.")
    ] = None,
    to_snapshot: Annotated[
        str | None, typer.Option(help="Back to this snapshot; the beginning of its id will do.")
    ] = None,
    to_time: Annotated[
        str | None, typer.Option(help="Back to the last snapshot of this moment (ISO 8601, UTC).")
    ] = None,
    job: Annotated[str | None, typer.Option(help="Undo this job of neve history.")] = None,
    turn: Annotated[
        str | None,
        typer.Option(help="Undo this turn, of neve maintain or a server, and what Neve did since."),
    ] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Take a table back to an earlier snapshot."""
    printer = Output(output)
    with application(printer, config) as neve:
        if sum(option is not None for option in (to_snapshot, to_time, job, turn)) != 1:
            raise InputError(
                "Say where to go back to, in one way.",
                next_step="Give one of --to-snapshot ID, --to-time TS, --job ID or --turn ID.",
            )
        time = parse_moment(to_time) if to_time is not None else None
        if to_snapshot is not None:
            check_snapshot(to_snapshot)
        if turn is not None:
            undone = neve.rollback_turn(turn, table)
        elif table is not None:
            outcome = neve.rollback(table, **_target(neve, table, to_snapshot, job), time=time)
        else:
            raise InputError("Say which table.", next_step="Give its name before the options.")
    if turn is not None:
        _tell_undone(printer, undone)
    printer.result(to_document(outcome), lambda: render_outcome(outcome))
