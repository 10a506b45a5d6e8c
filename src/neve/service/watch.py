"""Keeps what the scheduler knows of all tables, so that a tick asks no catalog.

Tables are listed again and again, and each is looked at when it is new, and after a while. A
catalog that does not answer leaves what is known of its tables as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from neve.model.errors import NeveError
from neve.model.found import Found
from neve.model.table import TableRef
from neve.planning.triggers import look_at
from neve.service.scheduler import ScheduledTable, scheduled
from neve.service.services import Services

Reader = Callable[[TableRef, ScheduledTable | None], ScheduledTable]


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """How often tables are looked at."""

    list_seconds: float = 60.0
    #: A table whose policy has triggers is looked at more often.
    trigger_seconds: float = 30.0
    look_seconds: float = 600.0
    #: Tables that are looked at in one go, and by so many at once.
    looks: int = 500
    parallel: int = 8


@dataclass(frozen=True, slots=True)
class _Known:
    entry: ScheduledTable
    looked_at: float
    #: Of the policies by which it was looked at.
    version: object = None


class TableWatch:
    """All tables, each as it was when it was looked at last."""

    def __init__(
        self,
        find: Callable[[], Found],
        read: Reader,
        settings: WatchSettings | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        version: Callable[[], object] = lambda: None,
    ) -> None:
        """Where `version` is another one, policies have changed, and every table is looked at."""
        self._find = find
        self._version = version
        self._seen: object = None
        self._read = read
        self._settings = settings or WatchSettings()
        self._monotonic = monotonic
        self._known: dict[TableRef, _Known] = {}
        self._listed: list[TableRef] = []
        self._listed_at: float | None = None
        #: Tables that could not be looked at, each with the reason and the time.
        self._problems: dict[TableRef, tuple[NeveError, float]] = {}

    def entries(self) -> list[ScheduledTable]:
        """What is known now."""
        return [known.entry for known in list(self._known.values())]

    @property
    def problems(self) -> Mapping[TableRef, NeveError]:
        return {table: error for table, (error, _) in list(self._problems.items())}

    def refresh(self) -> bool:
        """List and look where it is time; whether there is more to look at right now."""
        now, self._seen = self._monotonic(), self._version()
        if self._listed_at is None or now - self._listed_at >= self._settings.list_seconds:
            self._list()
            self._listed_at = now
        stale = [table for table in self._listed if self._is_stale(table, now)]
        chosen = stale[: self._settings.looks]
        with ThreadPoolExecutor(self._settings.parallel, "neve-watch") as pool:
            list(pool.map(self._look, chosen))
        return len(stale) > len(chosen)

    def _list(self) -> None:
        found = self._find()
        silent = {table for table in self._known if table.catalog in found.problems}
        self._listed = [*found.tables, *(table for table in silent if table not in found.tables)]
        for gone in set(self._known) - set(self._listed):
            del self._known[gone]
        for gone in set(self._problems) - set(self._listed):
            del self._problems[gone]

    def _is_stale(self, table: TableRef, now: float) -> bool:
        known, problem = self._known.get(table), self._problems.get(table)
        if problem is not None:
            return now - problem[1] >= self._settings.list_seconds
        if known is None or known.version != self._seen:
            return True
        often = known.entry.triggers.is_any
        pause = self._settings.trigger_seconds if often else self._settings.look_seconds
        return now - known.looked_at >= pause

    def _look(self, table: TableRef) -> None:
        now, known, version = self._monotonic(), self._known.get(table), self._seen
        try:
            entry = self._read(table, known.entry if known else None)
        except NeveError as error:
            # Its own problem: what was known of it stays, and other tables go on.
            self._problems[table] = (error, now)
            return
        self._known[table] = _Known(entry, now, version)
        self._problems.pop(table, None)


def read_policy(services: Services) -> Reader:
    """Reads a table's policy from its metadata, and what its triggers ask for."""

    def read(table: TableRef, known: ScheduledTable | None) -> ScheduledTable:
        facts = services.surveyor.outline(table)
        policy = services.policies.effective(facts)
        entry = scheduled(policy)
        if not policy.triggers.is_any:
            return entry
        small = policy.compaction.small_file_bytes
        now, before = services.clock(), known.look if known else None
        look = look_at(facts, small, now, has_files=False)
        if before is not None and before.snapshot_id == look.snapshot_id:
            ratio = before.small_file_ratio
            look = replace(look, commits=before.commits, small_file_ratio=ratio)
        if policy.triggers.small_file_ratio is not None and look.small_file_ratio is None:
            # Only the files tell; they are read when somebody has committed.
            look = look_at(services.surveyor.survey(table), small, now, has_files=True)
        return replace(entry, look=look)

    return read


def read_by_name(services: Services, arguments: Mapping[str, object]) -> Reader:
    """The same where another engine runs operations whole, and tells no properties."""

    def read(table: TableRef, known: ScheduledTable | None) -> ScheduledTable:
        policy = services.policies.by_name(table)
        return scheduled(policy, services.procedures.operations, arguments)

    return read
