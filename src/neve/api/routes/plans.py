"""Plans as resources: made, shown, approved, and applied exactly, or refused where stale."""

from __future__ import annotations

import json
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from neve.access.rights import Right
from neve.api.access import TheNeve, TheSettings, needs
from neve.api.bodies import QueuedJob, queued_job
from neve.api.problems import Refusal, not_found
from neve.api.routes.compact import CompactRequest
from neve.api.submitting import API, job_path
from neve.api.values import Asking, Body, Limit, PathPart, Time, text_of
from neve.documents import from_text
from neve.model.errors import PlanFileError
from neve.model.job import Job, Trigger
from neve.model.kept_plan import KeptPlan
from neve.model.plan import CompactionPlan
from neve.neve import Neve

router = APIRouter(prefix="/plans", tags=["plans"])

PlanStatus = Literal["made", "approved", "applied"]


class ListedPlan(BaseModel):
    """A plan in a list."""

    plan_id: str
    table: str
    status: PlanStatus
    created_at: Time
    requested_by: str
    approved_at: Time | None
    approved_by: str
    job_id: str | None = Field(description="The job that it became.")


class PlanBody(ListedPlan):
    """A plan: what it does, why, and what it should take."""

    snapshot_id: int | None
    has_work: bool
    reason: str
    estimated_duration_seconds: float
    estimated_cost_usd: float
    plan: dict[str, Any] = Field(description="The whole plan: steps, file groups, reasons.")


class Plans(BaseModel):
    """Plans that are kept, newest first."""

    plans: list[ListedPlan]


class Approval(Body):
    """Who agrees to the plan."""

    approved_by: text_of(256)  # type: ignore[valid-type]


@router.post("", status_code=201, dependencies=[needs(Right.OPERATE)])
def make_plan(body: CompactRequest, neve: TheNeve, response: Response) -> PlanBody:
    """Plan a compaction and keep the plan. The table is not changed."""
    overrides = body.options.overrides(body.strategy)
    plan = neve.plan_compaction(body.table_name(), overrides=overrides)
    kept = neve.keep_plan(plan, requested_by=body.requested_by)
    response.headers["Location"] = f"{API}/plans/{kept.plan_id}"
    return _body(neve, kept)


@router.get("", dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def plans(neve: TheNeve, limit: Limit = 50) -> Plans:
    """Plans that are kept, newest first."""
    found = neve.kept_plans(limit)
    return Plans(plans=[ListedPlan(**_listed(neve, kept)) for kept in found])


@router.get("/{plan_id}", dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def plan(plan_id: PathPart, neve: TheNeve) -> PlanBody:
    """One plan."""
    return _body(neve, _kept(neve, plan_id))


@router.post("/{plan_id}/approve", dependencies=[needs(Right.OPERATE, asks_catalogs=False)])
def approve(plan_id: PathPart, body: Approval, neve: TheNeve) -> PlanBody:
    """Agree to a plan. The first approval counts."""
    kept = neve.approve_plan(plan_id, body.approved_by)
    if kept is None:
        raise _no_plan(plan_id)
    return _body(neve, kept)


@router.post("/{plan_id}/apply", status_code=202, dependencies=[needs(Right.OPERATE)])
def apply(
    plan_id: PathPart,
    neve: TheNeve,
    settings: TheSettings,
    response: Response,
    body: Asking | None = None,
) -> QueuedJob:
    """Queue exactly this plan; a second call is the same job. Refused where it is stale."""
    kept, asked = _kept(neve, plan_id), body or Asking()
    if settings.plans_need_approval and kept.approved_at is None:
        raise Refusal(
            409,
            "plan-not-approved",
            f"Plan {plan_id} was not approved.",
            f"POST {API}/plans/{plan_id}/approve",
        )
    job = neve.submit_kept_plan(
        plan_id,
        requested_by=asked.requested_by,
        tenant=asked.tenant,
        priority=asked.priority,
        trigger=Trigger.API,
    )
    response.headers["Location"] = job_path(job.job_id)
    return queued_job(job)


def _kept(neve: Neve, plan_id: str) -> KeptPlan:
    kept = neve.kept_plan(plan_id)
    if kept is None:
        raise _no_plan(plan_id)
    return kept


def _no_plan(plan_id: str) -> Refusal:
    return not_found("plan", plan_id, "POST /api/v1/plans makes one; old ones are forgotten.")


def _listed(neve: Neve, kept: KeptPlan) -> dict[str, Any]:
    job = neve.job_of_plan(kept.plan_id)
    return {
        "plan_id": kept.plan_id,
        "table": str(kept.table),
        "status": _status(kept, job),
        "created_at": kept.created_at,
        "requested_by": kept.requested_by,
        "approved_at": kept.approved_at,
        "approved_by": kept.approved_by,
        "job_id": job.job_id if job else None,
    }


def _status(kept: KeptPlan, job: Job | None) -> PlanStatus:
    if job is not None:
        return "applied"
    return "made" if kept.approved_at is None else "approved"


def _body(neve: Neve, kept: KeptPlan) -> PlanBody:
    try:
        plan = from_text(CompactionPlan, kept.document)
    except (ValueError, TypeError, KeyError) as error:
        raise PlanFileError(
            f"Plan {kept.plan_id} was made by another version of Neve.",
            next_step=f"POST {API}/plans makes one of this version.",
        ) from error
    return PlanBody(
        **_listed(neve, kept),
        snapshot_id=plan.snapshot_id,
        has_work=not plan.is_empty,
        reason=plan.reason,
        estimated_duration_seconds=plan.cost.seconds.expected,
        estimated_cost_usd=plan.cost.usd.expected,
        plan=json.loads(kept.document),
    )
