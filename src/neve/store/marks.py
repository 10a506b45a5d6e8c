"""Marks in the state database."""

from __future__ import annotations

from neve.store.database import Database

READ = "SELECT value FROM marks WHERE name = ?"
WRITE = (
    "INSERT INTO marks (name, value) VALUES (?, ?) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


class SqliteMarks(Database):
    """Short texts by name, changed only by who knows what stands there."""

    def get(self, name: str) -> str:
        rows = self._rows("marks", READ, (name,))
        return str(rows[0]["value"]) if rows else ""

    def set(self, name: str, value: str, *, expected: str) -> bool:
        with self._write() as db:
            row = db.execute(READ, (name,)).fetchone()
            if (row["value"] if row else "") != expected:
                return False
            db.execute(WRITE, (name, value))
        return True
