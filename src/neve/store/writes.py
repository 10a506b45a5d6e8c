"""Writes and their keys in the state database."""

from __future__ import annotations

import json
from collections.abc import Sequence

from neve.model.database import MAX_WRITE_KEYS, WriteKey
from neve.store.database import Database

KNOWN = (
    "SELECT write_key, content FROM write_keys "
    "WHERE table_uuid = ? AND write_key IN (SELECT value FROM json_each(?))"
)
ADD_KEY = "INSERT OR IGNORE INTO write_keys (table_uuid, write_key, content) VALUES (?, ?, ?)"
COUNT = (
    "INSERT INTO write_counts (table_uuid, writes) VALUES (?, ?) "
    "ON CONFLICT (table_uuid) DO UPDATE SET writes = writes + excluded.writes RETURNING writes"
)
FORGET = (
    "DELETE FROM write_keys WHERE table_uuid = ? AND position <= ("
    "SELECT position FROM write_keys WHERE table_uuid = ? "
    f"ORDER BY position DESC LIMIT 1 OFFSET {MAX_WRITE_KEYS:d})"
)


class SqliteWrites(Database):
    """How many writes tables have had, and the newest keys of each."""

    def known(self, table_uuid: str, keys: Sequence[str]) -> dict[str, str]:
        found = self._rows("write_keys", KNOWN, (table_uuid, json.dumps(list(keys))))
        return {row["write_key"]: row["content"] for row in found}

    def record(self, table_uuid: str, keys: Sequence[WriteKey], others: int = 0) -> int:
        with self._write() as db:
            added = sum(
                db.execute(ADD_KEY, (table_uuid, key.key, key.content)).rowcount for key in keys
            )
            row = db.execute(COUNT, (table_uuid, added + others)).fetchone()
            if added:
                db.execute(FORGET, (table_uuid, table_uuid))
        return int(row["writes"])
