"""A table in memory with a storage below it that can be listed and deleted from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from neve.model.facts import EPOCH, TableFacts
from neve.model.orphans import (
    FileTotals,
    KeptReason,
    ListedFile,
    Listing,
    MetadataOwner,
    ReachableFiles,
    Sweep,
    TableLocation,
)
from neve.model.table import TableRef
from neve.planning.locations import is_within, path_of
from neve.planning.operations.remove_orphan_files import why_kept
from neve.planning.table_signs import foreign_folders, is_unclear, table_folder
from neve.service.ports import Reporter
from neve.testing.expiring_lake import ExpiringLake
from neve.testing.facts import NOW


class StoredLake(ExpiringLake):
    """All ports of a table, and its store: `files` are there.

    The walk finds those that are `reached`, Spark those `reached_by_engine`.

    `reached_elsewhere` are files that other tables reach. `before_delete` is called before files
    are deleted, `stubborn` files survive it.
    """

    def __init__(self, facts: TableFacts) -> None:
        super().__init__(facts)
        self.files: dict[str, ListedFile] = {}
        self.reached: set[str] = set()
        self.reached_by_engine: set[str] = set()
        self.other_homes: list[TableLocation] = []
        self.properties: dict[str, str] = {}
        self.stubborn: set[str] = set()
        self.owners: list[MetadataOwner] = []
        self.configured: set[str] = set()
        self.before_delete: Callable[[], None] = lambda: None

    def put(
        self, name: str, *, at: datetime = NOW - timedelta(days=9), is_reached: bool = False
    ) -> str:
        """A file of the table's location."""
        path = f"{self.facts.location}/{name}"
        self.files[path] = ListedFile(path, 10, (at - EPOCH) // timedelta(milliseconds=1))
        if is_reached:
            self.reached.add(path)
            self.reached_by_engine.add(path)
        return path

    def location(self, table: TableRef) -> TableLocation:
        return TableLocation(
            table, self.facts.table_uuid, self.facts.location, self.properties, frozenset()
        )

    def path_twin(self, table: TableRef) -> str | None:
        return self.twin_by_path

    def metadata_owners(self, table: TableRef, paths: Collection[str]) -> list[MetadataOwner]:
        return [owner for owner in self.owners if owner.path in paths]

    def not_of_tables(self, table: TableRef, paths: Collection[str]) -> set[str]:
        return self.configured.intersection(paths)

    def locations(self) -> list[TableLocation]:
        return [self.location(self.facts.table), *self.other_homes]

    def reachable(self, table: TableRef) -> ReachableFiles:
        return ReachableFiles(
            table=table,
            table_uuid=self.facts.table_uuid,
            location=self.facts.location,
            metadata_location=f"{self.facts.location}/metadata/v1.json",
            properties=self.properties,
            partition_fields=frozenset(),
            snapshot_ids=frozenset(s.snapshot_id for s in self.facts.snapshots),
            paths=frozenset(self.reached),
        )

    def unreachable(self, table: TableRef, paths: Sequence[str]) -> list[str]:
        return [path for path in paths if path not in self.reached_by_engine]

    def sweep(
        self,
        table: TableRef,
        listing: Listing,
        read_reachable: Callable[[], ReachableFiles],
        watched: Sequence[str],
        reporter: Reporter,
    ) -> Sweep:
        files = [f for f in self.files.values() if any(is_within(f.path, r) for r in listing.roots)]
        reachable = read_reachable()
        keys = {path_of(path) for path in reachable.paths}
        foreign = foreign_folders(
            (table_folder(file.path, listing.roots), path_of(file.path) in keys) for file in files
        )

        def keep_of(file: ListedFile) -> KeptReason | None:
            if path_of(file.path) in keys:
                return KeptReason.REACHABLE
            other = KeptReason.OTHER_TABLE if file.path.startswith(foreign) else None
            return why_kept(file, listing) or other

        judged = [(file, keep_of(file)) for file in files]
        orphans = tuple(file for file, keep in judged if keep is None)
        return Sweep(
            reachable=reachable,
            listed=_totals(files),
            orphans=_totals(orphans),
            kept={why: _totals([f for f, keep in judged if keep is why]) for why in KeptReason},
            candidates=orphans,
            watched={file.path: (file, keep) for file, keep in judged if file.path in watched},
            metadata_files=tuple(file.path for file, keep in judged if is_unclear(file.path, keep)),
        )

    def present_files(self, table: TableRef, paths: Collection[str]) -> list[str]:
        return [path for path in paths if path in self.files]

    def look_up(self, table: TableRef, paths: Sequence[str]) -> list[ListedFile]:
        return [self.files[path] for path in paths if path in self.files]

    def delete_files(self, table: TableRef, paths: Sequence[str]) -> None:
        self.before_delete()
        super().delete_files(table, paths)
        for path in set(paths) - self.stubborn:
            self.files.pop(path, None)


def _totals(files: Sequence[ListedFile]) -> FileTotals:
    return FileTotals(len(files), sum(file.size_bytes for file in files))
