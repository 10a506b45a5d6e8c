"""Registered consumers in the state database."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from neve.model.expiry import Consumer
from neve.model.table import TableRef
from neve.store.database import NOW, Database
from neve.store.values import moment, table_of


class ConsumerStore(Database):
    """Readers that expiry must wait for, each until its lease ends on the store's clock."""

    def add(
        self,
        name: str,
        table: TableRef,
        *,
        snapshot_id: int | None = None,
        at: datetime | None = None,
        lease_seconds: float,
    ) -> None:
        """Register a consumer, or move it on and renew its lease."""
        with self._write() as db:
            db.execute(
                "INSERT INTO consumers (name, table_name, snapshot_id, read_from, leased_until) "
                f"VALUES (?, ?, ?, ?, {NOW} + ?) ON CONFLICT (name, table_name) DO UPDATE SET "
                "snapshot_id = excluded.snapshot_id, read_from = excluded.read_from, "
                "leased_until = excluded.leased_until",
                (name, str(table), snapshot_id, at.timestamp() if at else None, lease_seconds),
            )

    def remove(self, name: str, table: TableRef) -> bool:
        """Forget a consumer; False where there was none."""
        with self._write() as db:
            found = db.execute(
                "DELETE FROM consumers WHERE name = ? AND table_name = ?", (name, str(table))
            )
            return found.rowcount > 0

    def all(self, table: TableRef | None = None) -> list[Consumer]:
        """All of them, lapsed ones too, by table and name."""
        rows = self._rows(
            "consumers",
            f"SELECT *, leased_until > {NOW} AS is_live FROM consumers "
            "WHERE ?1 IS NULL OR table_name = ?1 ORDER BY table_name, name",
            (str(table) if table else None,),
        )
        return [_consumer(row) for row in rows]


def _consumer(row: sqlite3.Row) -> Consumer:
    return Consumer(
        name=row["name"],
        table=table_of(row["table_name"]),
        snapshot_id=row["snapshot_id"],
        at=None if row["read_from"] is None else moment(row["read_from"]),
        leased_until=moment(row["leased_until"]),
        is_live=bool(row["is_live"]),
    )
