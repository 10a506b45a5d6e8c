"""How often callers may ask one server, and how often somebody may fail to say who they are."""

from __future__ import annotations

import time
from collections.abc import Callable

from fastapi import Request

from neve.access import rates
from neve.access.rates import RateLimit, take
from neve.access.rights import Caller


class Rates:
    """Buckets of one process."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = RateLimit(per_minute, clock)
        self._failures = RateLimit(rates.FAILURES_PER_MINUTE, clock)

    def count(self, request: Request, caller: Caller) -> None:
        """Raise TooMuch where the caller asks faster than it may."""
        take(self._requests, caller.name, getattr(request.state, "notes", None))

    def count_failure(self, request: Request) -> None:
        """Raise TooMuch where nobody known asks again and again from one address."""
        take(self._failures, _address(request), getattr(request.state, "notes", None))

    def forget_flood(self, request: Request) -> None:
        """Leave a refusal out of the audit log where nobody known is refused again and again."""
        notes = getattr(request.state, "notes", None)
        if notes is not None and self._failures.wait_seconds(_address(request)):
            notes.is_kept = False


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
