"""Iceberg itself, in Spark, as oracle for what is done with rows value by value."""

from __future__ import annotations

import math
import struct
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.conftest import Lake

from neve.model.rewrite import ColumnMetrics
from neve.model.table import TableRef
from neve.rows.deletes import live_mask, read_position_deletes
from neve.rows.equality import collect_deletes
from neve.rows.evolve import evolve
from neve.rows.fingerprint import fingerprint
from neve.rows.metric_modes import metric_modes
from neve.rows.metrics import column_metrics, measure
from neve.rows.schema import Schema, parse_schema
from neve.rows.vectors import read_vector, write_puffin, write_vector
from neve.spark.tables import iceberg, spark_name

COLUMNS = (
    "id BIGINT, small INT, flag BOOLEAN, single FLOAT, number DOUBLE, money DECIMAL(9,2), "
    "large DECIMAL(38,3), day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, text STRING, raw BINARY, "
    "place STRUCT<x: INT, label: STRING, deep: STRUCT<y: BIGINT, z: DOUBLE>>, many ARRAY<INT>, "
    "pairs MAP<STRING, INT>"
)
NAMES = (
    *("id", "small", "flag", "single", "number", "money", "large", "day", "at", "local", "text"),
    *("raw", "place", "many", "pairs"),
)
ROWS = [
    "id",
    "cast(-id AS int)",
    "id % 2 = 0",
    "cast(CASE id % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0.0' WHEN 2 THEN '0.0' ELSE string(id) END "
    "AS float)",
    "cast(if(id % 7 = 0, 'NaN', if(id % 3 = 0, '-Infinity', string(id / 3))) AS double)",
    "cast(if(id % 4 = 0, null, id - 15.25) AS decimal(9, 2))",
    "cast(id - 1000000000000000000000.5 AS decimal(38, 3))",
    "date_sub(date'1970-01-01', cast(id * 100 AS int))",
    "timestamp_micros(-id * 1000003)",
    "cast(timestamp_micros(id * 1000003) AS timestamp_ntz)",
    "if(id % 6 = 0, null, concat(repeat('é', cast(id AS int)), '\\U0001F600', id))",
    "if(id % 6 = 1, null, cast(repeat(char(cast(id + 225 AS int)), 20) AS binary))",
    "if(id % 3 = 0, null, named_struct('x', if(id % 2 = 0, null, cast(id AS int)), 'label', "
    "concat('l', id), 'deep', if(id % 5 = 0, null, named_struct('y', id, 'z', "
    "double(if(id % 2 = 0, 'NaN', string(-id)))))))",
    "if(id % 4 = 0, null, array(cast(id AS int), null))",
    "map(concat('k', id), cast(id AS int))",
]


def local(path: str) -> Path:
    return Path(path.removeprefix("file:"))


def schema_of(lake: Lake, table: TableRef) -> Schema:
    parser = lake.session._jvm.org.apache.iceberg.SchemaParser
    return parse_schema(parser.toJson(lake.java(table).schema()))


def files(lake: Lake, table: TableRef, which: str = "files") -> list[Any]:
    return lake.sql(f"SELECT * FROM {spark_name(table)}.{which}").collect()


def in_manifest(file: Any) -> ColumnMetrics:
    def told(found: Any) -> Any:
        return {
            key: bytes(v) if isinstance(v, bytearray) else v for key, v in found.items()
        } or None

    return ColumnMetrics(
        value_counts=told(file.value_counts),
        null_value_counts=told(file.null_value_counts),
        nan_value_counts=told(file.nan_value_counts),
        lower_bounds=told(file.lower_bounds),
        upper_bounds=told(file.upper_bounds),
    )


def ours(lake: Lake, table: TableRef, file: Any, properties: dict[str, str]) -> ColumnMetrics:
    schema = schema_of(lake, table)
    rows = evolve(pq.ParquetFile(local(file.file_path)).read(), schema)
    return column_metrics(measure(rows, schema), schema, metric_modes(schema, properties))


MODES = [
    {},
    {"write.metadata.metrics.default": "full"},
    {
        "write.metadata.metrics.default": "counts",
        "write.metadata.metrics.column.text": "truncate(3)",
    },
    {"write.metadata.metrics.default": "none", "write.metadata.metrics.column.place.x": "full"},
    {"write.metadata.metrics.max-inferred-column-defaults": "7"},
]


