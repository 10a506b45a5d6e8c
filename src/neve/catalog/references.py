"""What all tables reach, remembered as numbers, so that one table's files are not another's loss.

A table may reach files below any other's location: `add_files`, a snapshot of a table, a migrated
one, a landing folder that several share. Manifests have no bounds of paths, so all of them are
read once; they never change, and what changes afterwards is read alone.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import TypeAlias

from neve.catalog.errors import table_errors
from neve.catalog.history import THREADS, each
from neve.catalog.homes import WHY, Homes, Outline
from neve.catalog.reachable import files_of_manifest, manifests_of_list
from neve.model.errors import TableUnreadable
from neve.model.table import TableRef
from neve.storage.resolved import Resolver, Sought

#: Tables that changed since all were sorted together are asked one by one, up to so many.
MAX_APART = 32
#: A list or manifest of one table; its path alone may be another's after a table was made anew.
Place = tuple[str, str]
Keys: TypeAlias = "array[int]"


class References:
    """Which files the tables of all catalogs reach."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._lists: dict[Place, tuple[str, ...]] = {}
        self._manifests: dict[Place, Keys] = {}
        self._keys: dict[TableRef, tuple[Outline, Keys]] = {}
        #: Keys of many tables in one order, and the tables with their keys of then.
        self._all: Keys = array("q")
        self._sorted: dict[TableRef, Keys] = {}
        self._lock = threading.Lock()

    def others(
        self, table: TableRef, paths: Collection[str], now: datetime, *, recheck: bool
    ) -> dict[str, TableRef]:
        """Of the paths, those that another table reaches, each with one such table."""
        if not paths:
            return {}
        outlines = self._homes.others(table, now, recheck=recheck)
        # Several tables may be swept at once, and one reading serves them all.
        with self._lock:
            self._read(outlines)
            return self._holders(table, Sought(paths), list(outlines))

    def _holders(
        self, table: TableRef, sought: Sought, others: Sequence[TableRef]
    ) -> dict[str, TableRef]:
        apart = [other for other in others if self._keys[other][1] is not self._sorted.get(other)]
        if len(apart) > MAX_APART:
            self._sort()
            apart = []
        found: dict[str, TableRef] = {}
        own, last = self._sorted.get(table, array("q")), others[:0]
        for key in sought.keys:
            likely = others if _count(self._all, key) > _count(own, key) else apart
            holder = next((o for o in (*last, *likely) if _count(self._keys[o][1], key)), None)
            if holder is not None:
                # Files that are shared are mostly shared with one table.
                last = [holder]
                found.update((path, holder) for path in sought.of_key(key))
        return found

    def _sort(self) -> None:
        self._sorted = {table: keys for table, (_, keys) in self._keys.items()}
        # Sorting what consists of sorted pieces is merging them.
        self._all = array("q", sorted(key for keys in self._sorted.values() for key in keys))

    def _read(self, outlines: Mapping[TableRef, Outline]) -> None:
        """Read what is new in these tables, and forget what nobody lists any more."""
        new = {
            table: outline
            for table, outline in outlines.items()
            if table not in self._keys
            or self._keys[table][0].metadata_location != outline.metadata_location
        }
        if not new:
            return
        resolver = Resolver()
        with ThreadPoolExecutor(THREADS, thread_name_prefix="neve-references") as pool:
            for place, listed in each(pool, _read_list, self._unread_lists(new)):
                self._lists[place] = listed
            unread = self._unread_manifests(new)
            for place, paths in each(pool, _read_manifest, unread):
                self._manifests[place] = array("q", _keys(resolver, paths))
        for table, outline in new.items():
            self._keys[table] = (outline, self._keys_of(outline, resolver))
        self._forget(outlines)

    def _unread_lists(self, new: Mapping[TableRef, Outline]) -> Iterator[tuple[Place, Outline]]:
        places = {
            (outline.home.table_uuid, path): outline
            for outline in new.values()
            for path in outline.manifest_lists
        }
        return ((place, outline) for place, outline in places.items() if place not in self._lists)

    def _unread_manifests(self, new: Mapping[TableRef, Outline]) -> Iterator[tuple[Place, Outline]]:
        places = {
            place: outline for outline in new.values() for place in self._manifests_of(outline)
        }
        return ((p, outline) for p, outline in places.items() if p not in self._manifests)

    def _manifests_of(self, outline: Outline) -> set[Place]:
        uuid = outline.home.table_uuid
        lists = (self._lists[uuid, path] for path in outline.manifest_lists)
        return {(uuid, path) for listed in lists for path in listed}

    def _keys_of(self, outline: Outline, resolver: Resolver) -> Keys:
        manifests = self._manifests_of(outline)
        named = (*outline.files, *outline.manifest_lists, *(path for _, path in manifests))
        keys = set(_keys(resolver, named))
        for place in manifests:
            keys.update(self._manifests[place])
        return array("q", sorted(keys))

    def _forget(self, listed: Mapping[TableRef, Outline]) -> None:
        """Manifests of tables that are gone, and of old states of others."""
        gone = self._keys.keys() - listed.keys() - self._homes.known
        self._keys = {table: item for table, item in self._keys.items() if table not in gone}
        outlines = [outline for outline, _ in self._keys.values()]
        lists = {(o.home.table_uuid, path) for o in outlines for path in o.manifest_lists}
        manifests = {place for outline in outlines for place in self._manifests_of(outline)}
        self._lists = {place: item for place, item in self._lists.items() if place in lists}
        self._manifests = {p: keys for p, keys in self._manifests.items() if p in manifests}


def _keys(resolver: Resolver, paths: Iterable[str]) -> Iterator[int]:
    return (key for path in paths for key in resolver.keys(path))


def _count(keys: Keys, key: int) -> int:
    return bisect_right(keys, key) - bisect_left(keys, key)


@contextmanager
def _reading(outline: Outline) -> Iterator[None]:
    try:
        with table_errors(outline.home.table):
            yield
    except TableUnreadable as error:
        raise TableUnreadable(f"{WHY} {error.message}", next_step=error.next_step) from error


def _read_list(item: tuple[Place, Outline]) -> tuple[Place, tuple[str, ...]]:
    place, outline = item
    with _reading(outline):
        return place, tuple(manifests_of_list(outline.io, place[1]))


def _read_manifest(item: tuple[Place, Outline]) -> tuple[Place, list[str]]:
    place, outline = item
    with _reading(outline):
        return place, list(files_of_manifest(outline.io, place[1]))
