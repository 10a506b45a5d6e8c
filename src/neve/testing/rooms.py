"""Room for jobs of tenants, in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta

from neve.access.quotas import HELD_SECONDS, Quota, Room, Usage, day_of, refusal_of, room_lost
from neve.model.job import JobRequest


class MemoryRooms:
    """What is held, and when it is given to others."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        usage: Callable[[str, date], Usage],
        has_job: Callable[[str], bool],
    ) -> None:
        self._clock, self._usage, self._has_job = clock, usage, has_job
        self._held: dict[str, tuple[Room, datetime]] = {}
        self._lock = threading.RLock()

    def hold(self, room: Room, quota: Quota, now: datetime) -> bool:
        with self._lock:
            is_held = any(held.room_id == room.room_id for held in self._rooms())
            if is_held or (room.key and self._has_job(room.key)):
                return False
            usage = self._usage(room.tenant, day_of(now))
            held = sum(r.jobs for r in self._rooms() if r.tenant == room.tenant)
            usage = replace(usage, open_jobs=usage.open_jobs + held)
            if refusal := refusal_of(quota, usage, room.tenant, now, room.jobs):
                raise refusal
            self._held[room.room_id] = (room, self._clock() + timedelta(seconds=HELD_SECONDS))
        return True

    def give_back(self, room: Room) -> None:
        self._held.pop(room.room_id, None)

    @contextmanager
    def used_by(self, request: JobRequest) -> Iterator[None]:
        """While the job is made, in the room that is held for it."""
        with self._lock:
            if request.room:
                found = {room.room_id: room for room in self._rooms()}.get(request.room)
                if found is None or found.tenant != request.tenant or not found.jobs:
                    raise room_lost()
                _, until = self._held[request.room]
                self._held[request.room] = (replace(found, jobs=found.jobs - 1), until)
            yield

    def _rooms(self) -> list[Room]:
        now = self._clock()
        return [room for room, until in self._held.values() if until > now]