@pytest.mark.conformance("metrics as Iceberg writes them", "metric modes")
@pytest.mark.parametrize("properties", MODES)
def test_metrics_are_those_that_spark_wrote(lake: Lake, properties: dict[str, str]) -> None:
    table = lake.create(COLUMNS, properties=properties)
    frame = lake.session.range(0, 30, 1, 2).selectExpr(*ROWS)
    frame.toDF(*NAMES).writeTo(spark_name(table)).append()

    found = files(lake, table)

    assert len(found) == 2
    for file in found:
        assert ours(lake, table, file, properties) == in_manifest(file)


@pytest.mark.conformance("NaN at any place")
def test_nulls_of_structs_are_nulls_of_their_fields(lake: Lake) -> None:
    table = lake.create("id BIGINT, s STRUCT<f: DOUBLE, n: BIGINT>")
    made = "if(id % 2 = 0, null, named_struct('f', cast(id AS double), 'n', id)) AS s"
    lake.fill(table, "id", made, files=1, rows=10)
    (file,) = files(lake, table)

    assert ours(lake, table, file, {}) == in_manifest(file)
    assert sorted(in_manifest(file).null_value_counts.values()) == [0, 5, 5]


def test_vectors_of_spark_are_read_and_ours_have_the_same_bytes(lake: Lake) -> None:
    table = lake.create(version=3, properties={"write.delete.mode": "merge-on-read"})
    lake.fill(table, files=1, rows=200_000)
    lake.sql(
        f"DELETE FROM {spark_name(table)} WHERE id % 3 = 0 AND id < 9000 OR id BETWEEN 70000 "
        "AND 140000 OR id % 2 = 0 AND id > 150000"
    ).collect()
    (vector,) = files(lake, table, "delete_files")
    (data,) = files(lake, table, "data_files")

    blob = local(vector.file_path).read_bytes()[vector.content_offset :]
    blob = blob[: vector.content_size_in_bytes]
    positions = read_vector(blob, vector.record_count)

    rows = pq.ParquetFile(local(data.file_path)).read(["id"]).column("id").to_numpy()
    seen = {row.id for row in lake.sql(f"SELECT id FROM {spark_name(table)}").collect()}
    assert set(rows[live_mask(positions, 0, len(rows))]) == seen
    assert write_vector(positions) == blob


def test_spark_reads_our_vectors(lake: Lake) -> None:
    table = lake.create(version=3)
    lake.fill(table, files=2, rows=1000)
    deleted = {
        file.file_path: np.array([0, 3, *range(100, 300)], dtype=np.int64)
        for file in files(lake, table)
    }
    expected = {row.id for row in lake.sql(f"SELECT id FROM {spark_name(table)}").collect()}
    for path, positions in deleted.items():
        rows = pq.ParquetFile(local(path)).read(["id"]).column("id").to_numpy()
        expected -= set(rows[positions].tolist())
    loaded = lake.java(table)
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}-deletes.puffin")
    data, written = write_puffin(deleted, "test")
    local(location).parent.mkdir(parents=True, exist_ok=True)
    local(location).write_bytes(data)
    change = loaded.newRowDelta()
    for each in written:
        builder = iceberg(lake.session).FileMetadata.deleteFileBuilder(loaded.spec())
        builder = builder.ofPositionDeletes().withFormat("PUFFIN").withPath(location)
        builder = builder.withFileSizeInBytes(len(data)).withRecordCount(each.cardinality)
        builder = builder.withReferencedDataFile(each.referenced_data_file)
        builder = builder.withContentOffset(each.offset).withContentSizeInBytes(each.length)
        change = change.addDeletes(builder.build())
    change.commit()

    found = {row.id for row in lake.sql(f"SELECT id FROM {spark_name(table)}").collect()}

    assert found == expected
    assert len(found) == 1000 - 2 * 202


def test_position_deletes_of_spark_are_read(lake: Lake) -> None:
    table = lake.create(properties={"write.delete.mode": "merge-on-read"})
    lake.fill(table, files=3, rows=90)
    lake.sql(f"DELETE FROM {spark_name(table)} WHERE id % 4 = 1").collect()
    paths = [file.file_path for file in files(lake, table, "data_files")]
    live: set[int] = set()

    for path in paths:
        rows = pq.ParquetFile(local(path)).read(["id"]).column("id").to_numpy()
        deleted = [
            read_position_deletes(local(each.file_path), each.file_format, [path])[path]
            for each in files(lake, table, "delete_files")
        ]
        live |= set(rows[live_mask(np.unique(np.concatenate(deleted)), 0, len(rows))].tolist())

    assert live == {row.id for row in lake.sql(f"SELECT id FROM {spark_name(table)}").collect()}
    assert len(live) < 90


