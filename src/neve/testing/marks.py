"""The marks' twin in memory."""

from __future__ import annotations

import threading


class MemoryMarks:
    """Keeps marks in a dictionary."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> str:
        return self._values.get(name, "")

    def set(self, name: str, value: str, *, expected: str) -> bool:
        with self._lock:
            if self.get(name) != expected:
                return False
            self._values[name] = value
            return True
