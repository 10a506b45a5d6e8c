"""How often somebody may ask: a bucket that fills with time."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from neve.model.errors import TooMuch

#: Of requests from one address whose sender is not known.
FAILURES_PER_MINUTE = 60
#: Names that are remembered; whoever was forgotten begins with a full bucket.
MAX_NAMES = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimit:
    """So many requests a minute for each name, as many of them at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def wait_seconds(self, name: str) -> int:
        """Take one; 0, or after how many seconds there is one again."""
        with self._lock:
            now = self._clock()
            bucket = self._buckets.setdefault(name, _Bucket(self._per_minute, now))
            self._buckets.move_to_end(name)
            if len(self._buckets) > MAX_NAMES:
                self._buckets.popitem(last=False)
            rate = self._per_minute / 60
            bucket.tokens = min(self._per_minute, bucket.tokens + (now - bucket.at) * rate)
            bucket.at = now
            if bucket.tokens >= 1:
                bucket.tokens -= 1
                return 0
            return max(1, math.ceil((1 - bucket.tokens) / rate))


class Kept(Protocol):
    """What a row of the audit log is made of."""

    is_kept: bool


def take(limit: RateLimit, name: str, notes: Kept | None) -> None:
    """Raise TooMuch where somebody asks faster than they may."""
    if seconds := limit.wait_seconds(name):
        # A flood must not become a flood of rows: the first of them stand in the log.
        if notes is not None:
            notes.is_kept = False
        raise TooMuch(
            "You ask too often.",
            next_step=f"Wait for {seconds} seconds.",
            retry_after_seconds=seconds,
        )
