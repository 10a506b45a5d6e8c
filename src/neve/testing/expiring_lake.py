"""The table in memory with the files of its past: what expiry frees can be seen to go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from neve.model.expiry import FileKind, FreedFile
from neve.model.facts import TableFacts
from neve.model.orphans import ReachableFiles
from neve.model.table import TableRef
from neve.testing.lake import MemoryLake


class ExpiringLake(MemoryLake):
    """Each snapshot has a manifest list besides its data files.

    `reached_again` are paths that only the engine's own reading finds in use, `reached_elsewhere`
    those that other tables reach; `undeletable` ones stay whatever is asked; `after_reading` is
    called once it is known what would be freed.
    """

    def __init__(self, facts: TableFacts) -> None:
        super().__init__(facts)
        self.reached_again: set[str] = set()
        self.reached_elsewhere: dict[str, TableRef] = {}
        self.undeletable: set[str] = set()
        self.registered_again: TableRef | None = None
        self.after_reading: Callable[[], None] = lambda: None
        self.twin_by_path: str | None = None

    def other_registration(
        self, table: TableRef, table_uuid: str, *, recheck: bool = False
    ) -> TableRef | None:
        return self.registered_again

    def path_twin(self, table: TableRef) -> str | None:
        return self.twin_by_path

    def needed(
        self,
        table: TableRef,
        paths: Collection[str],
        reached: Collection[str] = (),
        *,
        recheck: bool = False,
    ) -> dict[str, TableRef]:
        return {
            path: self.reached_elsewhere[path] for path in paths if path in self.reached_elsewhere
        }

    def outline(self, table: TableRef) -> TableFacts:
        return self.facts

    def change(self, **facts: Any) -> None:
        """Another commit that makes no snapshot."""
        self.facts = replace(self.facts, **facts)

    def files_of(self, snapshot_id: int) -> dict[str, FreedFile]:
        files = [FreedFile(f"file:///lake/list-{snapshot_id}", FileKind.MANIFEST_LIST, 1)]
        files += [
            FreedFile(file.path, FileKind.DATA, file.size_bytes)
            for file in self.history[snapshot_id].data_files
        ]
        return {file.path: file for file in files}

    def freed_files(self, table: TableRef, snapshot_ids: Collection[int]) -> tuple[FreedFile, ...]:
        gone = {path: f for number in snapshot_ids for path, f in self.files_of(number).items()}
        for snapshot in self.facts.snapshots:
            if snapshot.snapshot_id not in snapshot_ids:
                for path in self.files_of(snapshot.snapshot_id):
                    gone.pop(path, None)
        self.after_reading()
        return tuple(gone.values())

    def reachable(self, table: TableRef) -> ReachableFiles:
        ids = [snapshot.snapshot_id for snapshot in self.facts.snapshots]
        return ReachableFiles(
            table=table,
            table_uuid=self.facts.table_uuid,
            location=self.facts.location,
            metadata_location=f"{self.facts.location}/metadata.json",
            properties=self.facts.properties,
            partition_fields=frozenset(),
            snapshot_ids=frozenset(ids),
            paths=frozenset(path for number in ids for path in self.files_of(number)),
        )

    def unreachable(self, table: TableRef, paths: Sequence[str]) -> list[str]:
        reached = self.reachable(table).paths | self.reached_again
        return [path for path in paths if path not in reached]

    def present_files(self, table: TableRef, paths: Collection[str]) -> list[str]:
        deleted = set(self.deleted_paths) - self.undeletable
        return [path for path in paths if path not in deleted]
