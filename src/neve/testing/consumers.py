"""The consumer store's twin in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from neve.model.expiry import Consumer
from neve.model.table import TableRef


class MemoryConsumers:
    """Keeps consumers in a dictionary, on the clock that it is given."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._consumers: dict[tuple[str, str], Consumer] = {}

    def add(
        self,
        name: str,
        table: TableRef,
        *,
        snapshot_id: int | None = None,
        at: datetime | None = None,
        lease_seconds: float,
    ) -> None:
        until = self._clock() + timedelta(seconds=lease_seconds)
        self._consumers[str(table), name] = Consumer(name, table, snapshot_id, at, until)

    def remove(self, name: str, table: TableRef) -> bool:
        return self._consumers.pop((str(table), name), None) is not None

    def all(self, table: TableRef | None = None) -> list[Consumer]:
        now = self._clock()
        return [
            replace(consumer, is_live=consumer.leased_until > now)
            for (name, _), consumer in sorted(self._consumers.items())
            if table is None or name == str(table)
        ]
