"""Builders of facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from neve.model.facts import (
    ColumnFacts,
    DataFileFacts,
    DeleteFileFacts,
    DeleteKind,
    PartitionField,
    PartitionKey,
    RefFacts,
    SnapshotFacts,
    SpecFacts,
    TableFacts,
)
from neve.model.table import TableRef

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
TABLE = TableRef("lake", ("db",), "events")
MB = 1024 * 1024
DAILY = SpecFacts(0, (PartitionField("day", "identity", "day", "string"),))


def partition(day: str = "mon") -> PartitionKey:
    return (0, (day,))


def data_file(name: str, size_bytes: int, **changes: Any) -> DataFileFacts:
    values: dict[str, Any] = {
        "path": f"file:///lake/{name}",
        "format": "PARQUET",
        "partition": partition(),
        "size_bytes": size_bytes,
        "record_count": 100,
        "data_sequence_number": 1,
        "added_snapshot_id": 1,
        "row_groups": 1,
    }
    return DataFileFacts(**{**values, **changes})


def delete_file(name: str, kind: DeleteKind, **changes: Any) -> DeleteFileFacts:
    values: dict[str, Any] = {
        "path": f"file:///lake/{name}",
        "kind": kind,
        "partition": partition(),
        "size_bytes": 1000,
        "record_count": 10,
        "data_sequence_number": 2,
    }
    return DeleteFileFacts(**{**values, **changes})


def snapshot(snapshot_id: int, parent_id: int | None = None, **summary: str) -> SnapshotFacts:
    """A snapshot that was committed as many hours before noon as its id is below 12."""
    return SnapshotFacts(
        snapshot_id,
        parent_id,
        NOW - timedelta(hours=max(0, 12 - snapshot_id)),
        "append",
        {key.replace("__", ".").replace("_", "-"): value for key, value in summary.items()},
    )


def table_facts(
    files: Sequence[DataFileFacts] = (),
    deletes: Sequence[DeleteFileFacts] = (),
    *,
    snapshots: Sequence[SnapshotFacts] | None = None,
    **changes: Any,
) -> TableFacts:
    """A table partitioned by day, with one snapshot unless told otherwise."""
    kept = (snapshot(1),) if snapshots is None else tuple(snapshots)
    values: dict[str, Any] = {
        "table": TABLE,
        "table_uuid": "11111111-1111-1111-1111-111111111111",
        "location": "file:///lake",
        "format_version": 2,
        "snapshot_id": kept[-1].snapshot_id if kept else None,
        "surveyed_at": NOW,
        "current_spec_id": 0,
        "schema_id": 0,
        "columns": (
            ColumnFacts(1, "id", "long", True),
            ColumnFacts(2, "day", "string", False),
        ),
        "specs": {0: DAILY},
        "sort_columns": (),
        "sort_order_id": 0,
        "properties": {},
        "data_files": tuple(files),
        "delete_files": tuple(deletes),
        "manifest_count": 1,
        "snapshots": kept,
        "refs": (RefFacts("main", kept[-1].snapshot_id, "branch"),) if kept else (),
    }
    return TableFacts(**{**values, **changes})
