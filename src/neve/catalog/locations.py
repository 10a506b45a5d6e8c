"""Where tables live: asked of all catalogs before a file of one table may be deleted.

A table that is listed and cannot be read might need any file, so it stops whatever would delete.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from pyiceberg.io import FileIO
from pyiceberg.table import Table

from neve.catalog.connect import Catalogs
from neve.catalog.reachable import manifest_lists, metadata_files
from neve.model.errors import CatalogError, TableNotFound, TableUnreadable
from neve.model.orphans import TableLocation
from neve.model.table import TableRef
from neve.planning.operations.remove_orphan_files import locations_of
from neve.retries import RetryPolicy, retrying
from neve.storage.resolved import Resolver

#: How long an answer serves for looking; before files are deleted, every table is asked again.
FRESH = timedelta(minutes=10)
NEVER = datetime.min.replace(tzinfo=UTC)
THREADS = 16
#: Tables may be dropped or renamed between being listed and being loaded.
POLICY = RetryPolicy(attempts=3)
WHY = "No file is deleted before it is known which tables need it."


@dataclass(frozen=True, slots=True)
class Outline:
    """What is remembered of a table: its place, and the files to start from."""

    place: TableLocation
    metadata_location: str
    io: FileIO
    #: Metadata files and statistics.
    files: tuple[str, ...]
    manifest_lists: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What all catalogs said last, and when every table of it was last asked for."""

    asked_at: datetime = NEVER
    #: None where some of what was listed could not be loaded.
    listed: Sequence[TableRef] | None = None
    #: Of those catalogs that tell it for all tables at once.
    locations: Mapping[TableRef, str] = field(default_factory=dict)
    outlines: Mapping[TableRef, Outline] = field(default_factory=dict)
    #: Whether every outline is of the metadata file that its catalog told.
    is_told: bool = False


def location_of(table: TableRef, loaded: Table) -> TableLocation:
    """What the table's metadata says of its place."""
    metadata = loaded.metadata
    place = TableLocation(
        table=table,
        table_uuid=str(metadata.table_uuid),
        location=metadata.location,
        properties=dict(metadata.properties),
        partition_fields=frozenset(
            field.name for spec in metadata.partition_specs for field in spec.fields
        ),
    )
    resolver = Resolver()
    aliases = {name for folder in locations_of(place) for name in resolver.real_names(folder)}
    return replace(place, aliases=tuple(sorted(aliases)))


class TableLocations:
    """Every table's place; sweeping a thousand tables must not load a million."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._last = _Answer()
        self._reading = threading.Lock()

    def read(self, now: datetime) -> list[TableLocation]:
        """Locations of all tables that are listed now; an error for one is an error."""
        return [outline.place for outline in self.outlines(now).values()]

    def other_registration(
        self, table: TableRef, table_uuid: str, now: datetime, *, recheck: bool = False
    ) -> TableRef | None:
        """Another name, in whatever catalog, under which the same table is registered."""
        found = self.outlines(now, recheck=recheck)
        itself = self.itself(table, found)
        for other, outline in found.items():
            if outline.place.table_uuid == table_uuid and other not in itself:
                return other
        return None

    def outlines(self, now: datetime, *, recheck: bool = False) -> Mapping[TableRef, Outline]:
        """All tables that are listed now, none older than some minutes, or all asked again.

        Where nothing is another than before, this is the very same mapping.
        """
        # Several tables may be swept at once, and one reading serves them all.
        with self._reading:
            retrying(
                partial(self._read_all, now, recheck=recheck),
                on=lambda error: isinstance(error, TableNotFound),
                policy=POLICY,
            )
            return self._last.outlines

    def _read_all(self, now: datetime, *, recheck: bool) -> None:
        if missing := self._read(now, recheck=recheck):
            raise TableNotFound(
                f"{WHY} Table {missing[0]} is listed by its catalog and cannot be loaded from it.",
                next_step="Where it is no Iceberg table or a broken one, drop it or move it into "
                "a catalog that Neve is not configured for.",
            )

    def _read(self, now: datetime, *, recheck: bool) -> list[TableRef]:
        """Read what is not known; returns those that are listed and not there.

        Such a table may be gone, or have another name by now: the next list will tell.
        """
        last = self._last if recheck or now - self._last.asked_at < FRESH else _Answer()
        again = recheck or last.asked_at == NEVER
        try:
            if again:
                listed, locations = self._catalogs.with_locations()
            else:
                listed, locations = self._catalogs.tables("*"), last.locations
        except CatalogError as error:
            raise CatalogError(f"{WHY} {error.message}", next_step=error.next_step) from error
        asked_at = now if again else last.asked_at
        if listed == last.listed and (not again or (last.is_told and locations == last.locations)):
            self._last = replace(last, asked_at=asked_at)
            return []
        known = {table: last.outlines[table] for table in listed if table in last.outlines}
        if again:
            known = {t: o for t, o in known.items() if o.metadata_location == locations.get(t)}
        unknown = [table for table in listed if table not in known]
        with ThreadPoolExecutor(THREADS, thread_name_prefix="neve-locations") as pool:
            outlines = dict(zip(unknown, pool.map(self._outline, unknown), strict=True))
        known.update((table, found) for table, found in outlines.items() if found)
        missing = [table for table in unknown if outlines[table] is None]
        is_told = all(o.metadata_location == locations.get(t) for t, o in known.items())
        self._last = _Answer(asked_at, None if missing else listed, locations, known, is_told)
        return missing

    def _outline(self, table: TableRef) -> Outline | None:
        return _outline(self._catalogs, table)

    def itself(self, table: TableRef, listed: Mapping[TableRef, Outline]) -> set[TableRef]:
        """Names under which this very entry is listed."""
        entry = table
        if table not in listed:
            # Some catalogs take a name in any case, and list it in one.
            folded = _folded(table)
            alike = [t for t in listed if t.catalog == table.catalog and _folded(t) == folded]
            entry = alike[0] if len(alike) == 1 else table
        # A catalog may be configured under two names; then both show the same entry. Whose token
        # is sent may lead elsewhere all the same, and there the name is another table's.
        names = [n for n in self._catalogs.names if self._catalogs.are_same(table.catalog, n)]
        aliases = {replace(entry, catalog=name) for name in names}
        return {
            entry,
            *(alias for alias in aliases if _uuid(listed, alias) == _uuid(listed, entry)),
        }


def _uuid(listed: Mapping[TableRef, Outline], table: TableRef) -> str | None:
    return listed[table].place.table_uuid if table in listed else None


def _folded(table: TableRef) -> tuple[str, ...]:
    return tuple(part.casefold() for part in (*table.namespace, table.name))


def _outline(catalogs: Catalogs, table: TableRef) -> Outline | None:
    try:
        loaded = catalogs.load(table)
        return Outline(
            place=location_of(table, loaded),
            metadata_location=loaded.metadata_location,
            io=loaded.io,
            files=tuple(metadata_files(loaded)),
            manifest_lists=tuple(manifest_lists(table, loaded)),
        )
    except TableNotFound:
        return None
    except TableUnreadable as error:
        raise TableUnreadable(f"{WHY} {error.message}", next_step=error.next_step) from error
    except CatalogError as error:
        raise CatalogError(f"{WHY} {error.message}", next_step=error.next_step) from error
