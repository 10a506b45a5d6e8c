"""The quarantine on a Redis server. Entries are added and given states, never removed."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from neve.model.orphans import FileTotals, Orphan, QuarantineEntry, QuarantineState
from neve.model.table import TableRef
from neve.store.redis.rows import microseconds, microseconds_of, moment_of, pairs
from neve.store.redis.server import RedisServer, batches
from neve.store.values import table_of


class RedisQuarantine:
    """Orphans between being marked and being deleted."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def add(self, table: TableRef, table_uuid: str, job_id: str, orphans: Sequence[Orphan]) -> int:
        about = (table_uuid, str(table), job_id, QuarantineState.QUARANTINED)
        flat = [part for orphan in orphans for part in (orphan.path, _text(orphan))]
        return sum(
            int(self._server.change("add_orphans", *about, *some)[1]) for some in batches(flat)
        )

    def entries(
        self, table_uuid: str, states: Collection[QuarantineState]
    ) -> list[QuarantineEntry]:
        # Those that wait are few among all that ever were.
        wait = "0" if all(state.is_open for state in states) else ""
        return [entry for entry in self._select(table_uuid, wait) if entry.state in states]

    def due(self, table_uuid: str, delay_seconds: float) -> list[QuarantineEntry]:
        return self._select(table_uuid, microseconds(delay_seconds))

    def move(self, entry_ids: Collection[int], state: QuarantineState, reason: str) -> None:
        told = (state, "0" if state.is_open else "1", reason)
        for some in batches([str(entry_id) for entry_id in entry_ids]):
            self._server.change("move_orphans", *told, *some)

    def record_sweep(
        self, table: TableRef, table_uuid: str, job_id: str, orphans: FileTotals
    ) -> None:
        totals = (str(orphans.files), str(orphans.size_bytes))
        self._server.change("record_sweep", table_uuid, str(table), job_id, *totals)

    def was_swept(self, table_uuid: str) -> bool:
        return bool(self._server.read("was_swept", table_uuid)[0] == "ok")

    def _select(self, table_uuid: str, wait: str) -> list[QuarantineEntry]:
        _, ids = self._server.read("orphan_ids", table_uuid, wait)
        found: list[QuarantineEntry] = []
        for some in batches(sorted(ids, key=int)):
            found += [_entry(pairs(row)) for row in self._server.read("read_orphans", *some)[1]]
        return found


def _text(orphan: Orphan) -> str:
    # The size as a text, as all numbers that pass through a script.
    values = {
        "size_bytes": str(orphan.size_bytes),
        "modified_at": microseconds_of(orphan.modified_at),
        "etag": orphan.etag,
        "reason": orphan.reason,
    }
    return json.dumps(values)


def _entry(row: dict[str, Any]) -> QuarantineEntry:
    orphan = json.loads(row["orphan"])
    return QuarantineEntry(
        entry_id=int(row["entry_id"]),
        table=table_of(row["table"]),
        table_uuid=row["uuid"],
        orphan=Orphan(
            path=row["path"],
            size_bytes=int(orphan["size_bytes"]),
            modified_at=moment_of(orphan["modified_at"]),
            etag=orphan["etag"],
            reason=orphan["reason"],
        ),
        job_id=row["job_id"],
        marked_at=moment_of(row["marked_at"]),
        state=QuarantineState(row["state"]),
        state_at=moment_of(row["state_at"]),
        state_reason=row["state_reason"],
    )
