"""Deletes that readers pass over take no row in a compaction either."""

from __future__ import annotations

import math
import uuid
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, UUIDType

from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Verify
from neve.rows.vectors import write_puffin
from neve.spark.tables import iceberg

pytestmark = pytest.mark.promise(1, 2)

POLICY = CompactionPolicy(min_input_files=2)
LOW, HIGH = UUID(int=5).bytes, UUID(int=(1 << 127) + 9).bytes
#: Type, values of each data file, and deleted keys, of which the last is one of the values.
PASSED_OVER = {
    "NaN": (DoubleType(), pa.float64(), [1.0, float("nan")], [9.0, float("nan")]),
    "UUIDs of both signs": (UUIDType(), pa.uuid(), [LOW, HIGH], [HIGH]),
}


def write(lake, table, columns):
    """A file of these columns, its location, and what its footer says."""
    loaded = lake.java(table)
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}.parquet")
    path = Path(location.removeprefix("file:"))
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [
        pa.field(name, array.type, metadata={"PARQUET:field_id": str(id_)})
        for name, (id_, array) in columns.items()
    ]
    rows = pa.Table.from_arrays([array for _, array in columns.values()], schema=pa.schema(fields))
    pq.write_table(rows, path)
    package = iceberg(lake.session)
    metrics = package.parquet.ParquetUtil.fileMetrics(
        package.Files.localInput(str(path)), package.MetricsConfig.forTable(loaded)
    )
    return loaded, location, path.stat().st_size, metrics


def made(lake, what):
    """A table of two files, each with the values."""
    of, kind, values, _ = PASSED_OVER[what]
    table = lake.ref("reach")
    schema = Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "k", of, required=False)
    )
    catalog = lake.app.catalogs.writable("lake")
    properties = {"write.delete.mode": "merge-on-read"}
    catalog.create_table((lake.namespace, table.name), schema, properties=properties)
    for number in range(2):
        append(lake, table, pa.array([number, number + 10]), pa.array(values, kind))
    return table


def append(lake, table, ids, keys):
    """Commit a file of these rows."""
    loaded, location, size, metrics = write(lake, table, {"id": (1, ids), "k": (2, keys)})
    file = iceberg(lake.session).DataFiles.builder(loaded.spec()).withPath(location)
    file = file.withFormat("PARQUET").withFileSizeInBytes(size).withMetrics(metrics)
    loaded.newAppend().appendFile(file.build()).commit()


def delete(lake, table, kind, keys):
    """Commit an equality delete of the keys, with the bounds that its footer tells."""
    package = iceberg(lake.session)
    loaded, location, size, metrics = write(lake, table, {"k": (2, pa.array(keys, kind))})
    ids = lake.session.sparkContext._gateway.new_array(lake.session._jvm.int, 1)
    ids[0] = 2
    built = package.FileMetadata.deleteFileBuilder(loaded.spec()).ofEqualityDeletes(ids)
    built = built.withFormat("PARQUET").withPath(location).withFileSizeInBytes(size)
    loaded.newRowDelta().addDeletes(built.withMetrics(metrics).build()).commit()


@pytest.mark.parametrize("verify", [Verify.METADATA, Verify.OFF])
@pytest.mark.parametrize("what", PASSED_OVER)
def test_rows_that_readers_show_stay(lake, what, verify):
    lake = replace(lake, verify=verify)
    table = made(lake, what)
    delete(lake, table, PASSED_OVER[what][1], PASSED_OVER[what][3])
    rows = lake.rows(table)
    assert sum(rows.values()) == 4

    outcome = lake.compact(table, policy=POLICY)

    assert (outcome.status, outcome.engines["spark"]) == (Status.SUCCEEDED, 1), outcome.reason
    assert "Iceberg's readers go by these" in outcome.reason
    assert lake.rows(table) == rows


def test_rows_that_a_delete_would_take_from_the_new_file_alone_stay(lake):
    """Its key lies between the values of the sources, and so within the bounds of the new file."""
    table = made(lake, "NaN")
    append(lake, table, pa.array([30]), pa.array([21.0]))
    engine, seen = lake.app.spark, []
    run_tasks = engine.run_tasks

    def then_delete(*arguments):
        done = run_tasks(*arguments)
        if not seen:
            delete(lake, table, pa.float64(), [9.0, math.nan])
            # What readers see of this one makes the commit follow both.
            lake.sql(f"DELETE FROM {table} WHERE id = 0")
            seen.append(lake.rows(table))
        return done

    engine.run_tasks = then_delete
    before = len(lake.facts(table).snapshots)

    outcome = lake.app.maintenance.compact(table, RewriteDataFilesArguments(), policy=POLICY)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.rows(table) == seen[0]
    # The writer's two commits and one of the compaction: none was taken back.
    assert len(lake.facts(table).snapshots) == before + 3


