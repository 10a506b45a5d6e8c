"""Threads that no route takes.

All routes together have 40 threads. Who asks is found out, and what was done is written down, while
all of them wait for something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class OwnThreads:
    """A few of them, for one purpose."""

    def __init__(self, count: int) -> None:
        self._limiter = CapacityLimiter(count)

    async def run(
        self, call: Callable[Given, Answer], *args: Given.args, **kwargs: Given.kwargs
    ) -> Answer:
        return await run_sync(lambda: call(*args, **kwargs), limiter=self._limiter)
