"""What an operation is told to do: its procedure's arguments, by Iceberg's own names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RewriteManifests:
    """Write the manifests of some partition specs again, clustered by partition."""

    #: One commit for each of them.
    spec_ids: tuple[int, ...]
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
