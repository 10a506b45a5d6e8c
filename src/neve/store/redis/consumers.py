"""Registered consumers on a Redis server."""

from __future__ import annotations

import json
from datetime import datetime

from neve.model.expiry import Consumer
from neve.model.table import TableRef
from neve.store.redis.rows import microseconds, microseconds_of, moment_of, pairs
from neve.store.redis.server import RedisServer
from neve.store.values import table_of


class RedisConsumers:
    """Readers that expiry must wait for, each until its lease ends on the server's clock."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

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
        # As texts: a script keeps fewer digits of a number than a snapshot's id has.
        place = {
            "snapshot_id": None if snapshot_id is None else str(snapshot_id),
            "at": None if at is None else microseconds_of(at),
        }
        sent = (str(table), name, microseconds(lease_seconds), json.dumps(place))
        self._server.change("add_consumer", *sent)

    def remove(self, name: str, table: TableRef) -> bool:
        """Forget a consumer; False where there was none."""
        return bool(self._server.change("remove_consumer", str(table), name)[0] == "ok")

    def all(self, table: TableRef | None = None) -> list[Consumer]:
        """All of them, lapsed ones too, by table and name."""
        _, now, tables = self._server.read("consumers", str(table) if table else "")
        return [
            _consumer(name, stored, text, moment_of(now))
            for stored, flat in sorted(tables)
            for name, text in sorted(pairs(flat).items())
        ]


def _consumer(name: str, table: str, text: str, now: datetime) -> Consumer:
    until, _, place = text.partition(" ")
    reads = json.loads(place)
    return Consumer(
        name=name,
        table=table_of(table),
        snapshot_id=None if reads["snapshot_id"] is None else int(reads["snapshot_id"]),
        at=None if reads["at"] is None else moment_of(reads["at"]),
        leased_until=moment_of(until),
        is_live=moment_of(until) > now,
    )
