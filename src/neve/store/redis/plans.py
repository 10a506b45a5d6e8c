"""Kept plans on a Redis server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neve.model.kept_plan import MAX_KEPT_PLANS, KeptPlan
from neve.model.table import TableRef
from neve.store.redis.rows import moment_of, pairs
from neve.store.redis.server import RedisServer
from neve.store.values import table_of


class RedisPlans:
    """The newest plans, each with who agreed to it."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def keep(self, plan_id: str, table: TableRef, document: str, requested_by: str) -> KeptPlan:
        sent = (plan_id, str(MAX_KEPT_PLANS), str(table), document, requested_by)
        self._server.change("keep_plan", *sent)
        kept = self.plan(plan_id)
        assert kept is not None
        return kept

    def plan(self, plan_id: str) -> KeptPlan | None:
        _, row = self._server.read("read_plan", plan_id)
        return _plan(row) if row else None

    def newest(self, limit: int = 100) -> list[KeptPlan]:
        _, rows = self._server.read("newest_plans", str(limit))
        return [_plan(row) for row in rows]

    def approve(self, plan_id: str, by: str) -> KeptPlan | None:
        self._server.change("approve_plan", plan_id, by)
        return self.plan(plan_id)


def _plan(flat: Sequence[Any]) -> KeptPlan:
    row = pairs(flat)
    approved_at = row.get("approved_at")
    return KeptPlan(
        plan_id=row["plan_id"],
        table=table_of(row["table"]),
        created_at=moment_of(row["created_at"]),
        document=row.get("document", ""),
        requested_by=row["requested_by"],
        approved_at=moment_of(approved_at) if approved_at else None,
        approved_by=row.get("approved_by", ""),
    )
