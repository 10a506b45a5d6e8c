"""The surveyor: tables by name, facts by table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from neve.catalog.connect import Catalogs
from neve.catalog.delete_details import DeleteKey, read_delete_details
from neve.catalog.delete_entries import read_delete_entries
from neve.catalog.details import data_locations, leaf_columns, read_details, table_layout
from neve.catalog.errors import table_errors
from neve.catalog.freed_files import freed_files, present_files
from neve.catalog.locations import TableLocations, location_of
from neve.catalog.manifest_cache import ManifestCache
from neve.catalog.metadata_owners import metadata_owners
from neve.catalog.path_twins import path_twin
from neve.catalog.reachable import reachable
from neve.catalog.references import References
from neve.catalog.survey import survey
from neve.model.expiry import FreedFile
from neve.model.facts import PartitionKey, TableFacts
from neve.model.orphans import MetadataOwner, ReachableFiles, TableLocation
from neve.model.predicate import Predicate
from neve.model.rebase import DeleteEntry
from neve.model.rewrite import CopyInputs
from neve.model.table import TableRef
from neve.storage.not_of_tables import not_of_tables
from neve.storage.resolved import Sought


class CatalogSurveyor:
    """Surveys tables of the configured catalogs."""

    def __init__(
        self,
        catalogs: Catalogs,
        clock: Callable[[], datetime],
        named_files: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """With `named_files`, which the configuration names, no sweep takes one for an orphan."""
        self._catalogs = catalogs
        self._named_files = named_files
        self._clock = clock
        self._cache = ManifestCache()
        self._locations = TableLocations(catalogs)
        self._references = References(self._locations)

    def tables(self, pattern: str) -> list[TableRef]:
        return self._catalogs.tables(pattern)

    def survey(
        self, table: TableRef, *, where: str | None = None, snapshot_id: int | None = None
    ) -> TableFacts:
        now = self._clock()
        predicate = _parse(where, now) if where is not None else None
        return survey(
            table,
            self._catalogs.load_with(table, snapshot_id),
            now=now,
            predicate=predicate,
            where=where,
            snapshot_id=snapshot_id,
            cache=self._cache,
        )

    def outline(self, table: TableRef) -> TableFacts:
        """Facts without files: snapshots, branches, tags and properties, from one small read."""
        return survey(
            table,
            self._catalogs.load(table),
            now=self._clock(),
            cache=self._cache,
            with_files=False,
        )

    def copy_inputs(
        self,
        table: TableRef,
        snapshot_id: int,
        paths: Collection[str],
        outputs: Sequence[tuple[PartitionKey, Sequence[str]]],
        deletes: Collection[DeleteKey] = (),
    ) -> CopyInputs:
        """What a rewrite inside tasks must know about its inputs and outputs."""
        loaded = self._catalogs.load_with(table, snapshot_id)
        with table_errors(table):
            return CopyInputs(
                files=tuple(read_details(loaded, snapshot_id, paths)),
                columns=leaf_columns(loaded.schema()),
                locations=tuple(data_locations(loaded, outputs)),
                deletes=tuple(read_delete_details(loaded, snapshot_id, deletes)),
                layout=table_layout(loaded),
            )

    def delete_entries(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> list[DeleteEntry]:
        """What manifests say of the delete files at those paths."""
        loaded = self._catalogs.load_with(table, snapshot_id)
        with table_errors(table):
            return read_delete_entries(loaded, snapshot_id, paths)

    def reachable(self, table: TableRef) -> ReachableFiles:
        """Every file that the table's metadata reaches now, through all snapshots."""
        return reachable(table, self._catalogs.load(table))

    def location(self, table: TableRef) -> TableLocation:
        """Where the table lives now."""
        return location_of(table, self._catalogs.load(table))

    def locations(self) -> list[TableLocation]:
        """Where all tables of all catalogs live."""
        return self._locations.read(self._clock())

    def other_registration(
        self, table: TableRef, table_uuid: str, *, recheck: bool = False
    ) -> TableRef | None:
        """Another name, in any catalog, under which the same table is registered."""
        return self._locations.other_registration(table, table_uuid, self._clock(), recheck=recheck)

    def path_twin(self, table: TableRef) -> str | None:
        """The metadata file of a table by path that has the same folder and states of its own."""
        loaded = self._catalogs.load(table)
        with table_errors(table):
            return path_twin(loaded)

    def metadata_owners(self, table: TableRef, paths: Collection[str]) -> list[MetadataOwner]:
        """Whose metadata those files are."""
        if not paths:
            return []
        return metadata_owners(self._catalogs.load(table).io, paths)

    def not_of_tables(self, table: TableRef, paths: Collection[str]) -> set[str]:
        """Of the paths, databases and files that the configuration names or Neve keeps."""
        return not_of_tables(paths, self._named_files()) if paths else set()

    def needed(
        self,
        table: TableRef,
        paths: Collection[str],
        reached: Collection[str] = (),
        *,
        recheck: bool = False,
    ) -> dict[str, TableRef]:
        """Of the paths, those that the reached ones mean or that another table reaches."""
        if not paths:
            return {}
        sought = Sought(paths)
        others = self._references.others(table, sought, self._clock(), recheck=recheck)
        return others | dict.fromkeys(sought.named_by(reached), table)

    def freed_files(self, table: TableRef, snapshot_ids: Collection[int]) -> tuple[FreedFile, ...]:
        """Files that nothing reaches once the snapshots are gone."""
        loaded = self._catalogs.load(table)
        with table_errors(table):
            freed = freed_files(loaded, snapshot_ids)
        # Metadata may name any file of this machine.
        kept = self.not_of_tables(table, [file.path for file in freed])
        return tuple(file for file in freed if file.path not in kept)

    def present_files(self, table: TableRef, paths: Collection[str]) -> list[str]:
        """Of the paths, those that are there."""
        loaded = self._catalogs.load(table)
        with table_errors(table):
            return present_files(loaded.io, paths)


def _parse(where: str, now: datetime) -> Predicate:
    # sqlglot takes a third of a second to import, and most surveys have no filter.
    from neve.planning.filters import parse_filter

    return parse_filter(where, today=now.date())
