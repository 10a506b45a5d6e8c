"""Manifest entries, read with only the fields that a survey needs.

Column statistics are most of a manifest's bytes and nearly all of the time to decode it, so they
are read only where a filter asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestContent,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record

from neve.catalog.manifest_fields import BOUND_NAMES, COUNT_NAMES, entry_schema
from neve.catalog.whole_avro import ProjectedAvroFile, WholeAvroFile

STATUS_ADDED, STATUS_DELETED = 1, 2
CONTENT_DATA, CONTENT_POSITION_DELETES, CONTENT_EQUALITY_DELETES = 0, 1, 2
#: The reserved column of position delete files that holds the data file's path.
DELETE_FILE_PATH_FIELD_ID = 2147483546


@dataclass(frozen=True, slots=True)
class Metrics:
    """Column statistics of one file, with the attribute names that pyiceberg's evaluators use."""

    record_count: int
    value_counts: dict[int, int]
    null_value_counts: dict[int, int]
    nan_value_counts: dict[int, int]
    lower_bounds: dict[int, bytes]
    upper_bounds: dict[int, bytes]


@dataclass(frozen=True, slots=True)
class Entry:
    """One live file of a manifest, with what it inherits from the manifest filled in."""

    spec_id: int
    snapshot_id: int | None
    data_sequence_number: int
    content: int
    path: str
    format: str
    partition: Record
    record_count: int
    size_bytes: int
    encrypted: bool
    row_groups: int | None
    sort_order_id: int | None
    referenced_path: str | None
    metrics: Metrics | None


_LEAN_FIELDS = (
    "content",
    "file_path",
    "file_format",
    "partition",
    "record_count",
    "file_size_in_bytes",
    "key_metadata",
    "split_offsets",
    "sort_order_id",
    "referenced_data_file",
)
_ENTRY_FIELDS = "status snapshot_id sequence_number"
_LEAN = entry_schema(_ENTRY_FIELDS, _LEAN_FIELDS)
_WITH_BOUNDS = entry_schema(_ENTRY_FIELDS, (*_LEAN_FIELDS, *BOUND_NAMES))
_WITH_METRICS = entry_schema(_ENTRY_FIELDS, (*_LEAN_FIELDS, *BOUND_NAMES, *COUNT_NAMES))


def read_manifests(io: FileIO, snapshot: Snapshot) -> list[ManifestFile]:
    """The manifests that a snapshot lists."""
    with WholeAvroFile[ManifestFile](
        io.new_input(snapshot.manifest_list),
        MANIFEST_LIST_FILE_SCHEMAS[DEFAULT_READ_VERSION],
        read_types={-1: ManifestFile, 508: PartitionFieldSummary},
        read_enums={517: ManifestContent},
    ) as reader:
        return list(reader)


def read_entries(io: FileIO, manifest: ManifestFile, *, with_metrics: bool) -> Iterator[Entry]:
    """The live entries of one manifest."""
    is_deletes = manifest.content == ManifestContent.DELETES
    schema = _WITH_METRICS if with_metrics else _WITH_BOUNDS if is_deletes else _LEAN
    with ProjectedAvroFile(io.new_input(manifest.manifest_path), schema) as reader:
        for record in reader:
            if record[0] != STATUS_DELETED:
                yield _entry(record, manifest, with_metrics=with_metrics)


def _entry(record: Record, manifest: ManifestFile, *, with_metrics: bool) -> Entry:
    status, snapshot_id, sequence_number, file = (record[i] for i in range(4))
    if snapshot_id is None:
        snapshot_id = manifest.added_snapshot_id
    if sequence_number is None:
        # Version 1 has no sequence numbers: all files count as equally old.
        inherits = manifest.sequence_number if status == STATUS_ADDED else 0
        sequence_number = inherits or 0
    bounds = (file[10], file[11]) if len(file) > 10 else (None, None)
    return Entry(
        spec_id=manifest.partition_spec_id,
        snapshot_id=snapshot_id,
        data_sequence_number=sequence_number,
        content=file[0] or CONTENT_DATA,
        path=file[1],
        format=str(file[2]).upper(),
        partition=file[3],
        record_count=file[4],
        size_bytes=file[5],
        encrypted=file[6] is not None,
        row_groups=len(file[7]) if file[7] else None,
        sort_order_id=file[8],
        referenced_path=file[9] or single_path(file[0], *bounds),
        metrics=_metrics(file) if with_metrics else None,
    )


def single_path(
    content: int | None, lower: dict[int, bytes] | None, upper: dict[int, bytes] | None
) -> str | None:
    """The one data file of a position delete file: its path column's bounds are then equal."""
    if content != CONTENT_POSITION_DELETES or not lower or not upper:
        return None
    first, last = lower.get(DELETE_FILE_PATH_FIELD_ID), upper.get(DELETE_FILE_PATH_FIELD_ID)
    return first.decode() if first is not None and first == last else None


def _metrics(file: Record) -> Metrics:
    return Metrics(
        record_count=file[4],
        lower_bounds=file[10] or {},
        upper_bounds=file[11] or {},
        value_counts=file[12] or {},
        null_value_counts=file[13] or {},
        nan_value_counts=file[14] or {},
    )
