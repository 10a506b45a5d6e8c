"""The quarantine in the state database. Rows are added and given states, never removed."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from datetime import timedelta

from neve.model.facts import EPOCH
from neve.model.orphans import FileTotals, Orphan, QuarantineEntry, QuarantineState
from neve.model.table import TableRef
from neve.store.database import NOW, Database
from neve.store.values import moment, table_of

MILLISECOND = timedelta(milliseconds=1)
OPEN = tuple(state for state in QuarantineState if state.is_open)


class SqliteQuarantine(Database):
    """Orphans between being marked and being deleted."""

    def add(self, table: TableRef, table_uuid: str, job_id: str, orphans: Sequence[Orphan]) -> int:
        rows = [
            (
                table_uuid,
                str(table),
                orphan.path,
                orphan.size_bytes,
                (orphan.modified_at - EPOCH) // MILLISECOND,
                orphan.etag,
                orphan.reason,
                job_id,
                QuarantineState.QUARANTINED,
            )
            for orphan in orphans
        ]
        with self._write() as db:
            before = db.total_changes
            db.executemany(
                "INSERT OR IGNORE INTO quarantine (table_uuid, table_name, path, size_bytes, "
                "modified_ms, etag, reason, job_id, marked_at, state, state_at) "
                f"VALUES (?, ?, ?, ?, ?, ?, ?, ?, {NOW}, ?, {NOW})",
                rows,
            )
            return db.total_changes - before

    def entries(
        self, table_uuid: str, states: Collection[QuarantineState]
    ) -> list[QuarantineEntry]:
        return self._select(table_uuid, states, "", ())

    def due(self, table_uuid: str, delay_seconds: float) -> list[QuarantineEntry]:
        return self._select(table_uuid, OPEN, f"AND marked_at <= {NOW} - ?", (delay_seconds,))

    def move(self, entry_ids: Collection[int], state: QuarantineState, reason: str) -> None:
        with self._write() as db:
            db.executemany(
                f"UPDATE quarantine SET state = ?, state_reason = ?, state_at = {NOW} "
                "WHERE entry_id = ? AND state IN ('quarantined', 'purging')",
                [(state, reason, entry_id) for entry_id in entry_ids],
            )

    def record_sweep(
        self, table: TableRef, table_uuid: str, job_id: str, orphans: FileTotals
    ) -> None:
        with self._write() as db:
            db.execute(
                "INSERT INTO sweeps (table_uuid, table_name, job_id, swept_at, orphan_files, "
                f"orphan_bytes) VALUES (?, ?, ?, {NOW}, ?, ?)",
                (table_uuid, str(table), job_id, orphans.files, orphans.size_bytes),
            )

    def was_swept(self, table_uuid: str) -> bool:
        query = "SELECT 1 FROM sweeps WHERE table_uuid = ? LIMIT 1"
        return bool(self._rows("sweeps", query, (table_uuid,)))

    def _select(
        self,
        table_uuid: str,
        states: Collection[QuarantineState],
        condition: str,
        parameters: tuple[object, ...],
    ) -> list[QuarantineEntry]:
        marks = ", ".join("?" for _ in states)
        query = (
            f"SELECT * FROM quarantine WHERE table_uuid = ? AND state IN ({marks}) {condition} "
            "ORDER BY entry_id"
        )
        rows = self._rows("quarantine", query, (table_uuid, *states, *parameters))
        return [_entry(row) for row in rows]


def _entry(row: sqlite3.Row) -> QuarantineEntry:
    return QuarantineEntry(
        entry_id=row["entry_id"],
        table=table_of(row["table_name"]),
        table_uuid=row["table_uuid"],
        orphan=Orphan(
            path=row["path"],
            size_bytes=row["size_bytes"],
            modified_at=EPOCH + row["modified_ms"] * MILLISECOND,
            etag=row["etag"],
            reason=row["reason"],
        ),
        job_id=row["job_id"],
        marked_at=moment(row["marked_at"]),
        state=QuarantineState(row["state"]),
        state_at=moment(row["state_at"]),
        state_reason=row["state_reason"],
    )
