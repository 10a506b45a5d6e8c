"""Room for jobs of tenants, held on a Redis server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from neve.access.quotas import HELD_SECONDS, Quota, Room, Usage, day_of, refusal_of
from neve.store.redis.rows import microseconds
from neve.store.redis.server import RedisServer

#: What no tenant has: whoever expects it is told what there is.
NOTHING_KNOWN = ("", "", "")


class RedisRooms:
    """Held only where a tenant has what it had when its quota was looked at."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def hold(self, room: Room, quota: Quota, now: datetime) -> bool:
        day = day_number(day_of(now))
        seconds = microseconds(HELD_SECONDS)
        sent = (room.tenant, day, room.room_id, str(room.jobs), seconds, room.key)
        state, *has = self._server.change("hold_room", *sent, *NOTHING_KNOWN)
        while state == "moved":
            if refusal := refusal_of(quota, usage_of(has), room.tenant, now, room.jobs):
                raise refusal
            state, *has = self._server.change("hold_room", *sent, *has)
        return bool(state == "ok")

    def give_back(self, room: Room) -> None:
        self._server.change("give_back_room", room.tenant, room.room_id, str(room.jobs))


def usage_of(found: Sequence[str]) -> Usage:
    """Open jobs, bytes and dollars, as scripts tell them."""
    return Usage(int(found[0]), int(float(found[1])), float(found[2]))


def day_number(day: date) -> str:
    return str((day - date(1970, 1, 1)).days)
