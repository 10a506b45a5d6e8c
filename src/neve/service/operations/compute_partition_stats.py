"""Partitions are counted: how it is seen in the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from neve.model.facts import TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policies import (
    EffectivePolicy,
)
from neve.model.steps import (
    ComputePartitionStats,
)
from neve.planning.operations.compute_partition_stats import (
    has_partition_stats,
    plan_compute_partition_stats,
)
from neve.service.operations.one_step import AddsStatistics
from neve.service.services import Services


@dataclass(frozen=True)
class ComputePartitionStatsOperation(AddsStatistics):
    """Files and records of every partition, for the current snapshot."""

    operation = Operation.COMPUTE_PARTITION_STATS

    @classmethod
    def of(cls, policy: EffectivePolicy) -> Self:
        return cls()

    def plan(self, services: Services, facts: TableFacts) -> Plan[ComputePartitionStats]:
        return plan_compute_partition_stats(facts, services.clock())

    def has_landed(self, plan: Plan[ComputePartitionStats], job_id: str, after: TableFacts) -> bool:
        return has_partition_stats(after, plan.steps[0].snapshot_id)

    def sentence(
        self,
        plan: Plan[ComputePartitionStats],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        return f"The partitions of snapshot {plan.steps[0].snapshot_id} were counted."
