"""Tables that workers leave alone, because jobs on them kept failing."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from neve.access.rights import Right
from neve.api.access import TheNeve, needs
from neve.api.problems import not_found
from neve.api.values import Body, ShortText, TablePath, Time

router = APIRouter(prefix="/set-aside", tags=["set-aside tables"])


class SetAside(BaseModel):
    """A table that workers leave alone."""

    table: str
    since: Time
    reason: str
    failures_in_a_row: int
    retry_at: Time | None = Field(
        description="When one of its jobs is tried; null where a person set it aside."
    )


class SetAsideTables(BaseModel):
    """All of them, the oldest first."""

    tables: list[SetAside]


class SetAsideRequest(Body):
    """Why workers should leave the table alone."""

    reason: ShortText


@router.get("", dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def set_aside_tables(neve: TheNeve) -> SetAsideTables:
    """Tables that are set aside, each with the reason."""
    found = [
        SetAside(
            table=str(aside.table),
            since=aside.since,
            reason=aside.reason,
            failures_in_a_row=aside.failures_in_a_row,
            retry_at=aside.retry_at,
        )
        for aside in neve.set_aside_tables()
    ]
    return SetAsideTables(tables=found)


@router.put("/{table}", status_code=204, dependencies=[needs(Right.OPERATE)])
def set_aside(table: TablePath, body: SetAsideRequest, neve: TheNeve) -> None:
    """Let workers leave a table alone; its jobs stay queued."""
    neve.set_aside(neve.known_table(table), body.reason)


@router.delete("/{table}", status_code=204, dependencies=[needs(Right.OPERATE)])
def put_back(table: TablePath, neve: TheNeve) -> None:
    """Let workers take the table's jobs again."""
    if not neve.put_back(table):
        raise not_found("set-aside table", table, "GET /api/v1/set-aside lists them.")
