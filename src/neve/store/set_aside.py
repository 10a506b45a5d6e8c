"""Tables that workers leave alone, in the SQLite file."""

from __future__ import annotations

import sqlite3

from neve.model.job import SetAsideTable
from neve.model.table import TableRef
from neve.store import statements as sql
from neve.store.database import Database
from neve.store.values import moment, table_of


class SetAsideRows(Database):
    """What failed on a table since its last success, and whether workers leave it alone."""

    def failures_in_a_row(self, table: TableRef) -> int:
        rows = self._rows("troubled_tables", sql.FAILURES, (str(table),))
        return int(rows[0]["failures_in_a_row"]) if rows else 0

    def set_aside(self, table: TableRef, reason: str, retry_seconds: float | None = None) -> None:
        """Let workers leave the table alone; its jobs stay queued."""
        with self._write() as db:
            db.execute(sql.SET_ASIDE, (str(table), reason, retry_seconds))

    def put_back(self, table: TableRef) -> bool:
        """Let workers take its jobs again, and count again."""
        with self._write() as db:
            return db.execute(sql.PUT_BACK, (str(table),)).rowcount > 0

    def set_aside_tables(self) -> list[SetAsideTable]:
        rows = self._rows("troubled_tables", sql.ALL_SET_ASIDE, ())
        return [_set_aside(row) for row in rows]


def _set_aside(row: sqlite3.Row) -> SetAsideTable:
    # A file of an older version that may not be written has fewer columns.
    retry_at = dict(row).get("retry_at")
    return SetAsideTable(
        table_of(row["table_name"]),
        moment(row["set_aside_at"]),
        row["reason"],
        row["failures_in_a_row"],
        None if retry_at is None else moment(retry_at),
    )