#: Type, values of each data file, and a delete of the first one that Iceberg reads as something
#: else: bytes that are not called a UUID, a number without a sign, a column without an id.
MISREAD = {
    "UUIDs as bytes": (
        UUIDType(),
        pa.array([LOW, HIGH], pa.uuid()),
        pa.array([LOW], pa.binary(16)),
    ),
    "without a sign": (LongType(), pa.array([2**32 - 1, 7]), pa.array([2**32 - 1], pa.uint32())),
    "without an id": (LongType(), pa.array([8, 7]), pa.array([8])),
}


def delete_as(lake, table, keys, id_):
    """Commit an equality delete of the keys, of which nothing is told."""
    package, loaded = iceberg(lake.session), lake.java(table)
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}.parquet")
    path = Path(location.removeprefix("file:"))
    metadata = {"PARQUET:field_id": str(id_)} if id_ else None
    pq.write_table(pa.table([keys], pa.schema([pa.field("k", keys.type, metadata=metadata)])), path)
    ids = lake.session.sparkContext._gateway.new_array(lake.session._jvm.int, 1)
    ids[0] = 2
    built = package.FileMetadata.deleteFileBuilder(loaded.spec()).ofEqualityDeletes(ids)
    built = built.withFormat("PARQUET").withPath(location).withRecordCount(len(keys))
    built = built.withFileSizeInBytes(path.stat().st_size)
    loaded.newRowDelta().addDeletes(built.build()).commit()


@pytest.mark.parametrize("what", MISREAD)
def test_rows_stay_whose_keys_iceberg_reads_as_something_else(lake, what):
    of, values, keys = MISREAD[what]
    table = lake.ref("misread")
    schema = Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "k", of, required=False)
    )
    mapping = '[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["k"]}]'
    catalog = lake.app.catalogs.writable("lake")
    properties = {"schema.name-mapping.default": mapping}
    catalog.create_table((lake.namespace, table.name), schema, properties=properties)
    for number in range(2):
        append(lake, table, pa.array([number, number + 10]), values)
    delete_as(lake, table, keys, None if what == "without an id" else 2)
    rows = lake.rows(table)
    assert sum(rows.values()) == 4

    outcome = lake.compact(table, policy=POLICY)

    assert (outcome.status, outcome.engines["spark"]) == (Status.SUCCEEDED, 1), outcome.reason
    assert lake.rows(table) == rows


def test_keys_are_not_looked_for_in_values_that_spark_shows_as_others(lake):
    """Milliseconds of another writer are moments of 1970 to Spark: such files are left alone."""
    table = lake.create("id BIGINT, k TIMESTAMP_NTZ")
    moments = pa.array([1_700_000_000_000, 5], pa.timestamp("ms"))
    for number in range(2):
        append(lake, table, pa.array([number, number + 10]), moments)
    delete_as(lake, table, moments[:1].cast(pa.timestamp("us")), 2)
    rows = lake.rows(table)
    assert sum(rows.values()) == 4

    outcome = lake.compact(table, policy=POLICY)

    assert outcome.status is Status.NOTHING_TO_DO, outcome.reason
    assert lake.rows(table) == rows


def put_vector(lake, table, path, *positions):
    """Commit a vector of these positions alone, whatever position deletes are there."""
    loaded = lake.java(table)
    data, (vector,) = write_puffin({path: np.array(positions, dtype=np.int64)}, "test")
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}.puffin")
    Path(location.removeprefix("file:")).write_bytes(data)
    built = iceberg(lake.session).FileMetadata.deleteFileBuilder(loaded.spec())
    built = built.ofPositionDeletes().withFormat("PUFFIN").withPath(location)
    built = built.withFileSizeInBytes(len(data)).withRecordCount(vector.cardinality)
    built = built.withReferencedDataFile(path).withContentOffset(vector.offset)
    built = built.withContentSizeInBytes(vector.length)
    loaded.newRowDelta().addDeletes(built.build()).commit()


@pytest.mark.parametrize("verify", [None, Verify.OFF])
def test_a_vector_takes_the_place_of_position_deletes_that_it_leaves_out(lake, verify):
    """They hold on for files without one; the specification has its writer take them along."""
    lake = replace(lake, verify=verify)
    by_partition = {"write.delete.mode": "merge-on-read", "write.delete.granularity": "partition"}
    table = lake.create("id BIGINT", properties=by_partition)
    lake.fill(table, "id", files=2, rows=20)
    lake.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
    lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    put_vector(lake, table, min(lake.paths(table)), 5)
    rows = lake.rows(table)
    assert sum(rows.values()) == 18

    outcome = lake.compact(table, policy=POLICY)

    assert (outcome.status, outcome.engines["rewrite"]) == (Status.SUCCEEDED, 1), outcome.reason
    assert lake.rows(table) == rows
