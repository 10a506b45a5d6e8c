"""The verbs of the product over its services: health, plan, apply, compact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from neve.documents import to_document
from neve.model.facts import TableFacts
from neve.model.health import Health
from neve.model.job import OVERRIDES, JobRequest
from neve.model.outcome import Outcome
from neve.model.plan import CompactionPlan
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.planning.health import assess
from neve.policy.saying import say_compaction
from neve.service.context import JobContext
from neve.service.operations.rewrite_data_files import (
    OPERATION,
    PLAN,
    apply_exactly,
    compact,
    plan_compaction,
    refuse_if_stale,
)
from neve.service.run_job import run_work
from neve.service.services import Services


@dataclass(frozen=True)
class Maintenance(Services):
    """What Neve does with one table, over the ports that it is given."""

    def health(self, table: TableRef, *, with_set_policies: bool = True) -> Health:
        """Without the policies that were set while Neve runs, no state is asked."""
        facts = self.surveyor.survey(table)
        policies = self.policies if with_set_policies else self.policies.configured
        return assess(facts, policies.effective(facts).compaction, self.clock()).health

    def plan(
        self,
        table: TableRef,
        arguments: RewriteDataFilesArguments,
        *,
        policy: CompactionPolicy,
        max_cost_usd: float | None = None,
    ) -> CompactionPlan:
        facts = self.surveyor.survey(table, where=arguments.where)
        return plan_compaction(self, facts, arguments, policy, max_cost_usd)

    def apply(self, plan: CompactionPlan, *, log: bool = True) -> Outcome:
        """Run exactly this plan, or refuse it."""
        seen = refuse_if_stale(self, plan)
        request = JobRequest(plan.table, str(OPERATION), {PLAN: to_document(plan)})
        return run_work(self, request, partial(apply_exactly, plan=plan, seen=seen), log=log)

    def compact(
        self,
        table: TableRef,
        arguments: RewriteDataFilesArguments,
        *,
        policy: CompactionPolicy,
        max_cost_usd: float | None = None,
        log: bool = True,
    ) -> Outcome:
        """Plan and run. What is asked for here and not by the table's policy is kept as keys."""
        said = {OVERRIDES: say_compaction(policy, arguments, max_cost_usd)}

        def work(context: JobContext) -> Outcome:
            def plan_of(facts: TableFacts) -> CompactionPlan:
                return plan_compaction(context.services, facts, arguments, policy, max_cost_usd)

            return compact(context, plan_of, where=arguments.where)

        return run_work(self, JobRequest(table, str(OPERATION), said), work, log=log)
