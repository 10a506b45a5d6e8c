"""Names and values that break programs which glue text: none of them matters here."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo

from neve.model.outcome import Status
from neve.model.policy import Strategy

TABLE_NAMES = [
    "back`tick",
    "dots.in.it",
    """space, "double" and 'single'""",
    "hyphen-ated",
    "2024_01",
    "größe_数据",
    "a$b@c",
    "semi;colon--comment",
]
COLUMN_NAMES = ["dots.in it", "back`tick", "größe", "select"]
VALUES = [
    "o'clock",
    'say "hi"',
    "back\\slash",
    "a/b=c",
    "50%",
    "`tick`",
    "über 数据 🧊",
    "new\nline",
    " ",
    "null",
    "__HIVE_DEFAULT_PARTITION__",
]


@pytest.mark.conformance("odd characters in names and filters")
@pytest.mark.parametrize("name", TABLE_NAMES)
def test_tables_of_any_name_are_compacted(lake, name):
    table = lake.create(name=name)
    lake.fill(table)
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED
    assert len(lake.paths(table)) == 1
    assert lake.rows(table) == before
    logged = lake.session.table(f"lake.{lake.namespace}._maintenance_log").collect()
    assert [row["table_name"] for row in logged] == [name]
    assert [job.table for job in lake.app.store.jobs(table)] == [table]


def names_in_files(lake, table):
    return {tuple(pq.read_schema(path.removeprefix("file:")).names) for path in lake.paths(table)}


@pytest.mark.promise(1)
@pytest.mark.parametrize("version", [2, 3])
def test_columns_are_called_in_new_files_as_iceberg_calls_them(lake, version):
    """pyiceberg filters by no column that has a dot in a file."""
    names = [*COLUMN_NAMES, "0 🧊", "a.b"]
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    table = lake.create(
        "id BIGINT, " + ", ".join(f"{each} STRING" for each in quoted),
        version=version,
        properties={"write.delete.mode": "merge-on-read"},
    )
    lake.fill(table, "id", *(f"concat('v', id) AS {each}" for each in quoted))
    lake.sql(f"DELETE FROM {table} WHERE id % 5 = 1")
    before, written = lake.rows(table), names_in_files(lake, table)

    outcome = lake.compact(table)

    assert (outcome.status, outcome.engines["rewrite"]) == (Status.SUCCEEDED, 1), outcome.reason
    assert lake.rows(table) == before
    assert {found[: len(names) + 1] for found in names_in_files(lake, table)} == written
    for name in names:
        scan = lake.app.catalogs.load(table).scan(row_filter=EqualTo(name, "v7"))
        assert scan.to_arrow()["id"].to_pylist() == [7]


@pytest.mark.parametrize("column", COLUMN_NAMES)
def test_partition_columns_of_any_name(lake, column):
    name = "`" + column.replace("`", "``") + "`"
    table = lake.create(f"id BIGINT, {name} STRING", by=name)
    lake.fill(table, "id", f"concat('k', k) AS {name}")
    lake.sql(f"INSERT INTO {table} VALUES (99, 'alone')")
    before = lake.rows(table)

    outcome = lake.compact(table, where=f"{name} IN ('k0', 'k1')")

    assert outcome.reason == "6 files became 2."
    assert lake.rows(table) == before


#: Iceberg's z-order cannot take names with dots or backticks.
@pytest.mark.conformance("z-order")
@pytest.mark.parametrize(
    ("strategy", "column"),
    [(Strategy.SORT, name) for name in COLUMN_NAMES] + [(Strategy.ZORDER, "größe")],
)
def test_sort_columns_of_any_name(lake, column, strategy):
    name = "`" + column.replace("`", "``") + "`"
    table = lake.create(f"id BIGINT, {name} STRING")
    lake.fill(table, "id", f"concat('k', k) AS {name}")
    before = lake.rows(table)

    outcome = lake.compact(table, strategy, by=("id", column))

    assert outcome.reason == "3 files became 1."
    assert lake.rows(table) == before


@pytest.mark.conformance("transforms, null partitions, odd characters")
def test_partition_values_of_any_text(lake, spark):
    table = lake.create(by="kind")
    for start in (0, 100):
        rows = [(start + number, value) for number, value in enumerate((*VALUES, f"{start}"))]
        frame = spark.createDataFrame(rows, "id BIGINT, kind STRING")
        frame.coalesce(1).writeTo(str(table)).append()
    alone = {f.path for f in lake.facts(table).data_files if f.partition[1] in (("0",), ("100",))}
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert outcome.reason == f"{2 * len(VALUES)} files became {len(VALUES)}."
    assert alone < lake.paths(table)
    assert lake.rows(table) == before


@pytest.mark.conformance("odd characters in names and filters")
def test_filters_hold_any_text(lake, spark):
    table = lake.create(by="kind")
    for start in (0, 100):
        rows = [(start + number, value) for number, value in enumerate((*VALUES, "other"))]
        frame = spark.createDataFrame(rows, "id BIGINT, kind STRING")
        frame.coalesce(1).writeTo(str(table)).append()
    others = {f.path for f in lake.facts(table).data_files if f.partition[1] == ("other",)}

    values = ", ".join("'" + value.replace("'", "''") + "'" for value in VALUES)
    outcome = lake.compact(table, where=f"kind IN ({values})")

    assert outcome.reason == f"{2 * len(VALUES)} files became {len(VALUES)}."
    assert others < lake.paths(table)
    assert len(others) == 2
