"""Policies in the state database."""

from __future__ import annotations

import sqlite3

from neve.model.stored_policy import StoredPolicy
from neve.store.database import NOW, Database
from neve.store.values import moment

_ALL = "SELECT * FROM policies ORDER BY name"
_ONE = "SELECT * FROM policies WHERE name = ?"
_REMOVE = "DELETE FROM policies WHERE name = ? AND revision = ?"
_ADD = f"INSERT INTO policies (name, document, updated_at, updated_by) VALUES (?, ?, {NOW}, ?)"


class SqlitePolicies(Database):
    """Policies by name, changed only by who knows what stands there."""

    def all(self) -> list[StoredPolicy]:
        return [_policy(row) for row in self._rows("policies", _ALL, ())]

    def put(
        self, name: str, document: str, *, expected: int | None, updated_by: str
    ) -> StoredPolicy | None:
        with self._write() as db:
            row = db.execute(_ONE, (name,)).fetchone()
            if (row["revision"] if row else None) != expected:
                return None
            db.execute(_REMOVE, (name, expected))
            db.execute(_ADD, (name, document, updated_by))
            return _policy(db.execute(_ONE, (name,)).fetchone())

    def remove(self, name: str, *, expected: int) -> bool:
        with self._write() as db:
            return db.execute(_REMOVE, (name, expected)).rowcount > 0


def _policy(row: sqlite3.Row) -> StoredPolicy:
    return StoredPolicy(
        row["name"],
        row["document"],
        row["revision"],
        moment(row["updated_at"]),
        row["updated_by"],
    )
