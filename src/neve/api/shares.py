"""What one tenant may have of what all of them use: the rest of its requests wait their turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from neve.model.errors import QueryLimit


@dataclass(slots=True)
class _Share:
    room: asyncio.Semaphore
    #: Requests that have a part of it, or wait for one.
    users: int = 0


class Shares:
    """So many queries of each tenant at once. Those that wait hold no thread of the server."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._shares: dict[str, _Share] = {}

    @asynccontextmanager
    async def share(self, tenant: str, patience_seconds: float) -> AsyncIterator[None]:
        """Room for one query; QueryLimit where the tenant's others take longer than that."""
        held = self._shares.setdefault(tenant, _Share(asyncio.Semaphore(self._each)))
        held.users += 1
        try:
            await _enter(held.room, patience_seconds)
            try:
                yield
            finally:
                held.room.release()
        finally:
            held.users -= 1
            if not held.users:
                del self._shares[tenant]


async def _enter(room: asyncio.Semaphore, patience_seconds: float) -> None:
    try:
        async with asyncio.timeout(patience_seconds):
            await room.acquire()
    except TimeoutError:
        raise QueryLimit(
            "Too many queries of this tenant run at once.", next_step="Ask again in a while."
        ) from None
