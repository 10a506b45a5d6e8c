"""CompactionPlan: an assessed table and arguments go in, an immutable plan comes out."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from neve.model.errors import InputError
from neve.model.facts import TableFacts
from neve.model.groups import FileGroup, PlannedFile, layout_name
from neve.model.plan import CompactionPlan, NothingToDo, Reason
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Engine, RewriteMode, Strategy
from neve.model.steps import RewriteDataFiles
from neve.planning.cost import CostModel, Rates, estimate, total
from neve.planning.engines import rank_of
from neve.planning.expressions import combine, from_json, from_partitions, to_json
from neve.planning.health import Assessment
from neve.planning.operations.rewrite_data_files import (
    Candidate,
    Selector,
    ordered_snapshots,
    settled_snapshots,
)
from neve.planning.partition_values import partition_values
from neve.planning.refusals import GroupFacts
from neve.planning.routing import route
from neve.planning.staleness import newest_sequence_number

#: A plan keeps this many reasons for partitions left alone; the rest are counted.
MAX_REASONS = 50


def make_plan(
    facts: TableFacts,
    assessment: Assessment,
    policy: CompactionPolicy,
    arguments: RewriteDataFilesArguments,
    *,
    max_cost_usd: float | None = None,
    cost_model: CostModel,
    rates: Rates,
    now: datetime,
) -> CompactionPlan:
    """Decide what to do, what it costs, and why the rest is left alone."""
    sort_columns = _sort_columns(facts, arguments)
    target = _effective_target(policy, rates)
    candidates: list[Candidate] = []
    reasons = _reasons_before_looking(facts)
    if not reasons:
        selection = Selector(
            facts,
            assessment,
            policy,
            arguments.strategy,
            target,
            sort_columns,
            settled_snapshots(facts, policy.target_file_size_bytes),
            ordered_snapshots(facts, layout_name(arguments.strategy, sort_columns)),
        ).select()
        candidates, reasons = selection.candidates, selection.reasons
    groups = [
        (
            candidate.strategy,
            _group(facts, index, candidate, policy, arguments.engine, cost_model, rates),
        )
        for index, candidate in enumerate(candidates)
    ]
    groups, over_budget = _within_budget(groups, max_cost_usd)
    steps = tuple(_steps(groups, policy, target, sort_columns, facts))
    planned = [group for _, group in groups]
    return CompactionPlan(
        plan_id=_plan_id(facts, now, planned),
        table=facts.table,
        table_uuid=facts.table_uuid,
        snapshot_id=facts.snapshot_id,
        sequence_number=newest_sequence_number(facts),
        schema_id=facts.schema_id,
        spec_id=facts.current_spec_id,
        created_at=now,
        where=facts.where,
        strategy=arguments.strategy,
        target_file_size_bytes=policy.target_file_size_bytes,
        small_file_bytes=policy.small_file_bytes,
        min_row_group_bytes=policy.min_row_group_bytes,
        undo_window_seconds=policy.undo_window_seconds,
        verify=arguments.verify,
        steps=steps,
        reasons=_summarise(over_budget + reasons, has_work=bool(steps)),
        partitions=assessment.health.partitions,
        cost=total((group.cost for group in planned), cost_model, rates),
        gain=math.fsum(group.gain for group in planned),
    )


def _sort_columns(facts: TableFacts, arguments: RewriteDataFilesArguments) -> tuple[str, ...]:
    if not arguments.strategy.orders_rows:
        if arguments.sort_columns:
            raise InputError(
                f"Strategy {arguments.strategy} does not order rows, so it takes no sort columns.",
                next_step="Use --strategy sort or --strategy zorder with --sort-by.",
            )
        return ()
    columns = arguments.sort_columns
    if not columns and arguments.strategy is Strategy.SORT:
        columns = facts.sort_columns
    if not columns:
        raise InputError(
            f"Strategy {arguments.strategy} needs columns, and the table has no sort order to use.",
            next_step=f"Add --sort-by, for example --strategy {arguments.strategy} --sort-by a,b.",
        )
    known = {column.name for column in facts.columns}
    for column in columns:
        if column not in known:
            raise InputError(
                f"Table {facts.table} has no column {column!r}.",
                next_step=f"Choose from: {', '.join(sorted(known))}.",
            )
    return columns


def _effective_target(policy: CompactionPolicy, rates: Rates) -> int:
    """Input bytes that make one output of the target size, by the measured compression."""
    return max(1, int(policy.target_file_size_bytes / rates.compression_ratio))


def _reasons_before_looking(facts: TableFacts) -> list[Reason]:
    if facts.snapshot_id is None:
        return [Reason(NothingToDo.NO_SNAPSHOT, f"Table {facts.table} was never written.")]
    if not facts.data_files:
        return [Reason(NothingToDo.NO_DATA_FILES, f"Table {facts.table} has no data files.")]
    if twice := _listed_twice(facts):
        return [
            Reason(
                NothingToDo.FILE_LISTED_TWICE,
                f"Table {facts.table} lists {twice} more than once: its rows count that often, and "
                "a rewrite cannot tell one entry from the other.",
            )
        ]
    if not any(file.selected for file in facts.data_files):
        return [
            Reason(
                NothingToDo.FILTER_MATCHES_NOTHING,
                f"No file of table {facts.table} can hold rows that match {facts.where!r}.",
            )
        ]
    return []


def _listed_twice(facts: TableFacts) -> str | None:
    """The first file that was added again while it was there, as some imports do."""
    seen: set[str] = set()
    for file in facts.data_files:
        if file.path in seen:
            return file.path
        seen.add(file.path)
    return None


def _group(
    facts: TableFacts,
    index: int,
    candidate: Candidate,
    policy: CompactionPolicy,
    mode: RewriteMode,
    cost_model: CostModel,
    rates: Rates,
) -> FileGroup:
    chosen = route(
        GroupFacts(
            facts,
            candidate.files,
            candidate.delete_files,
            candidate.strategy,
            policy.min_row_group_bytes,
            policy.target_file_size_bytes,
        ),
        mode,
    )
    return FileGroup(
        group_id=index,
        spec_id=candidate.partition[0],
        partition=facts.partition_name(candidate.partition),
        partition_values=partition_values(facts, candidate.partition),
        files=tuple(PlannedFile(f.path, f.size_bytes, f.record_count) for f in candidate.files),
        delete_files=candidate.delete_files,
        input_bytes=sum(file.size_bytes for file in candidate.files),
        records=sum(file.record_count for file in candidate.files),
        expected_output_files=candidate.outputs,
        engine=chosen.engine,
        engine_reason=chosen.reason,
        rule=candidate.rule,
        # File opens that every full scan saves from now on.
        gain=float(len(candidate.files) - candidate.outputs + candidate.delete_files),
        cost=estimate(
            cost_model,
            rates,
            file_sizes=[file.size_bytes for file in candidate.files],
            delete_files=candidate.delete_files,
            output_files=candidate.outputs,
            engine=chosen.engine,
        ),
    )


def _within_budget(
    groups: list[tuple[Strategy, FileGroup]], max_cost_usd: float | None
) -> tuple[list[tuple[Strategy, FileGroup]], list[Reason]]:
    """Keep the partitions with the most gain per dollar that fit into the budget.

    A partition is kept or left as a whole: half a partition would be planned again tomorrow.
    """
    if max_cost_usd is None:
        return groups, []
    by_partition: dict[object, list[tuple[Strategy, FileGroup]]] = defaultdict(list)
    for item in groups:
        # Not by its name: the text 'null' and a null are called the same.
        by_partition[item[1].spec_id, item[1].partition_values].append(item)
    kept: list[tuple[Strategy, FileGroup]] = []
    reasons: list[Reason] = []
    spent_usd = 0.0
    for members in sorted(by_partition.values(), key=_gain_per_usd, reverse=True):
        usd = math.fsum(group.cost.usd.expected for _, group in members)
        if spent_usd + usd <= max_cost_usd:
            spent_usd += usd
            kept += members
        else:
            name = members[0][1].partition
            reasons.append(
                Reason(
                    NothingToDo.OVER_BUDGET,
                    f"Partition {name} would cost ${usd:.6f} more than the budget of "
                    f"${max_cost_usd:g} has left.",
                    name,
                )
            )
    return sorted(kept, key=lambda item: item[1].group_id), reasons


def _gain_per_usd(members: Sequence[tuple[Strategy, FileGroup]]) -> float:
    usd = math.fsum(group.cost.usd.expected for _, group in members)
    return math.fsum(group.gain for _, group in members) / max(usd, 1e-12)


def _steps(
    groups: list[tuple[Strategy, FileGroup]],
    policy: CompactionPolicy,
    effective_target_bytes: int,
    sort_columns: tuple[str, ...],
    facts: TableFacts,
) -> Iterable[RewriteDataFiles]:
    """One step for each strategy and engine that found work; better engines come first."""
    members: dict[tuple[Strategy, Engine], list[FileGroup]] = defaultdict(list)
    for strategy, group in groups:
        members[strategy, group.engine].append(group)
    for (strategy, engine), chosen in sorted(members.items(), key=lambda m: rank_of(m[0][1])):
        yield RewriteDataFiles(
            strategy=strategy,
            engine=engine,
            target_file_size_bytes=effective_target_bytes,
            min_file_size_bytes=_min_file_size(strategy, policy, effective_target_bytes),
            min_input_files=policy.min_input_files,
            sort_columns=sort_columns,
            filter=filter_of(facts, chosen),
            groups=tuple(chosen),
        )


def step_for_spark(
    facts: TableFacts, step: RewriteDataFiles, groups: tuple[FileGroup, ...]
) -> RewriteDataFiles:
    """The same work for groups that every other engine refused, by Iceberg's own action."""
    return replace(step, engine=Engine.SPARK, groups=groups, filter=filter_of(facts, groups))


