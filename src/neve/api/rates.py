"""How often callers may ask one server, and how often somebody may fail to say who they are."""

from __future__ import annotations

import time
from collections.abc import Callable

from fastapi import Request

from neve.access.rates import RateLimit
from neve.access.rights import Caller
from neve.model.errors import TooMuch

FAILURES_PER_MINUTE = 60


class Rates:
    """Buckets of one process."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = RateLimit(per_minute, clock)
        self._failures = RateLimit(FAILURES_PER_MINUTE, clock)

    def count(self, request: Request, caller: Caller) -> None:
        """Raise TooMuch where the caller asks faster than it may."""
        self._take(self._requests, caller.name, request)

    def count_failure(self, request: Request) -> None:
        """Raise TooMuch where nobody known asks again and again from one address."""
        address = request.client.host if request.client else ""
        self._take(self._failures, address, request)

    @staticmethod
    def _take(limit: RateLimit, name: str, request: Request) -> None:
        if seconds := limit.wait_seconds(name):
            # A flood must not become a flood of rows: the first of them stand in the log.
            if hasattr(request.state, "notes"):
                request.state.notes.is_kept = False
            raise TooMuch(
                "You ask too often.",
                next_step=f"Wait for {seconds} seconds.",
                retry_after_seconds=seconds,
            )
