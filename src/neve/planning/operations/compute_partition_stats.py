"""When partition statistics are computed: there are none for the current snapshot."""

from __future__ import annotations

from datetime import datetime

from neve.model.facts import StatisticsKind, TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.steps import ComputePartitionStats
from neve.planning.operations.intent import operation_plan


def plan_compute_partition_stats(facts: TableFacts, now: datetime) -> Plan[ComputePartitionStats]:
    """They count files, so that every commit makes them old, even one that changes no row."""
    if reason := _why_not(facts):
        return operation_plan(Operation.COMPUTE_PARTITION_STATS, facts, now, (), reason)
    assert facts.snapshot_id is not None
    return operation_plan(
        Operation.COMPUTE_PARTITION_STATS,
        facts,
        now,
        [ComputePartitionStats(facts.snapshot_id)],
        f"Snapshot {facts.snapshot_id} has no partition statistics.",
    )


def has_partition_stats(facts: TableFacts, snapshot_id: int | None) -> bool:
    return any(
        file.kind is StatisticsKind.PARTITION and file.snapshot_id == snapshot_id
        for file in facts.statistics
    )


def _why_not(facts: TableFacts) -> str | None:
    if facts.snapshot_id is None:
        return "The table was never written."
    if all(spec.is_unpartitioned for spec in facts.specs.values()):
        return "The table is not partitioned."
    if has_partition_stats(facts, facts.snapshot_id):
        return f"Snapshot {facts.snapshot_id} has partition statistics."
    return None
