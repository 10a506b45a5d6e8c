"""What all tables reach, remembered as numbers, so that one table's files are not another's loss.

A table may reach files below any other's location: `add_files`, a snapshot of a table, a migrated
one, a landing folder that several share. Manifests have no bounds of paths, so all of them are
read once; they never change, and what changes afterwards is read alone.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import TypeAlias

from neve.catalog.errors import table_errors
from neve.catalog.freed_files import THREADS, each
from neve.catalog.locations import WHY, Outline, TableLocations
from neve.catalog.reachable import files_of_manifest, manifests_of_list
from neve.model.errors import TableUnreadable
from neve.model.table import TableRef
from neve.storage.resolved import Resolver, Sought
from neve.storage.watched import WatchedFolders

#: Tables that changed since all were sorted together are asked one by one, up to this many.
MAX_APART = 32
#: A list or manifest of one table; its path alone may be another's after a table was made again.
Place = tuple[str, str]
Keys: TypeAlias = "array[int]"


class References:
    """Which files the tables of all catalogs reach."""

    def __init__(self, locations: TableLocations) -> None:
        self._locations = locations
        self._lists: dict[Place, tuple[str, ...]] = {}
        self._manifests: dict[Place, Keys] = {}
        self._keys: dict[TableRef, tuple[Outline, Keys]] = {}
        #: The tables of the last question, and those of them that were not read as they are there.
        self._outlines: Mapping[TableRef, Outline] = {}
        self._unread: set[TableRef] = set()
        #: Where manifests, and what tables name besides, were resolved.
        self._watched: WatchedFolders[Place | TableRef] = WatchedFolders()
        #: Keys of many tables in one order, and the tables with their keys of then.
        self._all: Keys = array("q")
        self._sorted: dict[TableRef, Keys] = {}
        #: Tables that have other keys by now, or are gone.
        self._apart: set[TableRef] = set()
        self._lock = threading.Lock()

    def others(
        self, table: TableRef, sought: Sought, now: datetime, *, recheck: bool
    ) -> dict[str, TableRef]:
        """Of the sought paths, those that another table reaches, each with one such table.

        Right before files are deleted the table itself must not reach them either: by its name
        there may be another one by now, or an earlier state of it.
        """
        # Several tables may be swept at once, and one reading serves them all.
        with self._lock:
            outlines = self._locations.outlines(now, recheck=recheck)
            itself = set() if recheck else self._locations.itself(table, outlines)
            if outlines is not self._outlines:
                self._compare(outlines)
            if recheck:
                self._look_at_links()
            if self._unread - itself:
                self._read({other: outlines[other] for other in self._unread - itself})
            return self._holders(itself, sought)

    def _compare(self, outlines: Mapping[TableRef, Outline]) -> None:
        """Forget tables that are gone, and see which have changed."""
        if self._keys.keys() - outlines.keys():
            self._keys = {table: item for table, item in self._keys.items() if table in outlines}
            self._forget()
        self._unread = {
            table
            for table, outline in outlines.items()
            if table not in self._keys
            or self._keys[table][0].metadata_location != outline.metadata_location
        }
        self._apart |= self._sorted.keys() - outlines.keys()
        self._outlines = outlines

    def _look_at_links(self) -> None:
        """Read again what names files that may be others by now."""
        changed = self._watched.changed()
        places = {user for user in changed if isinstance(user, tuple)}
        for place in places:
            self._manifests.pop(place, None)
        moved = {
            table
            for table, (outline, _) in self._keys.items()
            if table in changed or not places.isdisjoint(self._manifests_of(outline))
        }
        self._keys = {t: item for t, item in self._keys.items() if t not in moved}
        self._unread |= moved

    def _holders(self, itself: Set[TableRef], sought: Sought) -> dict[str, TableRef]:
        if len(self._apart) > MAX_APART:
            self._sort()
        own = [self._sorted[table] for table in itself if table in self._sorted]
        apart = {table: self._keys[table] for table in self._apart if table in self._keys}
        found: dict[str, TableRef] = {}
        last: tuple[TableRef, Keys] | None = None
        for key in sought.keys:
            # Most files that may be deleted are nobody's.
            count = _count(self._all, key)
            shared = count > 0 and count > sum(_count(keys, key) for keys in own)
            if not shared and not any(_count(keys, key) for _, keys in apart.values()):
                continue
            # Files that are shared are mostly shared with one table.
            if last is None or not _count(last[1], key):
                likely = self._keys if shared else apart
                last = next(
                    (
                        (other, keys)
                        for other, (_, keys) in likely.items()
                        if _count(keys, key) and other not in itself
                    ),
                    None,
                )
            if last is not None:
                found.update(dict.fromkeys(sought.of_key(key), last[0]))
        return found

    def _sort(self) -> None:
        self._sorted = {table: keys for table, (_, keys) in self._keys.items()}
        # Sorting what consists of sorted pieces is merging them.
        self._all = array("q", sorted(key for keys in self._sorted.values() for key in keys))
        self._apart = set()

    def _read(self, new: Mapping[TableRef, Outline]) -> None:
        """Read what is new in these tables, and forget what nobody lists any more."""
        resolver = Resolver()
        with ThreadPoolExecutor(THREADS, thread_name_prefix="neve-references") as pool:
            for place, listed in each(pool, _read_list, self._unread_lists(new)):
                self._lists[place] = listed
            unread = self._unread_manifests(new)
            for place, outline, paths in each(pool, _read_manifest, unread):
                self._watched.note(place, paths)
                with _reading(outline):
                    self._manifests[place] = array("q", _keys(resolver, paths))
        for table, outline in new.items():
            self._keys[table] = (outline, self._keys_of(table, outline, resolver))
        self._unread -= new.keys()
        self._apart |= new.keys()
        self._forget()

    def _unread_lists(self, new: Mapping[TableRef, Outline]) -> Iterator[tuple[Place, Outline]]:
        places = {
            (outline.place.table_uuid, path): outline
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
        uuid = outline.place.table_uuid
        lists = (self._lists[uuid, path] for path in outline.manifest_lists)
        return {(uuid, path) for listed in lists for path in listed}

    def _keys_of(self, table: TableRef, outline: Outline, resolver: Resolver) -> Keys:
        manifests = self._manifests_of(outline)
        named = (*outline.files, *outline.manifest_lists, *(path for _, path in manifests))
        self._watched.note(table, named)
        with _reading(outline):
            keys = set(_keys(resolver, named))
        for place in manifests:
            keys.update(self._manifests[place])
        return array("q", sorted(keys))

    def _forget(self) -> None:
        """Manifests of tables that are gone, and of old states of others."""
        outlines = [outline for outline, _ in self._keys.values()]
        lists = {(o.place.table_uuid, path) for o in outlines for path in o.manifest_lists}
        manifests = {place for outline in outlines for place in self._manifests_of(outline)}
        self._lists = {place: item for place, item in self._lists.items() if place in lists}
        self._manifests = {p: keys for p, keys in self._manifests.items() if p in manifests}
        self._watched.keep(manifests | self._keys.keys())


def _keys(resolver: Resolver, paths: Iterable[str]) -> Iterator[int]:
    return (key for path in paths for key in resolver.keys(path))


def _count(keys: Keys, key: int) -> int:
    first = bisect_left(keys, key)
    if first == len(keys) or keys[first] != key:
        return 0
    return bisect_right(keys, key, first) - first


@contextmanager
def _reading(outline: Outline) -> Iterator[None]:
    try:
        with table_errors(outline.place.table):
            yield
    except TableUnreadable as error:
        raise TableUnreadable(f"{WHY} {error.message}", next_step=error.next_step) from error


def _read_list(item: tuple[Place, Outline]) -> tuple[Place, tuple[str, ...]]:
    place, outline = item
    with _reading(outline):
        return place, tuple(manifests_of_list(outline.io, place[1]))


def _read_manifest(item: tuple[Place, Outline]) -> tuple[Place, Outline, list[str]]:
    place, outline = item
    with _reading(outline):
        return place, outline, list(files_of_manifest(outline.io, place[1]))
