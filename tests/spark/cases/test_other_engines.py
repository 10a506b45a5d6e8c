"""Spark, pyiceberg and DuckDB see the same rows, whoever wrote the files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import (
    DateType,
    DecimalType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from neve.model.outcome import Status

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "kind", StringType()),
    NestedField(3, "price", DecimalType(12, 2)),
    NestedField(4, "day", DateType()),
    NestedField(5, "at", TimestamptzType()),
    NestedField(6, "tags", ListType(7, StringType(), element_required=False)),
)


def arrow_rows(start: int) -> pa.Table:
    numbers = range(start, start + 4)
    return pa.table(
        {
            "id": list(numbers),
            "kind": [None if number % 4 == 3 else f"k{number % 2}" for number in numbers],
            "price": [Decimal(number) / 4 for number in numbers],
            "day": [date(2025, 1, 1 + number % 2) for number in numbers],
            "at": [datetime(2025, 1, 1, number % 24, tzinfo=UTC) for number in numbers],
            "tags": [["a", None] if number % 2 else None for number in numbers],
        },
        schema=SCHEMA.as_arrow(),
    )


@pytest.fixture
def python_catalog(catalogs, lake) -> Iterator[Catalog]:
    """The same catalog, opened by pyiceberg for writing."""
    with closing(load_catalog("lake", **catalogs["lake"])) as catalog:
        yield catalog


def by_pyiceberg(catalog: Catalog, table) -> list[dict]:
    loaded = catalog.load_table((*table.namespace, table.name))
    return sorted(loaded.scan().to_arrow().to_pylist(), key=lambda row: row["id"])


def by_spark(lake, table) -> list[dict]:
    rows = lake.session.table(str(table)).orderBy("id").collect()
    return [row.asDict() for row in rows]


def by_duckdb(lake, table, columns: str = "*") -> list[tuple]:
    """DuckDB reads the live data files themselves."""
    paths = sorted(path.removeprefix("file://").removeprefix("file:") for path in lake.paths(table))
    files = f"read_parquet({paths}, union_by_name = true, hive_partitioning = false)"
    with duckdb.connect() as connection:
        return connection.sql(f"SELECT {columns} FROM {files} ORDER BY id").fetchall()


def make_table(catalog: Catalog, lake, spec: PartitionSpec):
    table = lake.ref("from_python")
    made = catalog.create_table((lake.namespace, table.name), SCHEMA, partition_spec=spec)
    for start in (0, 4, 8):
        made.append(arrow_rows(start))
    return table


@pytest.mark.parametrize(
    "spec",
    [
        PartitionSpec(),
        PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind")),
        PartitionSpec(PartitionField(5, 1000, DayTransform(), "at_day")),
    ],
    ids=["unpartitioned", "identity", "day"],
)
def test_tables_of_pyiceberg_are_compacted_by_spark(lake, python_catalog, spec):
    table = make_table(python_catalog, lake, spec)
    written = pa.concat_tables(arrow_rows(start) for start in (0, 4, 8)).to_pylist()
    partitions = len({file.partition for file in lake.facts(table).data_files})

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED
    assert len(lake.paths(table)) == partitions
    assert by_pyiceberg(python_catalog, table) == written
    assert by_duckdb(lake, table, "id, kind, price, day") == [
        (row["id"], row["kind"], row["price"], row["day"]) for row in written
    ]
    spark_rows = by_spark(lake, table)
    assert [{**row, "at": None} for row in spark_rows] == [{**row, "at": None} for row in written]
    assert [row["at"].timestamp() for row in spark_rows] == [
        row["at"].timestamp() for row in written
    ]


def test_pyiceberg_writes_on_after_a_compaction(lake, python_catalog):
    table = make_table(python_catalog, lake, PartitionSpec())
    lake.compact(table)

    loaded = python_catalog.load_table((lake.namespace, table.name))
    loaded.append(arrow_rows(12))
    loaded.delete("id = 3")

    assert [row["id"] for row in by_spark(lake, table)] == [0, 1, 2, *range(4, 16)]
    assert lake.compact(table).status is Status.SUCCEEDED
    assert [row["id"] for row in by_pyiceberg(python_catalog, table)] == [0, 1, 2, *range(4, 16)]


@pytest.mark.conformance("readers besides Spark")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_tables_of_spark_are_read_by_all_after_a_compaction(lake, python_catalog, version):
    table = lake.create(by="kind", version=version)
    lake.fill(table)
    expected = [{"id": number, "kind": f"k{number % 2}"} for number in range(30)]

    lake.compact(table)

    assert by_spark(lake, table) == expected
    assert by_pyiceberg(python_catalog, table) == expected
    assert by_duckdb(lake, table, "id, kind") == [(row["id"], row["kind"]) for row in expected]


def test_deletes_by_spark_hold_for_pyiceberg_before_and_after(lake, python_catalog):
    table = lake.create(version=2, properties={"write.delete.mode": "merge-on-read"})
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
    expected = [number for number in range(30) if number % 10 != 3]
    before = [row["id"] for row in by_pyiceberg(python_catalog, table)]

    lake.compact(table)

    assert before == expected
    assert [row["id"] for row in by_pyiceberg(python_catalog, table)] == expected
    assert [row[0] for row in by_duckdb(lake, table, "id")] == expected