def filter_of(facts: TableFacts, groups: Sequence[FileGroup]) -> str:
    """An expression that selects the groups' files. It selects files, never rows."""
    where = from_json(facts.filter) if facts.filter else True
    chosen = {(group.spec_id, group.partition_values): None for group in groups}
    everywhere = len(chosen) == len({file.partition for file in facts.data_files})
    partitions = True if everywhere else from_partitions(values for _, values in chosen)
    return to_json(combine("and", [where, partitions]))


def _min_file_size(
    strategy: Strategy, policy: CompactionPolicy, effective_target_bytes: int
) -> int:
    """Below this a file is rewritten for its size; `delete_files` does not care about size."""
    if strategy is Strategy.DELETE_FILES:
        return 0
    return min(policy.small_file_bytes, effective_target_bytes - 1)


def _summarise(reasons: list[Reason], *, has_work: bool) -> tuple[Reason, ...]:
    """The table's own reason first, then those of partitions, up to a bound."""
    if has_work or not reasons or reasons[0].partition is None:
        return tuple(reasons[:MAX_REASONS])
    by_code: dict[NothingToDo, list[Reason]] = defaultdict(list)
    for reason in reasons:
        by_code[reason.code].append(reason)
    code, most = max(by_code.items(), key=lambda item: len(item[1]))
    if len(reasons) == 1:
        sentence = most[0].sentence
    else:
        sentence = (
            f"Nothing to do in {len(reasons)} partitions, mostly "
            f"{code.value.replace('_', ' ')} ({len(most)}): {most[0].sentence}"
        )
    return (Reason(code, sentence), *reasons[: MAX_REASONS - 1])


def _plan_id(facts: TableFacts, now: datetime, groups: Iterable[FileGroup]) -> str:
    digest = hashlib.sha256(f"{facts.table_uuid}/{facts.snapshot_id}/{now.isoformat()}".encode())
    for group in groups:
        for file in group.files:
            digest.update(file.path.encode())
    return digest.hexdigest()[:32]
