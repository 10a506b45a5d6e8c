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
        self._early: threading.Thread | None = None
        self._is_unwanted = threading.Event()

    def __call__(self) -> Value:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    def start_soon(self, then: Callable[[Value], object]) -> None:
        """Make it in another thread, and do something with it there, unless it is there by then."""
        if self._early is not None or self._made:
            return

        def make() -> None:
            value = self()
            if not self._is_unwanted.is_set():
                then(value)

        self._early = threading.Thread(target=make, name="neve-early", daemon=True)
        self._early.start()

    def settle(self) -> None:
        """Nobody wants it any more: wait until it is clear whether it was made."""
        self._is_unwanted.set()
        if self._early is not None:
            self._early.join()

    @property
    def if_made(self) -> Value | None:
        """The value, where somebody has asked for it."""
        return self._made[0] if self._made else None

    def use(self, value: Value) -> None:
        """Take this one instead of making one."""
        with self._lock:
            self._made[:] = [value]
