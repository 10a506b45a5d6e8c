"""Manifests that were read already: they never change, and one run looks at a table many times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table.snapshots import Snapshot

from neve.catalog.manifests import Entry, read_entries, read_manifests

#: About 50 MB; a table with more files is read again, as it would be without a cache.
MAX_CACHED_ENTRIES = 50_000

Line = TypeVar("Line", ManifestFile, Entry)


class ManifestCache:
    """Parsed manifests and manifest lists, the least recently used dropped first."""

    def __init__(self, max_entries: int = MAX_CACHED_ENTRIES) -> None:
        self._max_entries = max_entries
        self._kept: OrderedDict[object, list[Any]] = OrderedDict()
        self._entries = 0
        # Tables may be maintained side by side.
        self._lock = threading.Lock()

    def manifests(self, io: FileIO, snapshot: Snapshot) -> list[ManifestFile]:
        """The manifests that a snapshot lists."""
        return self._cached(snapshot.manifest_list, lambda: read_manifests(io, snapshot))

    def entries(self, io: FileIO, manifest: ManifestFile, *, with_metrics: bool) -> list[Entry]:
        """The live entries of one manifest."""
        # Entries inherit from the line that lists their manifest, so it is part of the key.
        line = (manifest.sequence_number, manifest.added_snapshot_id)
        return self._cached(
            (manifest.manifest_path, line, with_metrics),
            lambda: list(read_entries(io, manifest, with_metrics=with_metrics)),
        )

    def _cached(self, key: object, read: Callable[[], list[Line]]) -> list[Line]:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        lines = read()
        with self._lock:
            if key not in self._kept and len(lines) <= self._max_entries:
                self._kept[key] = lines
                self._entries += len(lines)
                while self._entries > self._max_entries:
                    _, dropped = self._kept.popitem(last=False)
                    self._entries -= len(dropped)
        return lines
