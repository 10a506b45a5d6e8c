"""A plan is a wish, not a permission: what it says is asked again from the table.

Digests show that nobody edited a plan by accident; whoever can edit a file can compute a digest.
So nothing here trusts the plan: files, partitions, counts and routes come from the survey, and
what the plan says of them must agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from neve.model.errors import PlanFileError, PlanStale
from neve.model.facts import DataFileFacts, TableFacts
from neve.model.groups import Cost, FileGroup, PlannedFile
from neve.model.plan import CompactionPlan
from neve.model.policy import MB, RewriteMode
from neve.model.steps import RewriteDataFiles
from neve.planning.deletes import DeleteIndex
from neve.planning.engines import row_of
from neve.planning.partition_values import partition_values
from neve.planning.planner import filter_of
from neve.planning.refusals import GroupFacts
from neve.planning.routing import Route, route
from neve.planning.staleness import newly_deleted_from, paths_of

PLAN_ID = re.compile(r"[0-9a-f]{32}")
MAX_BYTES = 2**50
MAX_UNDO_WINDOW_SECONDS = 10 * 366 * 86400
MAX_GROUP_ID = 10**9
#: A plan that orders rows may make more files than it takes, but not crumbs without a bound.
MAX_OUTPUTS = 1000
#: Figures beyond this are nobody's estimates, and too large to reckon with.
MAX_ESTIMATE = 1e300


@dataclass(frozen=True, slots=True)
class Rechecked:
    """The plan as the table allows it now, and the groups that writers have changed since."""

    plan: CompactionPlan
    stale: tuple[tuple[FileGroup, str], ...] = ()


def recheck(plan: CompactionPlan, facts: TableFacts) -> Rechecked:
    """Build the plan again from the table; raises where it is not one that Neve would make."""
    _same_table(plan, facts)
    _sane_figures(plan)
    _no_file_twice(plan)
    live = {file.path: file for file in facts.data_files}
    deleted_from = newly_deleted_from(facts, plan.sequence_number)
    index = DeleteIndex(facts.delete_files, dict(facts.specs))
    steps: list[RewriteDataFiles] = []
    stale: list[tuple[FileGroup, str]] = []
    for step in plan.steps:
        _sane_step(plan, step, facts)
        kept: list[FileGroup] = []
        for group in step.groups:
            _sane_group(step, group)
            if change := _change(group, live, deleted_from):
                stale.append((group, change))
            else:
                kept.append(_rebuilt(plan, facts, step, group, live, index))
        if kept:
            steps.append(_step(facts, step, kept))
    return Rechecked(replace(plan, snapshot_id=facts.snapshot_id, steps=tuple(steps)), tuple(stale))


def _same_table(plan: CompactionPlan, facts: TableFacts) -> None:
    if facts.table_uuid != plan.table_uuid:
        raise PlanStale(
            f"The plan was made for another table: {plan.table} was dropped and made again since.",
            next_step=f"Plan again: neve plan {plan.table.typed}",
        )
    if plan.is_empty:
        return
    if facts.schema_id != plan.schema_id:
        raise PlanStale(
            f"The schema of table {plan.table} has changed since the plan was made.",
            next_step=f"Plan again: neve plan {plan.table.typed}",
        )
    if facts.current_spec_id != plan.spec_id:
        raise PlanStale(
            f"The partition spec of table {plan.table} has changed since the plan was made.",
            next_step=f"Plan again: neve plan {plan.table.typed}",
        )


def _change(
    group: FileGroup, live: Mapping[str, DataFileFacts], deleted_from: set[str]
) -> str | None:
    for path in paths_of(group):
        if path not in live:
            return f"{path} is not a data file of the table now"
        if path in deleted_from:
            return f"rows of {path} were deleted since"
    return None


def _rebuilt(
    plan: CompactionPlan,
    facts: TableFacts,
    step: RewriteDataFiles,
    group: FileGroup,
    live: Mapping[str, DataFileFacts],
    index: DeleteIndex,
) -> FileGroup:
    files = [live[path] for path in paths_of(group)]
    for planned, file in zip(group.files, files, strict=True):
        if (planned.size_bytes, planned.record_count) != (file.size_bytes, file.record_count):
            raise _not_ours(f"it says of {file.path} what the table does not")
    key = files[0].partition
    if any(file.partition != key for file in files) or group.spec_id != key[0]:
        raise _not_ours(f"group {group.group_id} mixes partitions")
    delete_files = sum(index.applying_to(file).delete_files for file in files)
    chosen = _route(plan, facts, step, files, delete_files)
    if row_of(chosen.engine).decodes and not row_of(step.engine).decodes:
        raise PlanStale(
            f"The plan copies files of {facts.partition_name(key)}, which cannot be: "
            f"{chosen.reason}.",
            next_step=f"Plan again: neve plan {plan.table.typed}",
        )
    return replace(
        group,
        partition=facts.partition_name(key),
        partition_values=partition_values(facts, key),
        files=tuple(PlannedFile(f.path, f.size_bytes, f.record_count) for f in files),
        delete_files=delete_files,
        input_bytes=sum(file.size_bytes for file in files),
        records=sum(file.record_count for file in files),
        engine=chosen.engine,
        engine_reason=chosen.reason,
    )


def _route(
    plan: CompactionPlan,
    facts: TableFacts,
    step: RewriteDataFiles,
    files: list[DataFileFacts],
    delete_files: int,
) -> Route:
    """Whether the step's engine still takes the files; Spark may always be asked for."""
    group = GroupFacts(
        facts,
        files,
        delete_files,
        step.strategy,
        plan.min_row_group_bytes,
        plan.target_file_size_bytes,
    )
    return route(group, RewriteMode(step.engine.value))


