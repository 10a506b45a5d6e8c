"""Distinct values of columns are counted: how it is seen in the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from neve.model.facts import StatisticsKind, TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policies import (
    ComputeTableStatsArguments,
    EffectivePolicy,
)
from neve.model.steps import (
    ComputeTableStats,
)
from neve.planning.operations.compute_table_stats import plan_compute_table_stats
from neve.service.operations.one_step import AddsStatistics
from neve.service.services import Services


@dataclass(frozen=True)
class ComputeTableStatsOperation(AddsStatistics):
    """Distinct values of columns, for the rows as they are now."""

    operation = Operation.COMPUTE_TABLE_STATS
    arguments: ComputeTableStatsArguments = field(default_factory=ComputeTableStatsArguments)

    @classmethod
    def of(cls, policy: EffectivePolicy) -> Self:
        return cls(policy.compute_table_stats)

    def plan(self, services: Services, facts: TableFacts) -> Plan[ComputeTableStats]:
        return plan_compute_table_stats(facts, self.arguments, services.clock())

    def has_landed(self, plan: Plan[ComputeTableStats], job_id: str, after: TableFacts) -> bool:
        columns = after.snapshot_columns or after.columns
        wanted = {c.field_id for c in columns if c.name in plan.steps[0].columns}
        return any(
            file.kind is StatisticsKind.TABLE
            and file.snapshot_id == plan.steps[0].snapshot_id
            and wanted <= file.field_ids
            for file in after.statistics
        )

    def sentence(
        self,
        plan: Plan[ComputeTableStats],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        return f"Distinct values were counted in {', '.join(plan.steps[0].columns)}."
