"""Who did what: the audit log, as far as the caller may see it."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from neve.access.chain import AuditRow
from neve.access.rights import Right
from neve.api.access import TheNeve, needs
from neve.api.values import CursorQuery, Limit, Time, make_cursor, read_cursor

router = APIRouter(prefix="/audit", tags=["audit"])


class AuditLine(BaseModel):
    """One row: who asked for what, and what came of it."""

    number: int
    at: Time
    who: str
    action: str
    outcome: str
    tenant: str
    table: str
    job_id: str
    plan_digest: str
    files_digest: str
    detail: str
    digest: str


class AuditPage(BaseModel):
    """Rows, newest first. `neve audit verify` checks that they are all there."""

    rows: list[AuditLine]
    next_cursor: str | None


@router.get("", dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def audit(neve: TheNeve, limit: Limit = 100, cursor: CursorQuery = None) -> AuditPage:
    """Rows about tables that the caller sees, of its own tenant; all to whoever sees all."""
    before = read_cursor(cursor, int)[0] if cursor else None
    rows, last = neve.audit_page(before, limit)
    return AuditPage(
        rows=[_line(row) for row in rows],
        next_cursor=make_cursor(last) if last is not None else None,
    )


def _line(row: AuditRow) -> AuditLine:
    entry = row.entry
    return AuditLine(
        number=row.number,
        at=entry.at,
        who=entry.who,
        action=entry.action,
        outcome=entry.outcome,
        tenant=entry.tenant,
        table=entry.table,
        job_id=entry.job_id,
        plan_digest=entry.plan_digest,
        files_digest=entry.files_digest,
        detail=entry.detail,
        digest=row.digest,
    )