def _step(facts: TableFacts, step: RewriteDataFiles, groups: list[FileGroup]) -> RewriteDataFiles:
    engines = {group.engine for group in groups}
    if len(engines) > 1:
        raise _not_ours("one step asks for several engines")
    return replace(
        step, engine=engines.pop(), groups=tuple(groups), filter=filter_of(facts, groups)
    )


def _no_file_twice(plan: CompactionPlan) -> None:
    seen: set[str] = set()
    for group in plan.groups:
        for path in paths_of(group):
            if path in seen:
                raise _not_ours(f"it names {path} twice")
            seen.add(path)
    ids = [group.group_id for group in plan.groups]
    if len(ids) != len(set(ids)):
        raise _not_ours("two of its groups have the same number")


def _sane_figures(plan: CompactionPlan) -> None:
    if not PLAN_ID.fullmatch(plan.plan_id):
        raise _not_ours("its id is none")
    _within("target_file_size_bytes", plan.target_file_size_bytes, 1, MAX_BYTES)
    _within("small_file_bytes", plan.small_file_bytes, 0, MAX_BYTES)
    _within("min_row_group_bytes", plan.min_row_group_bytes, 0, MAX_BYTES)
    _within("undo_window_seconds", plan.undo_window_seconds, 0, MAX_UNDO_WINDOW_SECONDS)
    _sane_estimates(plan.gain, plan.cost)


def _figures(cost: Cost) -> Iterator[float]:
    yield from (cost.bytes_read, cost.bytes_written, cost.get_requests, cost.put_requests)
    yield cost.memory_gb
    for interval in (cost.seconds, cost.usd):
        yield from (interval.low, interval.expected, interval.high)


def _sane_step(plan: CompactionPlan, step: RewriteDataFiles, facts: TableFacts) -> None:
    if step.operation != "rewrite_data_files" or not step.groups:
        raise _not_ours("one of its steps is none")
    _within("target_file_size_bytes", step.target_file_size_bytes, 1, MAX_BYTES)
    _within("min_file_size_bytes", step.min_file_size_bytes, 0, step.target_file_size_bytes - 1)
    _within("min_input_files", step.min_input_files, 2, 10**9)
    known = {column.name for column in facts.columns}
    columns = step.sort_columns
    if step.strategy.orders_rows != bool(columns) or len(set(columns)) != len(columns):
        raise _not_ours("its sort columns do not fit its strategy")
    if unknown := set(columns) - known:
        raise PlanStale(
            f"Table {plan.table} has no column {min(unknown)!r} to sort by.",
            next_step=f"Plan again: neve plan {plan.table.typed}",
        )


def _sane_group(step: RewriteDataFiles, group: FileGroup) -> None:
    _within("group_id", group.group_id, 0, MAX_GROUP_ID)
    if not group.files:
        raise _not_ours(f"group {group.group_id} has no files")
    most = len(group.files)
    if step.strategy.orders_rows:
        total = sum(file.size_bytes for file in group.files)
        by_size = math.ceil(total / step.target_file_size_bytes)
        _within("outputs by size", by_size, 0, max(MAX_OUTPUTS, 10 * most, total // MB))
        most = max(most, by_size)
    _within("expected_output_files", group.expected_output_files, 1, most)
    _sane_estimates(group.gain, group.cost)


def _sane_estimates(gain: float, cost: Cost) -> None:
    _within("its gain", gain, -MAX_ESTIMATE, MAX_ESTIMATE)
    for figure in _figures(cost):
        _within("an estimate", figure, 0, MAX_ESTIMATE)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise _not_ours(f"{name} is {value}")


def _not_ours(why: str) -> PlanFileError:
    return PlanFileError(
        f"The plan is not one that Neve would make: {why}.", next_step="Plan again."
    )
