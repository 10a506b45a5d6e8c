"""A value that is made once, by whoever asks first, however many ask at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Lazy(Generic[Value]):
    """Made under a lock: two threads must never start two engines."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: list[Value] = []

    def __call__(self) -> Value:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    @property
    def if_made(self) -> Value | None:
        """The value, where somebody has asked for it."""
        return self._made[0] if self._made else None

    def use(self, value: Value) -> None:
        """Take this one instead of making one."""
        with self._lock:
            self._made[:] = [value]