QUIET_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
KEYS = {
    "zero": [0.0],
    "negative zero": [-0.0],
    "nan": [math.nan],
    "another nan": [QUIET_NAN],
    "null": [None],
    "numbers": [1.5, 2.0, math.inf],
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("column", ["number", "single"])
def test_equality_deletes_take_the_rows_that_spark_takes(
    lake: Lake, column: str, keys: list[Any]
) -> None:
    table = lake.create("id BIGINT, number DOUBLE, single FLOAT")
    values = "(0, '0.0'), (1, '-0.0'), (2, 'NaN'), (3, null), (4, '1.5'), (5, 'Infinity'), (6, '2')"
    lake.sql(
        f"INSERT INTO {spark_name(table)} SELECT id, cast(v AS double), cast(v AS float) "
        f"FROM VALUES {values} t(id, v)"
    ).collect()
    schema = schema_of(lake, table)
    field_id = next(id_ for id_, name in schema.names().items() if name == column)
    (data,) = files(lake, table)
    source = pq.ParquetFile(local(data.file_path)).read()
    delete = key_table(schema, field_id, keys)
    commit_equality_delete(lake, table, delete, field_id)

    rows = evolve(source, schema)
    deletes = collect_deletes(schema, [field_id], [(evolve(delete, schema.select([field_id])), 2)])
    kept = rows.filter(pa.array(~deletes.deleted(rows, 1))).column("id").to_pylist()

    seen = [row.id for row in lake.sql(f"SELECT id FROM {spark_name(table)}").collect()]
    assert sorted(kept) == sorted(seen)


def key_table(schema: Schema, field_id: int, keys: list[Any]) -> Any:
    (field,) = schema.select([field_id]).fields
    kind = pa.float32() if field.name == "single" else pa.float64()

    named = pa.field(field.name, kind, metadata={"PARQUET:field_id": str(field.id)})
    return pa.table([pa.array(keys, kind)], pa.schema([named]))


def commit_equality_delete(lake: Lake, table: TableRef, rows: Any, field_id: int) -> None:
    loaded = lake.java(table)
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}-deletes.parquet")
    local(location).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, local(location))
    field_ids = lake.session.sparkContext._gateway.new_array(lake.session._jvm.int, 1)
    field_ids[0] = field_id
    builder = iceberg(lake.session).FileMetadata.deleteFileBuilder(loaded.spec())
    builder = builder.ofEqualityDeletes(field_ids).withFormat("PARQUET").withPath(location)
    builder = builder.withFileSizeInBytes(local(location).stat().st_size)
    loaded.newRowDelta().addDeletes(builder.withRecordCount(rows.num_rows).build()).commit()


@pytest.mark.conformance("nested types that evolve inside lists and maps")
def test_evolved_rows_are_those_that_spark_reads(lake: Lake) -> None:
    table = lake.create(
        "id INT, gone STRING, small FLOAT, place STRUCT<x: INT, y: INT>, "
        "money DECIMAL(5,2), many ARRAY<STRUCT<a: INT>>",
        version=3,
    )
    name = spark_name(table)
    lake.sql(
        f"INSERT INTO {name} SELECT cast(id AS int), 'x', cast(id / 4 AS float), "
        "if(id % 3 = 0, null, named_struct('x', cast(id AS int), 'y', 1)), "
        "cast(id AS decimal(5,2)), array(named_struct('a', cast(id AS int)), null) FROM range(20)"
    ).collect()
    for change in (
        "DROP COLUMN gone",
        "ALTER COLUMN id TYPE BIGINT",
        "ALTER COLUMN small TYPE DOUBLE",
        "ALTER COLUMN money TYPE DECIMAL(12,2)",
        "RENAME COLUMN small TO number",
        "ADD COLUMN gone BIGINT",
        "ADD COLUMN place.z STRING FIRST",
        "DROP COLUMN place.y",
        "ADD COLUMN many.element.b INT",
        "ALTER COLUMN many FIRST",
    ):
        lake.sql(f"ALTER TABLE {name} {change}").collect()
    schema = schema_of(lake, table)

    parts = [pq.ParquetFile(local(each.file_path)).read() for each in files(lake, table)]
    found = [evolve(part, schema) for part in parts]

    theirs = lake.sql(f"SELECT * FROM {name}").toArrow()
    total = fingerprint(pa.concat_tables(found), schema)
    assert total.rows == 20
    assert total == fingerprint(theirs, schema)
    assert found[0].schema.names == theirs.schema.names
