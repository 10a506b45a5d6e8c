"""How a finished rewrite stands at a newer head: untouched, to be followed up, or taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from neve.model.facts import (
    DataFileFacts,
    DeleteFileFacts,
    DeleteKind,
    PartitionKey,
    SpecFacts,
    TableFacts,
)
from neve.planning.deletes import scope
from neve.planning.staleness import got_row_ids, newest_sequence_number, same_entries


@dataclass(frozen=True, slots=True)
class FileDeleteFiles:
    """The delete files that a reader of one data file applies."""

    #: Position deletes, or the one vector, which takes their place.
    positions: tuple[DeleteFileFacts, ...]
    equalities: tuple[DeleteFileFacts, ...]


@dataclass(frozen=True, slots=True)
class TouchedSource:
    """A source that readers see with other position deletes than before."""

    file: DataFileFacts
    positions: tuple[DeleteFileFacts, ...]
    fresh: tuple[DeleteFileFacts, ...]
    had_equalities: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What writers did to one group."""

    #: Why the group cannot be committed as it is, or None.
    taken: str | None = None
    touched: tuple[TouchedSource, ...] = ()
    #: Equality deletes that came meanwhile and apply to a source.
    equalities: frozenset[DeleteFileFacts] = field(default_factory=frozenset)

    @property
    def is_untouched(self) -> bool:
        return self.taken is None and not self.touched and not self.equalities


class Meanwhile:
    """What happened to a table between two surveys of it, as a finished rewrite must know it."""

    def __init__(self, base: TableFacts, head: TableFacts) -> None:
        self.head = head
        self._problem = _problem(base, head)
        self._then = {file.path: file for file in base.data_files}
        self._kept = same_entries(base, head)
        self._got_row_ids = got_row_ids(base, head)
        self._deletes_then = _Deletes(base.delete_files, base.specs)
        self._deletes_now = _Deletes(head.delete_files, head.specs)
        self.base_sequence_number = newest_sequence_number(base)

    def standing(self, paths: Iterable[str]) -> Standing:
        """How the group of these sources stands."""
        if self._got_row_ids:
            return Standing("rows were given ids that the new files do not have")
        touched: list[TouchedSource] = []
        equalities: set[DeleteFileFacts] = set()
        for path in paths:
            then, now = self._then[path], self._kept.get(path)
            if now is None:
                return Standing(f"{path} was replaced or removed")
            before, after = self._deletes_then.of(then), self._deletes_now.of(now)
            if before == after:
                continue
            if why := self._problem or self._doubt(path, before, after):
                return Standing(why)
            equalities |= set(after.equalities) - set(before.equalities)
            if before.positions != after.positions:
                touched.append(
                    TouchedSource(
                        now,
                        after.positions,
                        tuple(set(after.positions) - set(before.positions)),
                        bool(before.equalities),
                    )
                )
        return Standing(None, tuple(touched), frozenset(equalities))

    def _doubt(self, path: str, before: FileDeleteFiles, after: FileDeleteFiles) -> str | None:
        """Changes of which metadata does not tell what they did to rows."""
        if set(before.equalities) - set(after.equalities):
            return f"an equality delete of {path} is gone"
        fresh = set(after.equalities) - set(before.equalities)
        # New files get the age of the base: whoever is younger applies to them, and nobody else.
        if any(d.data_sequence_number <= self.base_sequence_number for d in fresh):
            return f"an equality delete of {path} is new and older than the rewrite"
        if before.equalities and set(before.positions) - set(after.positions):
            return f"position deletes of {path} were written again beside equality deletes"
        return None

    def would_be_dropped(
        self, equalities: Iterable[DeleteFileFacts], replaced: Collection[str]
    ) -> list[DeleteFileFacts]:
        """Those that a commit drops although they apply to files that it adds.

        Iceberg drops deletes that are older than every data file that stays, and does not look at
        the age that added files are given (apache/iceberg#10312).
        """
        staying = [f.data_sequence_number for f in self.head.data_files if f.path not in replaced]
        oldest = min(staying, default=None)
        return [d for d in equalities if oldest is None or d.data_sequence_number < oldest]


def _problem(base: TableFacts, head: TableFacts) -> str | None:
    if base.table_uuid != head.table_uuid:
        return "the table was made anew"
    if base.format_version != head.format_version:
        return f"the table has format v{head.format_version} now"
    if base.snapshot_id not in {snapshot.snapshot_id for snapshot in head.ancestry()}:
        return "the table went back to an earlier state"
    return None


class _Deletes:
    """Delete files by the data files that they reach, as Iceberg's readers find them."""

    def __init__(self, deletes: Iterable[DeleteFileFacts], specs: Mapping[int, SpecFacts]) -> None:
        self._by_path: dict[str, list[DeleteFileFacts]] = defaultdict(list)
        self._positions: dict[PartitionKey, list[DeleteFileFacts]] = defaultdict(list)
        self._equalities: dict[PartitionKey | None, list[DeleteFileFacts]] = defaultdict(list)
        for delete in sorted(deletes, key=lambda d: (d.data_sequence_number, d.path)):
            if delete.referenced_path is not None:
                self._by_path[delete.referenced_path].append(delete)
            elif delete.kind is not DeleteKind.EQUALITY:
                self._positions[scope(delete.partition)].append(delete)
            else:
                is_global = specs[delete.partition[0]].is_unpartitioned
                key = None if is_global else scope(delete.partition)
                self._equalities[key].append(delete)

    def of(self, file: DataFileFacts) -> FileDeleteFiles:
        own, partition = file.data_sequence_number, scope(file.partition)
        positions = [*self._by_path.get(file.path, ()), *self._positions.get(partition, ())]
        positions = [d for d in positions if d.data_sequence_number >= own]
        vectors = [d for d in positions if d.kind is DeleteKind.DELETION_VECTOR]
        equalities = [*self._equalities.get(None, ()), *self._equalities.get(partition, ())]
        return FileDeleteFiles(
            tuple(vectors or positions),
            tuple(d for d in equalities if d.data_sequence_number > own),
        )
