"""What one tenant may have of what all of them use: the rest of its requests wait their turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Share:
    taken: int = 0
    #: Requests that have a part of it, or wait for one.
    users: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)


class ShareTaken(TimeoutError):
    """Others of the name keep its share for longer than was waited."""


class Shares:
    """So much of something for each name at once. Those that wait hold no thread of the server."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._shares: dict[str, _Share] = {}

    @asynccontextmanager
    async def share(
        self, name: str, patience_seconds: float, amount: int = 1
    ) -> AsyncIterator[None]:
        """So much of it; ShareTaken where others of the name keep it for longer."""
        held = self._shares.setdefault(name, _Share())
        held.users += 1
        try:
            try:
                await self._take(held, patience_seconds, amount)
            except TimeoutError:
                raise ShareTaken from None
            try:
                yield
            finally:
                held.taken -= amount
                async with held.changed:
                    held.changed.notify_all()
        finally:
            held.users -= 1
            if not held.users:
                del self._shares[name]

    async def _take(self, held: _Share, patience_seconds: float, amount: int) -> None:
        def has_room() -> bool:
            return not held.taken or held.taken + amount <= self._each

        async with asyncio.timeout(patience_seconds), held.changed:
            await held.changed.wait_for(has_room)
            held.taken += amount
