"""What waits for a second person: shown, agreed to, refused."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel

from neve.access.approvals import Approval
from neve.access.rights import Right
from neve.api.access import TheNeve, needs
from neve.api.problems import not_found
from neve.api.values import Limit, Time
from neve.guarding import Guarded

router = APIRouter(prefix="/approvals", tags=["approvals"])

ApprovalId = Annotated[str, Path(min_length=1, max_length=256)]


class ApprovalBody(BaseModel):
    """A request that a second person must agree to."""

    approval_id: str
    state: str
    table: str
    operation: str
    arguments: dict[str, Any]
    requested_by: str
    decided_by: str
    tenant: str
    created_at: Time


class ApprovalList(BaseModel):
    """Approvals, newest first."""

    approvals: list[ApprovalBody]


@router.get("", dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def approvals(neve: TheNeve, limit: Limit = 50) -> ApprovalList:
    """What a second person was asked to agree to, newest first."""
    return ApprovalList(approvals=[_body(item) for item in neve.approvals(limit)])


@router.get("/{approval_id}", dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def approval(approval_id: ApprovalId, neve: TheNeve) -> ApprovalBody:
    """One of them."""
    return _body(_found(neve, approval_id))


@router.post("/{approval_id}/approve", dependencies=[needs(Right.OPERATE, asks_catalogs=False)])
def approve(approval_id: ApprovalId, neve: TheNeve) -> ApprovalBody:
    """Agree: the request may be sent again, once. Whoever asked cannot agree."""
    return _body(neve.decide(_found(neve, approval_id), agrees=True))


@router.post("/{approval_id}/reject", dependencies=[needs(Right.OPERATE, asks_catalogs=False)])
def reject(approval_id: ApprovalId, neve: TheNeve) -> ApprovalBody:
    """Refuse; the request needs another approval."""
    return _body(neve.decide(_found(neve, approval_id), agrees=False))


def _found(neve: Guarded, approval_id: str) -> Approval:
    found = neve.approval(approval_id)
    if found is None:
        raise not_found("approval", approval_id, "GET /api/v1/approvals lists them.")
    return found


def _body(approval: Approval) -> ApprovalBody:
    return ApprovalBody(
        approval_id=approval.approval_id,
        state=approval.state,
        table=str(approval.table),
        operation=approval.operation,
        arguments=approval.read_arguments(),
        requested_by=approval.requested_by,
        decided_by=approval.decided_by,
        tenant=approval.tenant,
        created_at=approval.created_at,
    )
