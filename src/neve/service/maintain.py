"""The whole product: survey, assess, plan, execute, record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from neve.model.health import Health
from neve.model.outcome import Outcome
from neve.model.plan import Plan
from neve.model.policy import Policy
from neve.model.table import TableRef
from neve.planning.cost import CostModel
from neve.planning.health import assess
from neve.planning.planner import PlanRequest, make_plan
from neve.planning.rates import learn_rates
from neve.service.apply import apply_plan
from neve.service.ports import Clock, Engine, JobStore, Reporter, Surveyor


@dataclass(frozen=True)
class Maintenance:
    """What Neve does, over the ports that it is given."""

    surveyor: Surveyor
    make_engine: Callable[[], Engine]
    store: JobStore
    clock: Clock
    say: Reporter
    policy: Policy
    cost_model: CostModel
    lease_seconds: float

    @cached_property
    def engine(self) -> Engine:
        """Made when something is to be changed: looking needs no engine."""
        return self.make_engine()

    def health(self, table: TableRef) -> Health:
        facts = self.surveyor.survey(table)
        return assess(facts, self.policy, self.clock()).health

    def plan(
        self, table: TableRef, request: PlanRequest, *, where: str | None, policy: Policy
    ) -> Plan:
        facts = self.surveyor.survey(table, where=where)
        now = self.clock()
        assessment = assess(facts, policy, now)
        rates = learn_rates(self.store.outcomes(), table)
        return make_plan(
            facts, assessment, policy, request, cost_model=self.cost_model, rates=rates, now=now
        )

    def apply(self, plan: Plan) -> Outcome:
        return apply_plan(self, plan)

    def compact(
        self, table: TableRef, request: PlanRequest, *, where: str | None, policy: Policy
    ) -> Outcome:
        return self.apply(self.plan(table, request, where=where, policy=policy))
