"""Kept plans in the SQLite file."""

from __future__ import annotations

import sqlite3

from neve.model.kept_plan import MAX_KEPT_PLANS, KeptPlan
from neve.model.table import TableRef
from neve.store.database import NOW, Database
from neve.store.values import moment, table_of

_COLUMNS = "plan_id, table_name, created_at, requested_by, approved_at, approved_by"
_KEEP = (
    "INSERT OR IGNORE INTO plans (plan_id, table_name, created_at, document, requested_by) "
    f"VALUES (?, ?, {NOW}, ?, ?)"
)
#: Whoever has the most of them makes room: nobody's plans push out those of others.
_FORGET = (
    "DELETE FROM plans WHERE position = (SELECT min(position) FROM plans GROUP BY requested_by "
    "ORDER BY count(*) DESC, min(position) LIMIT 1) "
    f"AND (SELECT count(*) FROM plans) > {MAX_KEPT_PLANS:d}"
)
_ONE = f"SELECT {_COLUMNS}, document FROM plans WHERE plan_id = ?"
_NEWEST = f"SELECT {_COLUMNS}, '' AS document FROM plans ORDER BY position DESC LIMIT ?"
_APPROVE = (
    f"UPDATE plans SET approved_at = {NOW}, approved_by = ? "
    "WHERE plan_id = ? AND approved_at IS NULL"
)


class SqlitePlans(Database):
    """The newest plans, each with who agreed to it."""

    def keep(self, plan_id: str, table: TableRef, document: str, requested_by: str) -> KeptPlan:
        with self._write() as db:
            db.execute(_KEEP, (plan_id, str(table), document, requested_by))
            db.execute(_FORGET)
            return _plan(db.execute(_ONE, (plan_id,)).fetchone())

    def plan(self, plan_id: str) -> KeptPlan | None:
        found = self._rows("plans", _ONE, (plan_id,))
        return _plan(found[0]) if found else None

    def newest(self, limit: int = 100) -> list[KeptPlan]:
        return [_plan(row) for row in self._rows("plans", _NEWEST, (limit,))]

    def approve(self, plan_id: str, by: str) -> KeptPlan | None:
        with self._write() as db:
            db.execute(_APPROVE, (by, plan_id))
        return self.plan(plan_id)


def _plan(row: sqlite3.Row) -> KeptPlan:
    approved_at = row["approved_at"]
    return KeptPlan(
        plan_id=row["plan_id"],
        table=table_of(row["table_name"]),
        created_at=moment(row["created_at"]),
        document=row["document"],
        requested_by=row["requested_by"],
        approved_at=None if approved_at is None else moment(approved_at),
        approved_by=row["approved_by"],
    )
