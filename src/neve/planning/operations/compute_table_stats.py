"""When column statistics are computed: there are none for the rows as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from neve.model.counts import many
from neve.model.errors import InputError
from neve.model.facts import ColumnFacts, StatisticsKind, TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policies import ComputeTableStatsArguments
from neve.model.steps import ComputeTableStats
from neve.planning.operations.intent import operation_plan

#: Types without one value a row.
NESTED = ("struct<", "list<", "map<", "variant", "unknown")


def plan_compute_table_stats(
    facts: TableFacts, arguments: ComputeTableStatsArguments, now: datetime
) -> Plan[ComputeTableStats]:
    """Compute what is missing, beside what is there: new statistics replace those of a snapshot."""
    if facts.snapshot_id is None:
        reason = "The table was never written."
        return operation_plan(Operation.COMPUTE_TABLE_STATS, facts, now, (), reason)
    wanted = {column.field_id for column in _wanted(facts, arguments.columns)}
    known = known_fields(facts)
    if wanted <= known:
        reason = (
            f"Statistics of {many(len(wanted), 'column')} are there, and no row has changed since."
            if wanted
            else "No column can have statistics."
        )
        return operation_plan(Operation.COMPUTE_TABLE_STATS, facts, now, (), reason)
    columns = tuple(
        column.name for column in _flat_columns(facts) if column.field_id in wanted | known
    )
    return operation_plan(
        Operation.COMPUTE_TABLE_STATS,
        facts,
        now,
        [ComputeTableStats(facts.snapshot_id, columns)],
        f"{len(wanted - known)} columns have no statistics for the rows as they are now.",
    )


def known_fields(facts: TableFacts) -> frozenset[int]:
    """Columns with statistics that still describe the rows."""
    valid = set(_snapshots_with_these_rows(facts))
    return frozenset(
        field
        for file in facts.statistics
        if file.kind is StatisticsKind.TABLE and file.snapshot_id in valid
        for field in file.field_ids
    )


def _snapshots_with_these_rows(facts: TableFacts) -> Iterator[int]:
    """The current snapshot, and those before it as long as only rewrites lie between."""
    for snapshot in facts.ancestry():
        yield snapshot.snapshot_id
        if snapshot.operation != "replace":
            return


def _flat_columns(facts: TableFacts) -> list[ColumnFacts]:
    columns = facts.snapshot_columns or facts.columns
    return [column for column in columns if not column.type.startswith(NESTED)]


def _wanted(facts: TableFacts, names: tuple[str, ...]) -> list[ColumnFacts]:
    columns = {column.name: column for column in _flat_columns(facts)}
    for name in names:
        if name not in columns:
            raise InputError(
                f"Table {facts.table} has no column {name!r} of which values can be counted.",
                next_step=f"Its columns are {', '.join(columns)}.",
            )
    return [columns[name] for name in names or columns]
