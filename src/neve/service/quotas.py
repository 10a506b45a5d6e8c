"""Room for a tenant's jobs, held by the state: however many servers ask, none is given twice."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from neve.access.quotas import Quota, Room
from neve.service.store_ports import JobStore

#: What keys are made names of rooms with.
KEYS = uuid.UUID("8f6c2f0e-3b1d-4c55-9d55-6c3f0a4e7b21")


@contextmanager
def held_room(
    quota: Quota, store: JobStore, tenant: str, now: datetime, jobs: int, key: str = ""
) -> Iterator[str]:
    """Hold room for so many more jobs, or raise TooMuch; what they do not use is given back.

    Yields what their requests name it by. A request that is sent again, with its key, while the
    first is on its way, is put into the same room: they are the same jobs.
    """
    if quota.is_unlimited or not jobs:
        yield ""
        return
    room = Room(str(uuid.uuid5(KEYS, key) if key else uuid.uuid4()), tenant, jobs, key)
    is_ours = store.rooms.hold(room, quota, now)
    try:
        yield room.room_id
    finally:
        if is_ours:
            store.rooms.give_back(room)
