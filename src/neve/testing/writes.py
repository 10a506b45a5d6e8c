"""The twin in memory of writes and their keys."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from neve.model.database import MAX_WRITE_KEYS, WriteKey


class MemoryWrites:
    """Keeps counts and keys in dictionaries."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._keys: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()

    def known(self, table_uuid: str, keys: Sequence[str]) -> dict[str, str]:
        with self._lock:
            found = self._keys.get(table_uuid, {})
            return {key: found[key] for key in keys if key in found}

    def record(self, table_uuid: str, keys: Sequence[WriteKey], others: int = 0) -> int:
        with self._lock:
            known = self._keys.setdefault(table_uuid, {})
            before = len(known)
            for key in keys:
                known.setdefault(key.key, key.content)
            self._counts[table_uuid] += len(known) - before + others
            for oldest in list(known)[: max(0, len(known) - MAX_WRITE_KEYS)]:
                del known[oldest]
            return self._counts[table_uuid]
