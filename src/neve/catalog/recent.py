"""Tables as they were loaded last: a snapshot does not change, so that it need not be asked for."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from neve.model.table import TableRef

#: Metadata of a large table takes megabytes.
MAX_TABLES = 16
#: Credentials that came with a table end, mostly after an hour.
MAX_AGE_SECONDS = 300.0


class RecentTables:
    """The last few tables that were loaded, each for some minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tables: OrderedDict[TableRef, tuple[float, Table]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, table: TableRef, loaded: Table) -> None:
        with self._lock:
            self._tables.pop(table, None)
            self._tables[table] = (self._clock(), loaded)
            while len(self._tables) > MAX_TABLES:
                self._tables.popitem(last=False)

    def with_snapshot(self, table: TableRef, snapshot_id: int) -> Table | None:
        """The table as it was loaded last, if it lists the snapshot."""
        with self._lock:
            at, loaded = self._tables.get(table, (0.0, None))
        if loaded is None or self._clock() - at > MAX_AGE_SECONDS:
            return None
        return loaded if loaded.metadata.snapshot_by_id(snapshot_id) is not None else None


def with_metadata(judged: Table, metadata: TableMetadata, location: str) -> Table:
    """A table after a commit to it."""
    return Table(judged.name(), metadata, location, judged.io, judged.catalog, judged.config)
