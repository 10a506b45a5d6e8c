"""Stored policies and announced workers in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from neve.model.stored_policy import StoredPolicy
from neve.model.workers import AnnouncedWorker


class MemoryPolicies:
    """Policies in a dictionary."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._policies: dict[str, StoredPolicy] = {}
        self._revision = 0
        self._lock = threading.Lock()

    def all(self) -> list[StoredPolicy]:
        return sorted(self._policies.values(), key=lambda policy: policy.name)

    def put(
        self, name: str, document: str, *, expected: int | None, updated_by: str
    ) -> StoredPolicy | None:
        with self._lock:
            if self._revision_of(name) != expected:
                return None
            self._revision += 1
            made = StoredPolicy(name, document, self._revision, self._clock(), updated_by)
            self._policies[name] = made
            return made

    def remove(self, name: str, *, expected: int) -> bool:
        with self._lock:
            if self._revision_of(name) != expected:
                return False
            del self._policies[name]
            return True

    def _revision_of(self, name: str) -> int | None:
        found = self._policies.get(name)
        return found.revision if found else None


class MemoryWorkers:
    """Workers in a dictionary, each until its time is over."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._workers: dict[str, tuple[AnnouncedWorker, datetime]] = {}

    def announce(self, worker: AnnouncedWorker, seconds: float) -> None:
        until = self._clock() + timedelta(seconds=seconds)
        self._workers[worker.worker_id] = (worker, until)

    def leave(self, worker_id: str) -> None:
        self._workers.pop(worker_id, None)

    def all(self) -> list[AnnouncedWorker]:
        now = self._clock()
        there = [worker for worker, until in list(self._workers.values()) if until > now]
        return sorted(there, key=lambda worker: worker.worker_id)
