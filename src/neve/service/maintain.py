"""The whole product: survey, assess, plan, execute, record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from neve.model.errors import PlanStale
from neve.model.events import JobEvent
from neve.model.facts import TableFacts
from neve.model.health import Health
from neve.model.outcome import Outcome
from neve.model.plan import Plan
from neve.model.policies import EffectivePolicy
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.planning.cost import CostModel
from neve.planning.health import assess
from neve.planning.planner import PlanRequest, make_plan
from neve.planning.rates import learn_rates
from neve.service.apply import apply_plan
from neve.service.lease import StopSignal
from neve.service.policies import Policies
from neve.service.ports import (
    Clock,
    Engine,
    JobStore,
    MaintenanceLog,
    MetadataWriter,
    Reporter,
    Surveyor,
)

#: Times that a compaction is planned in all, where writers take every file of it.
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class Maintenance:
    """What Neve does, over the ports that it is given."""

    surveyor: Surveyor
    metadata: MetadataWriter
    make_engine: Callable[[], Engine]
    store: JobStore
    log: MaintenanceLog
    clock: Clock
    reporter: Reporter
    cost_model: CostModel
    lease_seconds: float
    policies: Policies = field(default_factory=Policies)
    sleep: Callable[[float], None] = time.sleep
    #: Where events of jobs go; nowhere by default.
    events: Callable[[JobEvent], None] = lambda event: None
    stop: StopSignal = field(default_factory=StopSignal)

    @property
    def engine(self) -> Engine:
        """Made when something is to be changed: looking needs no engine."""
        return self.make_engine()

    def with_reporter(self, reporter: Reporter) -> Maintenance:
        return replace(self, reporter=reporter)

    def health(self, table: TableRef) -> Health:
        facts = self.surveyor.survey(table)
        return assess(facts, self.policies.effective(facts).compaction, self.clock()).health

    def effective(
        self, table: TableRef, overrides: Mapping[str, object] | None = None
    ) -> EffectivePolicy:
        """The table's policy, with what the caller said as its strongest layer."""
        return self.policies.effective(self.surveyor.outline(table), overrides)

    def plan(
        self, table: TableRef, request: PlanRequest, *, where: str | None, policy: CompactionPolicy
    ) -> Plan:
        return self.plan_from(self.surveyor.survey(table, where=where), request, policy)

    def plan_from(self, facts: TableFacts, request: PlanRequest, policy: CompactionPolicy) -> Plan:
        """The plan for a table that was surveyed already."""
        now = self.clock()
        assessment = assess(facts, policy, now)
        rates = learn_rates(self.store.outcomes(), facts.table)
        return make_plan(
            facts, assessment, policy, request, cost_model=self.cost_model, rates=rates, now=now
        )

    def apply(self, plan: Plan, *, log: bool = True) -> Outcome:
        """Run exactly this plan, or refuse it."""
        # How long a run can be undone is for the deployment to say, and not for a file.
        told = self.effective(plan.table).compaction.undo_window_seconds
        window = max(plan.undo_window_seconds, told)
        return apply_plan(self, replace(plan, undo_window_seconds=window), log=log)

    def compact(
        self,
        table: TableRef,
        request: PlanRequest,
        *,
        where: str | None,
        policy: CompactionPolicy,
        planned: Plan | None = None,
        log: bool = True,
    ) -> Outcome:
        """Plan and run; what writers take meanwhile is planned again at once.

        A plan that was made already is run as far as it still holds.
        """

        def plan() -> Plan:
            return self.plan(table, request, where=where, policy=policy)

        def replan(facts: TableFacts) -> Plan:
            return self.plan_from(facts, request, policy)

        made = planned or plan()
        # The first look is cheap. What an engine that starts takes is not taken off the plan.
        if not made.is_empty and self.engine.warm_up() and planned is None:
            made = plan()
        for _ in range(MAX_ATTEMPTS - 1):
            try:
                return apply_plan(self, made, replan=replan, log=log)
            except PlanStale:
                made = plan()
        return apply_plan(self, made, replan=replan, log=log)
