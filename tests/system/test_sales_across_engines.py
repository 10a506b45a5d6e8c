"""One sales table, two engines: what one makes, writes or alters, the other sees."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from neve.model.facts import PartitionField

DAYS = ("2024-01-15", "2024-01-16", "2024-01-17")
BOTH_WAYS = pytest.mark.parametrize(
    ("one", "other"), [("spark", "trino"), ("trino", "spark")], ids=["spark-first", "trino-first"]
)


def insert(house, engine, order, day=DAYS[0], country="'Perú'", more=""):
    values = f"'{order}', 'C-{order}', 1.25, {country}, DATE '{day}'{more}"
    house.run(engine, f"INSERT INTO {house.name()} VALUES ({values})")


def orders(house, engine, at=""):
    return sorted(order for (order,) in house.rows(engine, columns="order_id", at=at))


@BOTH_WAYS
def test_a_table_of_one_engine_is_read_and_written_by_the_other(house, one, other):
    house.create_sales(one)
    made = house.facts()
    for engine in (one, other):
        # Creating it again is fine, for whoever asks.
        house.create_sales(engine)
        insert(house, engine, engine, country="NULL" if engine == one else "'Perú'")

    facts = house.facts()
    assert facts.table_uuid == made.table_uuid
    assert [(c.name, c.type, c.required) for c in facts.columns] == [
        ("order_id", "string", True),
        ("customer_id", "string", True),
        ("amount", "decimal(12, 2)", True),
        ("country", "string", False),
        ("ingestion_date", "date", True),
    ]
    assert facts.specs[facts.current_spec_id].fields == (
        PartitionField("ingestion_date", "identity", "ingestion_date", "date"),
    )
    assert [file.format for file in facts.data_files] == ["PARQUET", "PARQUET"]
    assert house.same_rows() == Counter(
        [
            (one, f"C-{one}", Decimal("1.25"), None, date(2024, 1, 15)),
            (other, f"C-{other}", Decimal("1.25"), "Perú", date(2024, 1, 15)),
        ]
    )


@contextlib.contextmanager
def away(files: list[Path]) -> Iterator[None]:
    """Take files out of the storage for a while."""
    for file in files:
        file.rename(file.with_name(file.name + ".away"))
    try:
        yield
    finally:
        for file in files:
            file.with_name(file.name + ".away").rename(file)


def test_a_day_reads_its_own_files_only(house):
    """The plans say so, the counts say so, and it works without the files of other days."""
    house.create_sales("spark")
    for day in DAYS:
        insert(house, "spark", f"s{day}", day)
        insert(house, "trino", f"t{day}", day)
    query = f"SELECT order_id FROM {house.name()} WHERE ingestion_date = DATE '{DAYS[1]}'"
    others = [house.on_disk(path) for path in house.paths() if DAYS[1] not in path]
    assert len(others) == 4

    in_trino = house.run("trino", f"EXPLAIN {query}")[0][0]
    measured = house.run("trino", f"EXPLAIN ANALYZE VERBOSE {query}")[0][0]
    in_spark = house.run("spark", f"EXPLAIN {query}")[0][0]
    frame = house.spark.sql(query)
    with away(others):
        seen = [
            sorted(frame.collect()),
            sorted(house.run("trino", query)),
        ]

    assert re.search(
        r"TableScan\[table = \S+\.sales\S* constraint on \[ingestion_date\]\]", in_trino
    )
    assert f":: [[{DAYS[1]}]]" in in_trino
    assert "ScanFilter" not in in_trino
    assert "'dataFiles' = LongCount{total=2}" in measured
    assert "filters=ingestion_date = 19738," in in_spark
    assert "Filter (" not in in_spark
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    assert scan.metrics().get("resultDataFiles").get().value() == 2
    assert seen == [[(f"s{DAYS[1]}",), (f"t{DAYS[1]}",)]] * 2


@BOTH_WAYS
def test_a_new_column_is_null_in_old_rows_and_rewrites_no_file(house, one, other):
    house.create_sales(one)
    insert(house, one, "old")
    paths, snapshot_id = house.paths(), house.head().snapshot_id

    kind = {"spark": "STRING", "trino": "VARCHAR"}[one]
    house.run(one, f"ALTER TABLE {house.name()} ADD COLUMN currency {kind}")

    assert (house.paths(), house.head().snapshot_id) == (paths, snapshot_id)
    insert(house, other, "new", more=", 'EUR'")
    assert house.paths() > paths
    expected = Counter([("old", None), ("new", "EUR")])
    for engine in (one, other):
        assert house.rows(engine, columns="order_id, currency") == expected


@BOTH_WAYS
def test_renamed_and_dropped_columns_keep_and_lose_their_values(house, one, other):
    house.create_sales(other)
    insert(house, other, "old")
    paths = house.paths()

    house.run(one, f"ALTER TABLE {house.name()} RENAME COLUMN country TO land")
    house.run(one, f"ALTER TABLE {house.name()} DROP COLUMN customer_id")
    # A column of an old name is a new column.
    kind = {"spark": "STRING", "trino": "VARCHAR"}[one]
    house.run(one, f"ALTER TABLE {house.name()} ADD COLUMN country {kind}")

    assert house.paths() == paths
    expected = Counter([("old", Decimal("1.25"), "Perú", date(2024, 1, 15), None)])
    assert house.same_rows() == expected
    named = "order_id, amount, land, ingestion_date, country"
    assert house.rows(other, columns=named) == expected


@BOTH_WAYS
def test_a_widened_column_reads_old_and_new_numbers(house, one, other):
    name = house.name("counts")
    house.run("trino", f"CREATE TABLE {name} (n INTEGER)")
    house.run(other, f"INSERT INTO {name} VALUES (1)")
    paths = house.paths("counts")

    how = {"spark": "TYPE BIGINT", "trino": "SET DATA TYPE bigint"}[one]
    house.run(one, f"ALTER TABLE {name} ALTER COLUMN n {how}")

    assert house.paths("counts") == paths
    house.run(other, f"INSERT INTO {name} VALUES (3000000000)")
    assert house.same_rows("counts") == Counter([(1,), (3_000_000_000,)])


def test_reordered_columns_are_reordered_for_both(house):
    house.create_sales("trino")
    insert(house, "trino", "old")
    paths = house.paths()

    house.run("spark", f"ALTER TABLE {house.name()} ALTER COLUMN country FIRST")

    assert house.paths() == paths
    assert house.same_rows() == Counter(
        [("Perú", "old", "C-old", Decimal("1.25"), date(2024, 1, 15))]
    )


@BOTH_WAYS
def test_snapshots_of_one_engine_are_read_by_the_other(house, one, other):
    house.create_sales(one)
    insert(house, one, "first")
    first = house.head()
    insert(house, one, "second")
    moment = first.committed_at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")

    travels = {
        "spark": (f"VERSION AS OF {first.snapshot_id}", f"TIMESTAMP AS OF '{moment}'"),
        "trino": (
            f"FOR VERSION AS OF {first.snapshot_id}",
            f"FOR TIMESTAMP AS OF TIMESTAMP '{moment} UTC'",
        ),
    }
    assert orders(house, other) == ["first", "second"]
    for at in travels[other]:
        assert orders(house, other, at) == ["first"]


def test_tags_and_branches_of_spark_are_read_by_trino(house):
    house.create_sales("spark")
    insert(house, "spark", "first")
    house.run("spark", f"ALTER TABLE {house.name()} CREATE TAG closed")
    house.run("spark", f"ALTER TABLE {house.name()} CREATE BRANCH audit")
    insert(house, "spark", "second")
    values = f"('audited', 'C', 1, NULL, DATE '{DAYS[0]}')"
    house.run("spark", f"INSERT INTO {house.name()}.branch_audit VALUES {values}")

    assert orders(house, "trino") == ["first", "second"]
    assert orders(house, "trino", "FOR VERSION AS OF 'closed'") == ["first"]
    assert orders(house, "trino", "FOR VERSION AS OF 'audit'") == ["audited", "first"]
