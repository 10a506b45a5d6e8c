"""Room for jobs of tenants, held in the state database."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime

from neve.access.quotas import HELD_SECONDS, Quota, Room, day_of, refusal_of, room_lost
from neve.model.job import JobRequest
from neve.store.database import NOW, Database
from neve.store.totals import read_usage

_FORGET = f"DELETE FROM rooms WHERE expires_at <= {NOW} OR jobs = 0"
_KNOWN = (
    "SELECT 1 FROM rooms WHERE room_id = ?1 "
    "UNION ALL SELECT 1 FROM jobs WHERE ?2 <> '' AND idempotency_key = ?2"
)
_HELD = "SELECT coalesce(sum(jobs), 0) AS held FROM rooms WHERE tenant = ?"
_HOLD = f"INSERT INTO rooms (room_id, tenant, jobs, expires_at) VALUES (?, ?, ?, {NOW} + ?)"
_USE = (
    "UPDATE rooms SET jobs = jobs - 1 "
    f"WHERE room_id = ? AND tenant = ? AND jobs > 0 AND expires_at > {NOW}"
)
_GIVE_BACK = "DELETE FROM rooms WHERE room_id = ?"


class SqliteRooms(Database):
    """Counted and held in one transaction."""

    def hold(self, room: Room, quota: Quota, now: datetime) -> bool:
        with self._write() as db:
            db.execute(_FORGET)
            if db.execute(_KNOWN, (room.room_id, room.key)).fetchone():
                return False
            usage = read_usage(db, room.tenant, day_of(now))
            held = db.execute(_HELD, (room.tenant,)).fetchone()["held"]
            usage = replace(usage, open_jobs=usage.open_jobs + held)
            if refusal := refusal_of(quota, usage, room.tenant, now, room.jobs):
                raise refusal
            db.execute(_HOLD, (room.room_id, room.tenant, room.jobs, HELD_SECONDS))
        return True

    def give_back(self, room: Room) -> None:
        with self._write() as db:
            db.execute(_GIVE_BACK, (room.room_id,))


def use_room(db: sqlite3.Connection, request: JobRequest) -> None:
    """Put a new job into the room that is held for it, within the transaction that makes it."""
    if request.room and not db.execute(_USE, (request.room, request.tenant)).rowcount:
        raise room_lost()
