"""Equality deletes that readers pass over by bounds take no row in a compaction either."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, UUIDType

from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy, Verify
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


@pytest.mark.parametrize("verify", [Verify.METADATA, Verify.OFF])
@pytest.mark.parametrize("what", PASSED_OVER)
def test_rows_that_readers_show_stay(lake, what, verify):
    lake = replace(lake, verify=verify)
    of, kind, values, keys = PASSED_OVER[what]
    table = lake.ref("reach")
    schema = Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "k", of, required=False)
    )
    catalog = lake.app.catalogs.writable("lake")
    catalog.create_table((lake.namespace, table.name), schema)
    package = iceberg(lake.session)
    for number in range(2):
        columns = {"id": (1, pa.array([number, number + 10])), "k": (2, pa.array(values, kind))}
        loaded, location, size, metrics = write(lake, table, columns)
        file = package.DataFiles.builder(loaded.spec()).withPath(location).withFormat("PARQUET")
        file = file.withFileSizeInBytes(size).withMetrics(metrics)
        loaded.newAppend().appendFile(file.build()).commit()
    loaded, location, size, metrics = write(lake, table, {"k": (2, pa.array(keys, kind))})
    ids = lake.session.sparkContext._gateway.new_array(lake.session._jvm.int, 1)
    ids[0] = 2
    delete = package.FileMetadata.deleteFileBuilder(loaded.spec()).ofEqualityDeletes(ids)
    delete = delete.withFormat("PARQUET").withPath(location).withFileSizeInBytes(size)
    loaded.newRowDelta().addDeletes(delete.withMetrics(metrics).build()).commit()
    rows = lake.rows(table)
    assert sum(rows.values()) == 4

    outcome = lake.compact(table, policy=POLICY)

    assert (outcome.status, outcome.engines["spark"]) == (Status.SUCCEEDED, 1), outcome.reason
    assert "Iceberg's readers go by these" in outcome.reason
    assert lake.rows(table) == rows
