"""When compaction is due, and on which files: filter, group by partition, pack, filter again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from neve.model.counts import many, verb
from neve.model.facts import (
    LAYOUT_PROPERTY,
    TARGET_SIZE_PROPERTY,
    DataFileFacts,
    PartitionKey,
    TableFacts,
)
from neve.model.health import PartitionHealth
from neve.model.plan import NothingToDo, Reason
from neve.model.policy import CompactionPolicy, Strategy
from neve.planning.health import Assessment
from neve.planning.packing import pack_first_fit_decreasing


@dataclass(frozen=True, slots=True)
class Candidate:
    """Files of one partition that would become `outputs` new ones, and the rule that chose them."""

    partition: PartitionKey
    files: tuple[DataFileFacts, ...]
    outputs: int
    delete_files: int
    strategy: Strategy
    rule: str


@dataclass(slots=True)
class Selection:
    """The groups found, and why the other partitions were left alone."""

    candidates: list[Candidate] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)


def settled_snapshots(facts: TableFacts, target_file_size_bytes: int) -> frozenset[int]:
    """Snapshots whose files an earlier run wrote towards this target or a larger one."""
    targets = ((s.snapshot_id, s.summary.get(TARGET_SIZE_PROPERTY, "")) for s in facts.snapshots)
    return frozenset(
        snapshot_id
        for snapshot_id, target in targets
        if target.isdigit() and int(target) >= target_file_size_bytes
    )


def ordered_snapshots(facts: TableFacts, layout: str) -> frozenset[int]:
    """Snapshots whose files an earlier run wrote in that layout."""
    return frozenset(
        s.snapshot_id for s in facts.snapshots if s.summary.get(LAYOUT_PROPERTY) == layout
    )


@dataclass(frozen=True, slots=True)
class Selector:
    """Chooses file groups for one strategy."""

    facts: TableFacts
    assessment: Assessment
    policy: CompactionPolicy
    strategy: Strategy
    effective_target_bytes: int
    sort_columns: tuple[str, ...]
    #: Snapshots in which our own runs wrote files towards this target, and in this order.
    settled_snapshots: frozenset[int]
    ordered_snapshots: frozenset[int]

    def select(self) -> Selection:
        selection = Selection()
        for partition, health in self.assessment.scores.items():
            files = [f for f in self.assessment.files_by_partition[partition] if f.selected]
            if not files:
                continue
            found = list(self._select_partition(health, files))
            selection.candidates += [item for item in found if isinstance(item, Candidate)]
            selection.reasons += [item for item in found if isinstance(item, Reason)]
        return selection

    def _select_partition(
        self, health: PartitionHealth, files: list[DataFileFacts]
    ) -> Iterator[Candidate | Reason]:
        if self._is_hot(health):
            yield Reason(
                NothingToDo.TOO_YOUNG,
                f"Partition {health.name} was written less than "
                f"{self.policy.hot_partition_seconds} seconds ago: it is left to its writers.",
                health.name,
            )
        elif self.strategy.orders_rows:
            yield from self._to_be_ordered(health, files)
        elif self.strategy is Strategy.DELETE_FILES:
            yield from self._with_deletes(health, files)
        elif self.strategy is Strategy.AUTO and self._delete_debt(files):
            yield from self._with_deletes_and_small(files)
        elif self.strategy is Strategy.TIME_SERIES and not self._is_quiet(health):
            yield Reason(
                NothingToDo.TOO_YOUNG,
                f"Partition {health.name} was written less than "
                f"{self.policy.quiet_seconds} seconds ago: it is compacted once it is quiet.",
                health.name,
            )
        else:
            yield from self._small(health, files)

    def _small(
        self, health: PartitionHealth, files: list[DataFileFacts]
    ) -> Iterator[Candidate | Reason]:
        small = [file for file in files if file.size_bytes < self.policy.small_file_bytes]
        if not small:
            yield Reason(
                NothingToDo.ALREADY_GOOD,
                f"Every file of partition {health.name} has a good size.",
                health.name,
            )
            return
        if len(small) < self.policy.min_input_files:
            yield Reason(
                NothingToDo.TOO_FEW_FILES,
                f"Partition {health.name} has {len(small)} small file"
                f"{'s' if len(small) != 1 else ''}; "
                f"{self.policy.min_input_files} are needed to merge.",
                health.name,
            )
            return
        groups = [group for group in self._pack(small) if self._improves(group)]
        if not groups:
            yield Reason(
                NothingToDo.WOULD_NOT_CONVERGE,
                f"The {len(small)} small files of partition {health.name} are what earlier runs "
                f"left or do not fit together: merging them would gain nothing.",
                health.name,
            )
        strategy = (
            Strategy.TIME_SERIES if self.strategy is Strategy.TIME_SERIES else Strategy.SMALL_FILES
        )
        for group in groups:
            yield self._candidate(
                group, 1, strategy, f"{many(len(group), 'file')} below {self._size(self.policy)}"
            )

    def _with_deletes(
        self, health: PartitionHealth, files: list[DataFileFacts]
    ) -> Iterator[Candidate | Reason]:
        hit = [file for file in files if file.path in self.assessment.deletes]
        if not self._delete_debt(files):
            few = "no deletes apply to it" if not hit else "deletes are below the threshold"
            yield Reason(NothingToDo.NO_DELETES, f"Partition {health.name}: {few}.", health.name)
            return
        for group in self._pack(hit):
            yield self._delete_candidate(group, Strategy.DELETE_FILES)

    def _with_deletes_and_small(self, files: list[DataFileFacts]) -> Iterator[Candidate]:
        """Both problems at once, or the small files would be left for a second run."""
        deletes, small_bytes = self.assessment.deletes, self.policy.small_file_bytes
        chosen = [f for f in files if f.path in deletes or f.size_bytes < small_bytes]
        for group in self._pack(chosen):
            if self._improves(group) or any(file.path in deletes for file in group):
                yield self._delete_candidate(group, Strategy.AUTO)

    def _delete_candidate(self, group: list[DataFileFacts], strategy: Strategy) -> Candidate:
        total = sum(file.size_bytes for file in group)
        outputs = max(1, math.ceil(total / self.effective_target_bytes))
        hit = sum(1 for file in group if file.path in self.assessment.deletes)
        deletes = self._delete_files(group)
        rule = (
            f"{many(deletes, 'delete file')} {verb(deletes, 'applies', 'apply')} to {hit} of "
            f"{many(len(group), 'file')}"
        )
        return self._candidate(group, min(outputs, len(group)), strategy, rule)

    def _to_be_ordered(
        self, health: PartitionHealth, files: list[DataFileFacts]
    ) -> Iterator[Candidate | Reason]:
        unordered = [file for file in files if not self._is_ordered(file)]
        if not unordered:
            yield Reason(
                NothingToDo.ALREADY_SORTED,
                f"Every file of partition {health.name} is ordered by "
                f"{', '.join(self.sort_columns)} already.",
                health.name,
            )
            return
        total = sum(file.size_bytes for file in files)
        outputs = max(1, math.ceil(total / self.effective_target_bytes))
        counted = f"{many(len(unordered), 'file')} {'is' if len(unordered) == 1 else 'are'}"
        rule = f"{counted} not ordered by {', '.join(self.sort_columns)}"
        yield self._candidate(files, outputs, self.strategy, rule)

    def _candidate(
        self, files: Iterable[DataFileFacts], outputs: int, strategy: Strategy, rule: str
    ) -> Candidate:
        group = tuple(files)
        return Candidate(
            group[0].partition, group, outputs, self._delete_files(group), strategy, rule
        )

    def _pack(self, files: list[DataFileFacts]) -> list[list[DataFileFacts]]:
        return pack_first_fit_decreasing(
            files, capacity=self.effective_target_bytes, size_of=lambda file: file.size_bytes
        )

    def _improves(self, group: list[DataFileFacts]) -> bool:
        """Two files at least are not our own work already.

        With one fresh file the group could be left over from a run whose outputs came out smaller
        than expected: it would be planned again, and again after every such run.
        """
        return sum(1 for file in group if not self._is_settled(file)) >= 2

    def _is_settled(self, file: DataFileFacts) -> bool:
        """True for a file that an earlier run wrote towards this target, or a larger one.

        What that run could not make bigger, another run will not either, so without fresh files
        beside it the file stays out. This is what makes planning converge, however small outputs
        turn out to be.
        """
        return file.added_snapshot_id in self.settled_snapshots

    def _is_ordered(self, file: DataFileFacts) -> bool:
        if file.added_snapshot_id in self.ordered_snapshots:
            return True
        return (
            self.strategy is Strategy.SORT
            and self.facts.sort_order_id != 0
            and file.sort_order_id == self.facts.sort_order_id
            and self.sort_columns == self.facts.sort_columns
        )

    def _delete_debt(self, files: list[DataFileFacts]) -> bool:
        found = [
            self.assessment.deletes[f.path] for f in files if f.path in self.assessment.deletes
        ]
        if not found:
            return False
        records = sum(file.record_count for file in files)
        deleted = sum(deletes.vector_records for deletes in found)
        return len(found) / len(
            files
        ) >= self.policy.delete_file_ratio or deleted >= self.policy.delete_record_ratio * max(
            1, records
        )

    def _delete_files(self, files: Iterable[DataFileFacts]) -> int:
        """Delete files to open when the group is read, one for each file that it applies to."""
        return sum(
            self.assessment.deletes[f.path].delete_files
            for f in files
            if f.path in self.assessment.deletes
        )

    def _is_quiet(self, health: PartitionHealth) -> bool:
        age = health.seconds_since_write
        return age is None or age >= self.policy.quiet_seconds

    def _is_hot(self, health: PartitionHealth) -> bool:
        age = health.seconds_since_write
        return age is not None and age < self.policy.hot_partition_seconds

    @staticmethod
    def _size(policy: CompactionPolicy) -> str:
        return f"{policy.min_file_size_ratio:.0%} of {policy.describe_target()}"
