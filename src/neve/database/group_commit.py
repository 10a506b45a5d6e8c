"""Group commit: what arrives for a table during a commit is committed together, by the next one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from neve.model.errors import TableBusy


class Waiting(Protocol):
    """Something that waits for a commit."""

    @property
    def size(self) -> int: ...

    def fail(self, error: BaseException) -> None:
        """Tell that it was not done, unless it has been told anything."""
        ...


Item = TypeVar("Item", bound=Waiting)
Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class _Queue(Generic[Item]):
    waiting: list[Item] = field(default_factory=list)
    is_running: bool = False


class GroupCommit(Generic[Key, Item]):
    """Commits items by key, those of one key one group after the other.

    Nobody is waited for: the first item is committed at once, and its commit is what gathers the
    next group.
    """

    def __init__(
        self,
        commit: Callable[[Key, Sequence[Item]], None],
        executor: Executor,
        *,
        max_items: int = 1024,
        max_size: int = 100_000,
        max_waiting: int = 10_000,
    ) -> None:
        self._commit, self._executor = commit, executor
        self._max_items, self._max_size, self._max_waiting = max_items, max_size, max_waiting
        self._queues: dict[Key, _Queue[Item]] = {}
        self._lock = threading.Lock()

    def add(self, key: Key, item: Item) -> None:
        with self._lock:
            queue = self._queues.setdefault(key, _Queue())
            if len(queue.waiting) >= self._max_waiting:
                raise TableBusy(
                    f"{len(queue.waiting)} writes are waiting for this table.",
                    next_step="Send it again in a while.",
                )
            queue.waiting.append(item)
            begins = not queue.is_running
            queue.is_running = True
        if begins:
            self._executor.submit(self._run, key)

    def _run(self, key: Key) -> None:
        while group := self._next_group(key):
            try:
                self._commit(key, group)
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                for item in group:
                    item.fail(error)

    def _next_group(self, key: Key) -> list[Item]:
        with self._lock:
            queue = self._queues[key]
            size, count = 0, 0
            for item in queue.waiting[: self._max_items]:
                size += item.size
                if count and size > self._max_size:
                    break
                count += 1
            group, queue.waiting = queue.waiting[:count], queue.waiting[count:]
            if not group:
                # Forgotten under the lock: who comes next begins anew.
                del self._queues[key]
            return group
