"""Every Nth write its table's small files are counted; no write waits long or fails for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from neve.model.database import DatabaseRules
from neve.model.errors import NeveError
from neve.model.facts import TableFacts
from neve.model.table import TableRef
from neve.planning.operations.rewrite_data_files import settled_snapshots


@dataclass(frozen=True, slots=True)
class Finding:
    """What a count found."""

    small_files: int
    is_recommended: bool


def count_small(facts: TableFacts, small_file_bytes: int) -> int:
    """Small files, without those that an earlier run left: compacting again would gain nothing."""
    settled = settled_snapshots(facts, small_file_bytes)
    return sum(
        file.size_bytes < small_file_bytes and file.added_snapshot_id not in settled
        for file in facts.data_files
    )


def is_due(total: int, added: int, interval: int) -> bool:
    """Whether one of the writes that were added last is an Nth one."""
    return total // interval > (total - added) // interval


class Detector:
    """Counts small files in threads of its own; what comes late is told with the next write."""

    def __init__(
        self,
        survey: Callable[[TableRef], TableFacts],
        rules: DatabaseRules,
        executor: Executor,
        warn: Callable[[str], None],
        recommend: Callable[[TableRef], None],
    ) -> None:
        self._survey, self._rules, self._executor, self._warn = survey, rules, executor, warn
        self._recommend = recommend
        self._late: dict[str, Finding] = {}
        self._lock = threading.Lock()

    def look(
        self, table: TableRef, table_uuid: str, tell: Callable[[Finding | None], None]
    ) -> None:
        """Tell what is found once; None where it takes longer than a write waits."""
        once = _Once(tell)
        timer = threading.Timer(self._rules.check_seconds, once.tell, (None,))
        timer.daemon = True
        timer.start()
        self._executor.submit(self._look, table, table_uuid, once, timer)

    def late(self, table_uuid: str) -> Finding | None:
        """What was found after its own write had been answered."""
        with self._lock:
            return self._late.pop(table_uuid, None)

    def _look(self, table: TableRef, table_uuid: str, once: _Once, timer: threading.Timer) -> None:
        try:
            small = count_small(self._survey(table), self._rules.small_file_bytes)
            found = Finding(small, small >= self._rules.min_files_to_compact)
            if not once.tell(found):
                with self._lock:
                    self._late[table_uuid] = found
            if found.is_recommended:
                # Here, and not by whoever is told: it must not wait for another write.
                self._recommend(table)
        except NeveError as error:
            self._warn(f"Small files of {table} were not counted: {error.message}")
        finally:
            timer.cancel()
            once.tell(None)


class _Once:
    """Tells the first thing that it is given."""

    def __init__(self, tell: Callable[[Finding | None], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._is_told = False

    def tell(self, found: Finding | None) -> bool:
        """Whether it was the first."""
        with self._lock:
            if self._is_told:
                return False
            self._is_told = True
        self._tell(found)
        return True
