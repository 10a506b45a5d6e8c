"""Kept plans in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from neve.model.kept_plan import MAX_KEPT_PLANS, KeptPlan
from neve.model.table import TableRef


class MemoryPlans:
    """The newest plans, in a dictionary."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._plans: dict[str, KeptPlan] = {}

    def keep(self, plan_id: str, table: TableRef, document: str, requested_by: str) -> KeptPlan:
        made = KeptPlan(plan_id, table, self._clock(), document, requested_by)
        kept = self._plans.setdefault(plan_id, made)
        while len(self._plans) > MAX_KEPT_PLANS:
            counts = Counter(plan.requested_by for plan in self._plans.values())
            most = max(counts.values())
            plans = self._plans.values()
            oldest = next(plan for plan in plans if counts[plan.requested_by] == most)
            del self._plans[oldest.plan_id]
        return kept

    def plan(self, plan_id: str) -> KeptPlan | None:
        return self._plans.get(plan_id)

    def newest(self, limit: int = 100) -> list[KeptPlan]:
        return [replace(plan, document="") for plan in list(self._plans.values())[::-1][:limit]]

    def approve(self, plan_id: str, by: str) -> KeptPlan | None:
        plan = self._plans.get(plan_id)
        if plan is not None and plan.approved_at is None:
            self._plans[plan_id] = replace(plan, approved_at=self._clock(), approved_by=by)
        return self._plans.get(plan_id)
