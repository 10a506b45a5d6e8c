"""The whole product: survey, assess, plan, execute, record."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from neve.model.errors import PlanStale
from neve.model.facts import TableFacts
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
from neve.service.ports import Clock, Engine, JobStore, MaintenanceLog, Reporter, Surveyor

#: Times that a compaction is planned in all, where writers take its files.
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class Maintenance:
    """What Neve does, over the ports that it is given."""

    surveyor: Surveyor
    make_engine: Callable[[], Engine]
    store: JobStore
    log: MaintenanceLog
    clock: Clock
    say: Reporter
    policy: Policy
    cost_model: CostModel
    lease_seconds: float
    sleep: Callable[[float], None] = time.sleep

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
        return self.plan_from(self.surveyor.survey(table, where=where), request, policy)

    def plan_from(self, facts: TableFacts, request: PlanRequest, policy: Policy) -> Plan:
        """The plan for a table that was surveyed already."""
        now = self.clock()
        assessment = assess(facts, policy, now)
        rates = learn_rates(self.store.outcomes(), facts.table)
        return make_plan(
            facts, assessment, policy, request, cost_model=self.cost_model, rates=rates, now=now
        )

    def apply(self, plan: Plan, *, log: bool = True) -> Outcome:
        return apply_plan(self, plan, log=log)

    def compact(
        self,
        table: TableRef,
        request: PlanRequest,
        *,
        where: str | None,
        policy: Policy,
        log: bool = True,
    ) -> Outcome:
        """Plan and run; where writers were faster, plan again, a few times and not at once."""
        outcome = None
        for attempt in range(MAX_ATTEMPTS):
            plan = self.plan(table, request, where=where, policy=policy)
            if outcome is not None and plan.is_empty:
                break
            try:
                outcome = self.apply(plan, log=log)
            except PlanStale:
                if attempt == MAX_ATTEMPTS - 1:
                    raise
            if outcome is not None and not outcome.conflicts:
                break
            self.sleep(random.uniform(0.5, 1.5) * 2**attempt)
        assert outcome is not None
        return outcome
