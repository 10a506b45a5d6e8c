"""Tables that exist in metadata only: as many files and manifests as a benchmark wants."""

from __future__ import annotations

import random
import struct
import time
import uuid
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

MB = 1024 * 1024


def make_table(
    folder: Path, name: str, *, files: int, manifests: int, columns: int = 30, partitions: int = 100
) -> None:
    """A table of that many data files, with column statistics, and no data behind it."""
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=(folder / "warehouse").as_uri()
    )
    catalog.create_namespace_if_not_exists("bench")
    schema = Schema(
        NestedField(1, "day", StringType(), required=True),
        *(NestedField(i, f"c{i}", LongType(), required=False) for i in range(2, columns + 1)),
    )
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "day"))
    table = catalog.create_table(f"bench.{name}", schema=schema, partition_spec=spec)
    snapshot_id, random_ = random.Random(0).getrandbits(62), random.Random(1)
    written = []
    for index in range(manifests):
        path = f"{table.location()}/metadata/{uuid.uuid4()}-m{index}.avro"
        with write_manifest(
            2, table.spec(), table.schema(), table.io.new_output(path), snapshot_id, "deflate"
        ) as writer:
            for number in range(files * index // manifests, files * (index + 1) // manifests):
                data_file = _data_file(table.location(), number, columns, partitions, random_)
                writer.add_entry(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=snapshot_id,
                        data_file=data_file,
                    )
                )
        written.append(writer.to_manifest_file())
    _commit(table, snapshot_id, written)


def _data_file(
    location: str, number: int, columns: int, partitions: int, random_: random.Random
) -> DataFile:
    day = f"day-{number % partitions:04d}"
    bounds = {i: struct.pack("<q", random_.getrandbits(40)) for i in range(2, columns + 1)}
    counts = dict.fromkeys(range(1, columns + 1), 10000)
    data_file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{location}/data/day={day}/{number:08d}-{uuid.UUID(int=number)}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(day),
        record_count=10_000,
        file_size_in_bytes=random_.randint(1, 40) * MB,
        column_sizes=counts,
        value_counts=counts,
        null_value_counts=dict.fromkeys(counts, 0),
        nan_value_counts={},
        lower_bounds={1: day.encode(), **bounds},
        upper_bounds={1: day.encode(), **bounds},
        split_offsets=[4],
        sort_order_id=0,
    )
    data_file.spec_id = 0
    return data_file


def _commit(table, snapshot_id: int, manifests: list) -> None:  # type: ignore[no-untyped-def]
    path = f"{table.location()}/metadata/snap-{snapshot_id}.avro"
    with write_manifest_list(
        2, table.io.new_output(path), snapshot_id, None, 1, "deflate"
    ) as writer:
        writer.add_manifests(manifests)
    snapshot = Snapshot(
        snapshot_id=snapshot_id,
        sequence_number=1,
        timestamp_ms=int(time.time() * 1000),
        manifest_list=path,
        summary=Summary(Operation.APPEND),
        schema_id=0,
    )
    table.catalog.commit_table(
        table,
        (),
        (
            AddSnapshotUpdate(snapshot=snapshot),
            SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=snapshot_id),
        ),
    )
