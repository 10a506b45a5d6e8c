"""What an operation is told to do: its procedure's arguments, by Iceberg's own names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neve.model.expiry import DroppedRef, ExpiredSnapshot, FreedFile, KeptSnapshot, TagToSet
from neve.model.groups import FileGroup, layout_name
from neve.model.policy import Engine, Strategy


@dataclass(frozen=True, slots=True)
class RewriteDataFiles:
    """The step that compacts: which groups, how, and towards what size."""

    strategy: Strategy
    engine: Engine
    target_file_size_bytes: int
    min_file_size_bytes: int
    min_input_files: int
    sort_columns: tuple[str, ...]
    #: Iceberg's expression JSON that covers the groups' partitions and the user's filter.
    filter: str
    groups: tuple[FileGroup, ...]
    operation: str = "rewrite_data_files"

    @property
    def layout(self) -> str:
        """How rows are arranged in the outputs; kept on the snapshot so that a run converges."""
        return layout_name(self.strategy, self.sort_columns)


@dataclass(frozen=True, slots=True)
class RewriteManifests:
    """Write the manifests of one partition spec again, clustered by partition: one commit."""

    spec_id: int
    use_caching: bool = False
    #: Partition fields to cluster by; none means all, in the order of the spec.
    sort_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RewritePositionDeleteFiles:
    """Merge position delete files of the partitions that the filter selects."""

    #: Iceberg's expression JSON; it selects partitions, never rows.
    filter: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemoveDanglingDeletes:
    """Drop delete files that apply to no data file."""

    #: Those that were found; a path may hold several deletion vectors.
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComputeTableStats:
    """Count the distinct values of columns at one snapshot."""

    snapshot_id: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComputePartitionStats:
    """Count files and records of every partition at one snapshot."""

    snapshot_id: int


@dataclass(frozen=True, slots=True)
class ExpireSnapshots:
    """What one expiry does, and what is lost by it."""

    #: Oldest first.
    expired: tuple[ExpiredSnapshot, ...]
    #: Those that are older than the retention and stay.
    kept: tuple[KeptSnapshot, ...]
    tags: tuple[TagToSet, ...]
    dropped_refs: tuple[DroppedRef, ...]
    time_travel: tuple[str, ...]
    notes: tuple[str, ...] = ()
    freed: tuple[FreedFile, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.expired or self.tags or self.dropped_refs)

    @property
    def freed_bytes(self) -> int:
        return sum(file.size_bytes for file in self.freed)


@dataclass(frozen=True, slots=True)
class RemoveOrphanFiles:
    """List a table's files; then put new orphans into quarantine, delete those due, or both."""

    quarantine: bool
    purge: bool
