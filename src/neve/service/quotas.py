"""Room for a tenant's jobs, held by the state: however many servers ask, none is given twice."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from neve.access.quotas import Quota, Room
from neve.service.store_ports import JobStore


@contextmanager
def held_room(
    quota: Quota, store: JobStore, tenant: str, now: datetime, jobs: int
) -> Iterator[str]:
    """Hold room for so many more jobs, or raise TooMuch; what they do not use is given back.

    Yields what their requests name it by.
    """
    if quota.is_unlimited or not jobs:
        yield ""
        return
    room = Room(str(uuid.uuid4()), tenant, jobs)
    if refusal := store.rooms.hold(room, quota, now):
        raise refusal
    try:
        yield room.room_id
    finally:
        store.rooms.give_back(room)
