"""Readiness is asked for by whoever likes: of many who ask at once, one look answers all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

Answer = TypeVar("Answer")
#: One that hangs must not hide for minutes that the catalog is back, so that others may follow it.
MAX_LOOKS = 4


class Looks(Generic[Answer]):
    """One look at a time for each question, and few in all, however long a catalog lets them wait.

    A look holds a thread until it ends, and threads of a server are few: probes that come again and
    again while a catalog is silent would take them all.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._under_way: dict[Hashable, asyncio.Task[Answer]] = {}
        self._hanging: set[asyncio.Task[Answer]] = set()

    async def answer(self, question: Hashable, look: Callable[[], Answer]) -> Answer:
        """What the look says that is under way or begins now; TimeoutError where it takes long."""
        task = self._under_way.get(question)
        if task is None:
            task = asyncio.create_task(run_in_threadpool(look))
            self._under_way[question] = task
            task.add_done_callback(lambda done: self._forget(question, done))
        # Who waits no longer does not end it for the others.
        await asyncio.wait((task,), timeout=self._seconds)
        if task.done():
            return task.result()
        is_newest = self._under_way.get(question) is task
        if is_newest and len(self._hanging) + len(self._under_way) < MAX_LOOKS:
            self._hanging.add(self._under_way.pop(question))
        raise TimeoutError

    def _forget(self, question: Hashable, done: asyncio.Task[Answer]) -> None:
        self._hanging.discard(done)
        if self._under_way.get(question) is done:
            del self._under_way[question]
        if not done.cancelled():
            # Nobody may be left to hear of it.
            done.exception()
