"""Plans as resources: made, kept, approved, and applied exactly once."""

from __future__ import annotations

import json

from neve.documents import to_text
from neve.model.errors import InputError
from neve.model.job import Job, JobRequest
from neve.model.kept_plan import MAX_PLAN_BYTES, KeptPlan
from neve.model.plan import CompactionPlan
from neve.service.operations.rewrite_data_files import OPERATION, PLAN
from neve.service.run_job import submit
from neve.service.services import Services


def keep_plan(services: Services, plan: CompactionPlan, requested_by: str) -> KeptPlan:
    """Remember a plan, so that it can be shown, approved and applied."""
    text = to_text(plan)
    if len(text) > MAX_PLAN_BYTES:
        raise InputError(
            f"The plan for table {plan.table} is too large to be kept.",
            next_step="Plan a part of the table: say a filter or a budget.",
        )
    return services.store.plans.keep(plan.plan_id, plan.table, text, requested_by)


def key_of(plan_id: str) -> str:
    """The idempotency key under which a plan is applied: it becomes one job."""
    return f"plan:{plan_id}"


def submit_kept(services: Services, kept: KeptPlan, asked: JobRequest) -> Job:
    """Queue this plan, or raise PlanStale; a plan that was applied is its job."""
    if known := services.store.job_of_key(key_of(kept.plan_id)):
        return known
    request = JobRequest(
        kept.table,
        str(OPERATION),
        {**asked.arguments, PLAN: json.loads(kept.document)},
        asked.requested_by,
        asked.trigger,
        asked.priority,
        key_of(kept.plan_id),
        asked.tenant,
        room=asked.room,
    )
    return submit(services, request)
