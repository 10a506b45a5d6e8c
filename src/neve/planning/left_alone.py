"""What earlier runs found that nobody rewrites rightly is not planned again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from neve.model.facts import DataFileFacts, TableFacts
from neve.model.outcome import LeftAlone, Outcome
from neve.model.plan import NothingToDo, Reason
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import Engine
from neve.planning.refusals import GroupFacts
from neve.planning.routing import route


def without_left_alone(
    facts: TableFacts,
    outcomes: Sequence[Outcome],
    arguments: RewriteDataFilesArguments,
    min_row_group_bytes: int,
) -> tuple[TableFacts, tuple[Reason, ...]]:
    """The table with those files out of the question, and a reason for each partition of theirs.

    Data files never change, so what was found once holds as long as schema and mapping of
    names are the same.
    """
    known = {
        left.path: left
        for outcome in outcomes
        if outcome.table == facts.table
        for left in outcome.left_alone
        if (left.schema_id, left.name_mapping) == (facts.schema_id, facts.name_mapping)
    }
    if not known:
        return facts, ()
    left = {
        file.path
        for file in facts.data_files
        if file.path in known
        and file.selected
        and (
            known[file.path].refused_by_all
            or _goes_to_spark(facts, file, arguments, min_row_group_bytes)
        )
    }
    # Where rows are ordered, Iceberg would take such a file along with its neighbours.
    whole = arguments.strategy.orders_rows
    spoiled = {f.partition for f in facts.data_files if f.path in left} if whole else set()
    files = tuple(
        replace(f, selected=False) if f.path in left or f.partition in spoiled else f
        for f in facts.data_files
    )
    return replace(facts, data_files=files), _reasons(facts, known, left)


def _goes_to_spark(
    facts: TableFacts,
    file: DataFileFacts,
    arguments: RewriteDataFilesArguments,
    min_row_group_bytes: int,
) -> bool:
    group = GroupFacts(facts, [file], 0, arguments.strategy, min_row_group_bytes)
    return route(group, arguments.engine).engine is Engine.SPARK


def _reasons(
    facts: TableFacts, known: Mapping[str, LeftAlone], left: set[str]
) -> tuple[Reason, ...]:
    by_partition: dict[str, list[str]] = defaultdict(list)
    for file in facts.data_files:
        if file.path in left:
            by_partition[facts.partition_name(file.partition)].append(file.path)
    return tuple(
        Reason(
            NothingToDo.LEFT_ALONE,
            f"Partition {name}: {len(paths)} file{'s' if len(paths) != 1 else ''} would be "
            f"rewritten wrongly by everybody, and {'stay' if len(paths) != 1 else 'stays'}: of "
            f"{paths[0]} {known[paths[0]].reason}.",
            name,
        )
        for name, paths in by_partition.items()
    )
