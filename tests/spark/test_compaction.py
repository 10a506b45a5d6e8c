"""Compaction on Spark: fewer files, the same rows, and partitions without problem left alone."""

from __future__ import annotations

import pytest

from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy, Strategy

pytestmark = pytest.mark.promise(1)


@pytest.mark.conformance("an unpartitioned table")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_unpartitioned_table_of_every_version_becomes_one_file(lake, version):
    table = lake.create(version=version)
    lake.fill(table)
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert outcome.reason == "3 files became 1."
    assert len(lake.paths(table)) == 1
    assert lake.facts(table).format_version == version
    assert lake.rows(table) == before


@pytest.mark.conformance("row ids stay, unpartitioned")
@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.SORT, Strategy.ZORDER])
def test_version_3_keeps_the_lineage_of_rows(lake, strategy):
    table = lake.create(version=3, by="kind")
    lake.fill(table)
    lake.fill(table, start=30)
    lake.sql(f"UPDATE {table} SET id = id + 1000 WHERE id IN (3, 34)")
    before = lake.lineage(table)

    outcome = lake.compact(table, strategy, by=("id",) if strategy.orders_rows else ())

    assert outcome.status is Status.SUCCEEDED
    assert lake.lineage(table) == before


def test_rows_without_anything_in_them_survive(lake):
    table = lake.create("id BIGINT, kind STRING, x DOUBLE, y FLOAT")
    for _ in range(2):
        lake.sql(
            f"INSERT INTO {table} VALUES (null, null, null, null), (1, '', double('NaN'), "
            "float('-0.0')), (1, '', double('NaN'), float('0.0')), (1, ' ', -0.0, float('inf'))"
        )
    before = lake.rows(table)

    lake.compact(table)

    assert lake.rows(table) == before
    assert before.total() == 8


def test_nested_columns_survive(lake):
    table = lake.create(
        "id BIGINT, inner STRUCT<x: INT, deep: STRUCT<y: ARRAY<STRING>>>, "
        "many ARRAY<STRUCT<a: INT, b: MAP<STRING, DECIMAL(38, 10)>>>, pairs MAP<INT, ARRAY<DATE>>"
    )
    lake.fill(
        table,
        "id",
        "if(k = 0, null, named_struct('x', k, 'deep', named_struct('y', array('a', null)))) inner",
        "array(named_struct('a', k, 'b', map('m', cast(id / 7 AS decimal(38, 10)))), null) many",
        "if(k = 0, map(), map(k, array(date'2025-01-01', null))) pairs",
    )
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert outcome.reason == "3 files became 1."
    assert lake.rows(table) == before


@pytest.mark.conformance("decimals, bytes, moments before 1970 and in 9999")
def test_decimals_moments_and_bytes_survive(lake):
    table = lake.create(
        "a DECIMAL(9, 2), b DECIMAL(18, 0), c DECIMAL(38, 38), d DATE, e TIMESTAMP, "
        "f TIMESTAMP_NTZ, g BINARY, h BOOLEAN, i INT"
    )
    lake.fill(
        table,
        "cast(-power(2, id % 20) AS decimal(9, 2)) a",
        "cast(999999999999999999 - id AS decimal(18, 0)) b",
        "cast(concat('0.', repeat('9', 37), k) AS decimal(38, 38)) c",
        "date_add(date'9999-12-01', cast(id AS int)) d",
        "timestamp_micros(id - 15) e",
        "cast(timestamp_micros(-id * 86400000001) AS timestamp_ntz) f",
        "unhex(repeat('00ff', k)) g",
        "if(k = 1, null, true) h",
        "-2147483648 + k i",
    )
    before = lake.rows(table)

    lake.compact(table)

    assert len(lake.paths(table)) == 1
    assert lake.rows(table) == before


@pytest.mark.conformance("a table without a snapshot")
def test_a_table_that_was_never_written_is_left_alone(lake):
    table = lake.create()

    outcome = lake.compact(table)

    assert outcome.status is Status.NOTHING_TO_DO
    assert outcome.reason == f"Table {table} was never written."
    assert lake.facts(table).snapshots == ()


@pytest.mark.conformance("large files are left alone")
def test_large_files_are_neither_split_nor_touched(lake):
    table = lake.create()
    lake.fill(table, "id", "repeat(uuid(), 20) AS kind", files=1, rows=500)
    lake.fill(table, start=500)
    large = max(lake.facts(table).data_files, key=lambda file: file.size_bytes)

    outcome = lake.compact(table, policy=CompactionPolicy(target_file_size_bytes=10_000))

    assert large.size_bytes > 10_000
    assert outcome.reason == "3 files became 1."
    assert large.path in lake.paths(table)
