"""The quarantine's twin in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from neve.model.orphans import FileTotals, Orphan, QuarantineEntry, QuarantineState
from neve.model.table import TableRef


class MemoryQuarantine:
    """Keeps entries in a list, on the clock that it is given."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._entries: list[QuarantineEntry] = []
        self._swept: set[str] = set()

    def add(self, table: TableRef, table_uuid: str, job_id: str, orphans: Sequence[Orphan]) -> int:
        now, added = self._clock(), 0
        for orphan in orphans:
            waiting = (e.orphan.path for e in self.due(table_uuid, 0))
            if orphan.path not in waiting:
                self._entries.append(
                    QuarantineEntry(
                        entry_id=len(self._entries) + 1,
                        table=table,
                        table_uuid=table_uuid,
                        orphan=orphan,
                        job_id=job_id,
                        marked_at=now,
                        state=QuarantineState.QUARANTINED,
                        state_at=now,
                    )
                )
                added += 1
        return added

    def entries(
        self, table_uuid: str, states: Collection[QuarantineState]
    ) -> list[QuarantineEntry]:
        return [e for e in self._entries if e.table_uuid == table_uuid and e.state in states]

    def due(self, table_uuid: str, delay_seconds: float) -> list[QuarantineEntry]:
        now = self._clock()
        return [
            entry
            for entry in self._entries
            if entry.table_uuid == table_uuid
            and entry.state.is_open
            and (now - entry.marked_at).total_seconds() >= delay_seconds
        ]

    def move(self, entry_ids: Collection[int], state: QuarantineState, reason: str) -> None:
        for index, entry in enumerate(self._entries):
            if entry.entry_id in entry_ids and entry.state.is_open:
                self._entries[index] = replace(
                    entry, state=state, state_at=self._clock(), state_reason=reason
                )

    def record_sweep(
        self, table: TableRef, table_uuid: str, job_id: str, orphans: FileTotals
    ) -> None:
        self._swept.add(table_uuid)

    def was_swept(self, table_uuid: str) -> bool:
        return table_uuid in self._swept
