"""Equality deletes for the benchmarks, as stream writers leave them; Spark never writes any."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from neve.model.table import TableRef
from neve.spark.tables import iceberg, load_table, spark_name

KEYS_PER_FILE = 200
FILES_PER_COMMIT = 100


def delete_by_keys(session: SparkSession, table: TableRef, column: str, files: int) -> None:
    """Commit this many files of keys: half of the keys are in the table, the others never were."""
    loaded = load_table(session, table)
    field_id = loaded.schema().findField(column).fieldId()
    present = session.table(spark_name(table)).select(column).distinct().orderBy(column)
    keys = [row[0] for row in present.limit(files * KEYS_PER_FILE // 2).collect()]
    for first in range(0, files, FILES_PER_COMMIT):
        change = loaded.newRowDelta()
        for number in range(first, min(files, first + FILES_PER_COMMIT)):
            own = keys[number::files]
            own += [-1 - number * KEYS_PER_FILE - at for at in range(len(own))]
            change.addDeletes(_write(session, loaded, column, field_id, own))
        change.commit()


def _write(session: SparkSession, loaded: Any, column: str, field_id: int, keys: list[int]) -> Any:
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}-deletes.parquet")
    path = Path(location.removeprefix("file://").removeprefix("file:"))
    field = pa.field(column, pa.int64(), metadata={"PARQUET:field_id": str(field_id)})
    pq.write_table(pa.table([sorted(keys)], pa.schema([field])), path)
    field_ids = session.sparkContext._gateway.new_array(session._jvm.int, 1)  # type: ignore[union-attr]
    field_ids[0] = field_id
    builder = iceberg(session).FileMetadata.deleteFileBuilder(loaded.spec())
    builder = builder.ofEqualityDeletes(field_ids).withFormat("PARQUET").withPath(location)
    builder = builder.withFileSizeInBytes(path.stat().st_size)
    return builder.withRecordCount(len(keys)).build()
