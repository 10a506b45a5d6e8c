"""A table as rules of advice see it, and what several of them ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from neve.model.facts import SnapshotFacts, SpecFacts, TableFacts
from neve.model.policy import CompactionPolicy
from neve.planning.sql_names import full_name

#: With fewer partitions than this, none is too many.
MIN_PARTITIONS = 24
#: A partition is too small where most hold less than this share of one good file.
SMALL_PARTITION_SHARE = 1 / 8
RECENT_COMMITS = 20
TIMES = ("timestamp", "timestamptz", "date", "timestamp_ns", "timestamptz_ns")


@dataclass(frozen=True, slots=True)
class Commit:
    """What an append added, by its summary."""

    snapshot: SnapshotFacts
    files: int
    size_bytes: int
    partitions: int


@dataclass(frozen=True, slots=True)
class AdvisedTable:
    """The facts of a table, and what is wanted of it."""

    facts: TableFacts
    policy: CompactionPolicy
    #: How much files of a partition overlap, by column: 0 not at all, 1 wholly.
    overlaps: Mapping[str, float]

    @property
    def name(self) -> str:
        """The name in Spark SQL."""
        return full_name(self.facts.table)

    @property
    def spec(self) -> SpecFacts:
        """The spec that writers use now."""
        return self.facts.specs[self.facts.current_spec_id]

    @property
    def partition_bytes(self) -> list[int]:
        """How much lies in each partition, of whatever spec."""
        sizes: Counter[object] = Counter()
        for file in self.facts.data_files:
            sizes[file.partition] += file.size_bytes
        return list(sizes.values())

    def set_property(self, key: str, value: str) -> str:
        """The statement that sets a table property."""
        return f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{key}' = '{value}')"

    def recent_commits(self) -> list[Commit]:
        """The newest appends of others, where their summaries tell what they added."""
        made = [s for s in self.facts.snapshots if s.job_id is None and s.operation == "append"]
        newest = sorted(made, key=lambda snapshot: snapshot.committed_at)[-RECENT_COMMITS:]
        # Not all writers count partitions where there is but one.
        alone = 1 if self.spec.is_unpartitioned else None
        found = (_commit(snapshot, alone) for snapshot in newest)
        return [commit for commit in found if commit is not None]


def small_partition_bytes(policy: CompactionPolicy) -> float:
    """Below this a partition cannot hold one good file."""
    return policy.target_file_size_bytes * SMALL_PARTITION_SHARE


def small_partitions(facts: TableFacts, policy: CompactionPolicy) -> list[int]:
    """The sizes of the current spec's partitions, where most of them are too small; or none.

    What older specs left behind is no fault of how the table is cut now.
    """
    sizes: Counter[object] = Counter()
    for file in facts.data_files:
        if file.partition[0] == facts.current_spec_id:
            sizes[file.partition] += file.size_bytes
    found = list(sizes.values())
    if len(found) < MIN_PARTITIONS or median(found) >= small_partition_bytes(policy):
        return []
    return found


def _commit(snapshot: SnapshotFacts, alone: int | None) -> Commit | None:
    files, size = snapshot.figure("added-data-files"), snapshot.figure("added-files-size")
    counted = snapshot.figure("changed-partition-count")
    places = alone if counted is None else counted
    if not files or size is None or places is None:
        return None
    return Commit(snapshot, files, size, max(1, places))
