"""The sales table: what it promises its users, before and after compaction."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal

import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import (
    DateType,
    DecimalType,
    StringType,
    StructField,
    StructType,
)

from neve.model.facts import PartitionField
from neve.spark.samples import create_sales

DAYS = (date(2024, 1, 15), date(2024, 1, 16), date(2024, 1, 17))


@pytest.fixture
def sales(lake):
    """Three days of two batches each: six files."""
    table = lake.ref("sales")
    create_sales(lake.session, table)
    for batch in range(2):
        rows = ", ".join(
            f"('ORD-{batch}{number}', 'CUST-{number}', {number}.25, "
            f"{'null' if number == 2 else repr('Perú')}, date'{day}')"
            for number, day in enumerate(DAYS)
        )
        lake.sql(f"INSERT INTO {table} VALUES {rows}")
    return table


def local(path: str) -> str:
    return path.removeprefix("file://").removeprefix("file:")


def test_creating_it_twice_is_fine(lake, sales):
    before = lake.facts(sales)

    create_sales(lake.session, sales)

    after = lake.facts(sales)
    assert (after.table_uuid, after.snapshot_id) == (before.table_uuid, before.snapshot_id)
    assert lake.rows(sales).total() == 6


def test_columns_types_and_nullability(lake, sales):
    assert lake.session.table(str(sales)).schema == StructType(
        [
            StructField("order_id", StringType(), nullable=False),
            StructField("customer_id", StringType(), nullable=False),
            StructField("amount", DecimalType(12, 2), nullable=False),
            StructField("country", StringType(), nullable=True),
            StructField("ingestion_date", DateType(), nullable=False),
        ]
    )
    assert [(c.name, c.type, c.required) for c in lake.facts(sales).columns] == [
        ("order_id", "string", True),
        ("customer_id", "string", True),
        ("amount", "decimal(12, 2)", True),
        ("country", "string", False),
        ("ingestion_date", "date", True),
    ]


def test_it_is_partitioned_by_the_day_of_ingestion(lake, sales):
    facts = lake.facts(sales)

    assert facts.specs[facts.current_spec_id].fields == (
        PartitionField("ingestion_date", "identity", "ingestion_date", "date"),
    )
    assert Counter(facts.partition_name(file.partition) for file in facts.data_files) == {
        f"ingestion_date={day}": 2 for day in DAYS
    }


@pytest.mark.parametrize("compacted", [False, True])
def test_files_are_parquet_with_snappy(lake, sales, compacted):
    if compacted:
        lake.compact(sales)

    files = lake.facts(sales).data_files
    assert len(files) == (3 if compacted else 6)
    assert {file.format for file in files} == {"PARQUET"}
    for file in files:
        group = pq.read_metadata(local(file.path)).row_group(0)
        assert {group.column(i).compression for i in range(group.num_columns)} == {"SNAPPY"}


@pytest.mark.parametrize(
    ("alteration", "names"),
    [
        ("ADD COLUMN currency STRING", "order_id customer_id amount country day currency"),
        ("DROP COLUMN country", "order_id customer_id amount day"),
        ("RENAME COLUMN country TO land", "order_id customer_id amount land day"),
        ("ALTER COLUMN country FIRST", "country order_id customer_id amount day"),
        ("ALTER COLUMN amount TYPE DECIMAL(20, 2)", "order_id customer_id amount country day"),
    ],
    ids=["add", "drop", "rename", "reorder", "widen"],
)
def test_the_schema_evolves_without_rewriting_files(lake, sales, alteration, names):
    paths, snapshot_id = lake.paths(sales), lake.facts(sales).snapshot_id

    lake.sql(f"ALTER TABLE {sales} {alteration}")

    rows = lake.session.table(str(sales)).orderBy("order_id").collect()
    assert lake.paths(sales) == paths
    assert lake.facts(sales).snapshot_id == snapshot_id
    assert rows[0].__fields__ == names.replace("day", "ingestion_date").split()
    expected = {"order_id": "ORD-00", "customer_id": "CUST-0", "amount": Decimal("0.25")}
    optional = {"country": "Perú", "land": "Perú", "currency": None, "ingestion_date": DAYS[0]}
    assert rows[0].asDict() == {name: {**expected, **optional}[name] for name in rows[0].__fields__}


def test_new_and_old_rows_are_compacted_together_after_a_new_column(lake, sales):
    lake.sql(f"ALTER TABLE {sales} ADD COLUMN currency STRING")
    lake.sql(f"INSERT INTO {sales} VALUES ('N', 'C', 1, null, date'{DAYS[0]}', 'EUR')")
    rows = lake.rows(sales)

    outcome = lake.compact(sales)

    assert outcome.reason == "7 files became 3."
    assert lake.rows(sales) == rows


def test_time_travel_by_version_and_by_timestamp(lake, sales):
    snapshot, rows = lake.head(sales), lake.rows(sales)
    lake.sql(f"DELETE FROM {sales} WHERE ingestion_date = date'{DAYS[0]}'")
    lake.compact(sales)
    moment = snapshot.committed_at.isoformat(sep=" ", timespec="milliseconds")

    assert lake.rows(sales).total() == 4
    assert lake.rows(sales, at=f"VERSION AS OF {snapshot.snapshot_id}") == rows
    assert lake.rows(sales, at=f"TIMESTAMP AS OF '{moment}'") == rows


def test_iceberg_rolls_it_back(lake, sales):
    snapshot_id, rows = lake.facts(sales).snapshot_id, lake.rows(sales)
    lake.sql(f"DELETE FROM {sales} WHERE order_id = 'ORD-00'")

    lake.sql(f"CALL lake.system.rollback_to_snapshot('{sales}', {snapshot_id})")

    assert lake.facts(sales).snapshot_id == snapshot_id
    assert lake.rows(sales) == rows


def test_a_day_reads_its_own_files_only(lake, sales):
    query = lake.session.table(str(sales)).where(f"ingestion_date = date'{DAYS[1]}'")

    rows = query.collect()

    plan = query._jdf.queryExecution().executedPlan()
    metrics = plan.collectLeaves().head().metrics()
    scanned, skipped = (
        metrics.get(name).get().value() for name in ("resultDataFiles", "skippedDataFiles")
    )
    skipped += metrics.get("skippedDataManifests").get().value()
    assert {row["ingestion_date"] for row in rows} == {DAYS[1]}
    assert "ingestion_date = 19738" in plan.toString()
    assert (scanned, skipped) == (2, 4)


def test_a_write_that_violates_not_null_changes_nothing(lake, sales):
    before = lake.facts(sales)

    with pytest.raises(Exception, match="NOT_NULL_ASSERT_VIOLATION"):
        lake.sql(f"INSERT INTO {sales} SELECT null, 'C', 1, null, date'{DAYS[0]}'")

    assert lake.facts(sales).snapshot_id == before.snapshot_id
