"""Which delete files apply to which data files, by Iceberg's rules on sequence numbers."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from neve.model.exact import EXACT_NAN
from neve.model.facts import DataFileFacts, DeleteFileFacts, DeleteKind, PartitionKey, SpecFacts


@dataclass(frozen=True, slots=True)
class FileDeletes:
    """The deletes that a reader of one data file must apply."""

    delete_files: int
    #: Rows that deletion vectors take away: exact.
    vector_records: int
    #: True where position or equality delete files apply: only reading tells how many rows.
    needs_scan: bool


def scope(partition: PartitionKey) -> PartitionKey:
    """The partition as Iceberg compares it for deletes: every NaN is one value, zeros are two."""
    spec_id, values = partition
    if not any(isinstance(value, float) and math.isnan(value) for value in values):
        return partition
    folded = (
        EXACT_NAN if isinstance(value, float) and math.isnan(value) else value for value in values
    )
    return spec_id, tuple(folded)


class DeleteIndex:
    """Answers for each data file which deletes apply, in logarithmic time."""

    def __init__(
        self, delete_files: Iterable[DeleteFileFacts], specs: dict[int, SpecFacts]
    ) -> None:
        self._by_path: dict[str, list[DeleteFileFacts]] = defaultdict(list)
        self._positions: dict[PartitionKey, list[int]] = defaultdict(list)
        self._equalities: dict[PartitionKey, list[int]] = defaultdict(list)
        self._global_equalities: list[int] = []
        for delete in delete_files:
            self._add(delete, is_global=specs[delete.partition[0]].is_unpartitioned)

    def _add(self, delete: DeleteFileFacts, *, is_global: bool) -> None:
        sequence_number = delete.data_sequence_number
        if delete.referenced_path is not None:
            self._by_path[delete.referenced_path].append(delete)
        elif delete.kind is not DeleteKind.EQUALITY:
            insort(self._positions[scope(delete.partition)], sequence_number)
        elif is_global:
            insort(self._global_equalities, sequence_number)
        else:
            insort(self._equalities[scope(delete.partition)], sequence_number)

    def applying_to(self, file: DataFileFacts) -> FileDeletes:
        """Position deletes act on files as old as themselves, equality deletes on older ones."""
        own = file.data_sequence_number
        direct = [d for d in self._by_path.get(file.path, ()) if d.data_sequence_number >= own]
        vectors = [d for d in direct if d.kind is DeleteKind.DELETION_VECTOR]
        partition = scope(file.partition)
        positions = self._positions.get(partition, [])
        equalities = self._equalities.get(partition, [])
        scanned = (
            len(direct)
            - len(vectors)
            + len(positions)
            - bisect_left(positions, own)
            + len(equalities)
            - bisect_right(equalities, own)
            + len(self._global_equalities)
            - bisect_right(self._global_equalities, own)
        )
        return FileDeletes(
            delete_files=len(vectors) + scanned,
            vector_records=min(file.record_count, sum(d.record_count for d in vectors)),
            needs_scan=scanned > 0,
        )


def dangling_deletes(
    delete_files: Iterable[DeleteFileFacts],
    data_files: Iterable[DataFileFacts],
    specs: Mapping[int, SpecFacts],
) -> list[DeleteFileFacts]:
    """Delete files that apply to none of the data files, in the order given."""
    reaches = _reach(data_files, specs)
    return [delete for delete in delete_files if not reaches(delete)]


def applicable_deletes(
    delete_files: Iterable[DeleteFileFacts],
    data_files: Iterable[DataFileFacts],
    specs: Mapping[int, SpecFacts],
) -> tuple[DeleteFileFacts, ...]:
    """Delete files that apply to one of the data files at least, in the order given."""
    return tuple(filter(_reach(data_files, specs), delete_files))


def _reach(
    data_files: Iterable[DataFileFacts], specs: Mapping[int, SpecFacts]
) -> Callable[[DeleteFileFacts], bool]:
    """Tells of a delete file whether it applies to any of the data files."""
    by_path: dict[str, int] = {}
    oldest: dict[PartitionKey | None, int] = {}
    for file in data_files:
        by_path[file.path] = file.data_sequence_number
        for key in (scope(file.partition), None):
            known = oldest.get(key, file.data_sequence_number)
            oldest[key] = min(known, file.data_sequence_number)

    def oldest_in_reach(delete: DeleteFileFacts) -> int | None:
        if delete.referenced_path is not None:
            return by_path.get(delete.referenced_path)
        # An equality delete of an unpartitioned spec reaches the files of every spec.
        spec = specs[delete.partition[0]]
        is_global = delete.kind is DeleteKind.EQUALITY and spec.is_unpartitioned
        return oldest.get(None if is_global else scope(delete.partition))

    def reaches(delete: DeleteFileFacts) -> bool:
        found = oldest_in_reach(delete)
        if found is None:
            return False
        own = delete.data_sequence_number
        return found < own if delete.kind is DeleteKind.EQUALITY else found <= own

    return reaches
