"""What steps of upkeep do to the table in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neve.model.facts import (
    DeleteFileFacts,
    DeleteKind,
    ManifestContent,
    ManifestFacts,
    StatisticsFacts,
    StatisticsKind,
)
from neve.model.steps import (
    ComputePartitionStats,
    ComputeTableStats,
    RemoveDanglingDeletes,
    RewriteManifests,
    RewritePositionDeleteFiles,
)
from neve.planning.deletes import dangling_deletes

if TYPE_CHECKING:
    from neve.testing.lake import MemoryLake

Executor = Callable[["MemoryLake", Any, Mapping[str, str]], None]


def rewrite_manifests(
    lake: MemoryLake, step: RewriteManifests, properties: Mapping[str, str]
) -> None:
    """One manifest for each spec and content."""
    snapshot_id = lake.next_snapshot_id
    merged: dict[tuple[int, ManifestContent], ManifestFacts] = {}
    kept: list[ManifestFacts] = []
    for manifest in lake.facts.manifests:
        if manifest.spec_id != step.spec_id:
            kept.append(manifest)
            continue
        key = (manifest.spec_id, manifest.content)
        known = merged.get(key)
        merged[key] = replace(
            manifest,
            path=f"file:///lake/m-{snapshot_id}-{len(merged)}",
            added_snapshot_id=snapshot_id,
            size_bytes=manifest.size_bytes + (known.size_bytes if known else 0),
            file_count=(manifest.file_count or 0) + ((known.file_count or 0) if known else 0),
        )
    lake.facts = replace(lake.facts, manifests=(*kept, *merged.values()))
    lake.commit("replace", properties)


def rewrite_position_delete_files(
    lake: MemoryLake, step: RewritePositionDeleteFiles, properties: Mapping[str, str]
) -> None:
    """One delete file for each data file, whatever the filter."""
    snapshot_id = lake.next_snapshot_id
    named: dict[str | None, list[DeleteFileFacts]] = defaultdict(list)
    for delete in lake.facts.delete_files:
        if delete.kind is DeleteKind.POSITION:
            named[delete.referenced_path].append(delete)
    made = tuple(
        replace(
            deletes[0],
            path=f"file:///lake/d-{snapshot_id}-{index}",
            record_count=sum(delete.record_count for delete in deletes),
            data_sequence_number=max(delete.data_sequence_number for delete in deletes),
            added_snapshot_id=snapshot_id,
        )
        for index, deletes in enumerate(named.values())
    )
    others = tuple(d for d in lake.facts.delete_files if d.kind is not DeleteKind.POSITION)
    lake.facts = replace(lake.facts, delete_files=(*others, *made))
    lake.commit("replace", properties)


def remove_dangling_deletes(
    lake: MemoryLake, step: RemoveDanglingDeletes, properties: Mapping[str, str]
) -> None:
    facts = lake.facts
    gone = set(dangling_deletes(facts.delete_files, facts.data_files, facts.specs))
    if gone:
        kept = tuple(delete for delete in facts.delete_files if delete not in gone)
        lake.facts = replace(facts, delete_files=kept)
        lake.commit("replace", properties)


def compute_table_stats(
    lake: MemoryLake, step: ComputeTableStats, properties: Mapping[str, str]
) -> None:
    fields = frozenset(c.field_id for c in lake.facts.columns if c.name in step.columns)
    _add_statistics(lake, StatisticsKind.TABLE, step.snapshot_id, fields)


def compute_partition_stats(
    lake: MemoryLake, step: ComputePartitionStats, properties: Mapping[str, str]
) -> None:
    _add_statistics(lake, StatisticsKind.PARTITION, step.snapshot_id, frozenset())


def _add_statistics(
    lake: MemoryLake, kind: StatisticsKind, snapshot_id: int, fields: frozenset[int]
) -> None:
    """A snapshot has one file of a kind at most."""
    path = f"file:///lake/{kind}-{snapshot_id}"
    made = StatisticsFacts(kind, snapshot_id, path, 100, fields)
    kept = (f for f in lake.facts.statistics if (f.kind, f.snapshot_id) != (kind, snapshot_id))
    lake.facts = replace(lake.facts, statistics=(*kept, made))


EXECUTORS: dict[type, Executor] = {
    RewriteManifests: rewrite_manifests,
    RewritePositionDeleteFiles: rewrite_position_delete_files,
    RemoveDanglingDeletes: remove_dangling_deletes,
    ComputeTableStats: compute_table_stats,
    ComputePartitionStats: compute_partition_stats,
}
