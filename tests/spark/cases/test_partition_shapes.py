"""Partitions of every kind: each is compacted by itself, and copied by itself."""

from __future__ import annotations

import pytest
from tests.spark.test_copy import COPY

from neve.model.outcome import Status

pytestmark = pytest.mark.promise(1, 3)

#: Partitioning by column `v`, its type, and its value in partition `k`, which is 0, 1 or 2.
SHAPES = {
    "identity": ("v", "STRING", "concat('v', k)"),
    "null": ("v", "STRING", "if(k = 0, null, concat('v', k))"),
    "empty string": ("v", "STRING", "if(k = 0, '', concat('v', k))"),
    "bigint": ("v", "BIGINT", "k - 9223372036854775807"),
    "boolean": ("v", "BOOLEAN", "if(k = 2, null, k = 0)"),
    "decimal": ("v", "DECIMAL(12, 2)", "k - 1.25"),
    "double": ("v", "DOUBLE", "if(k = 0, double('NaN'), k / 3)"),
    "date": ("v", "DATE", "date_add(date'1969-12-31', k)"),
    "timestamp": ("v", "TIMESTAMP", "timestamp_micros(k - 1)"),
    "timestamp without zone": ("v", "TIMESTAMP_NTZ", "cast(timestamp_micros(k) AS timestamp_ntz)"),
    "binary": ("v", "BINARY", "unhex(concat('0', k, 'ff'))"),
    "day": ("days(v)", "TIMESTAMP", "timestamp_seconds((k - 1) * 86400)"),
    "hour": ("hours(v)", "TIMESTAMP", "timestamp_seconds((k - 1) * 3600)"),
    "month": ("months(v)", "DATE", "add_months(date'1969-12-31', k)"),
    "year": ("years(v)", "TIMESTAMP_NTZ", "make_timestamp_ntz(1969 + k, 6, 1, 0, 0, 0)"),
    "bucket": ("bucket(16, v)", "STRING", "element_at(array('a', 'b', null), k + 1)"),
    "truncated text": ("truncate(2, v)", "STRING", "concat('é', k, 'rest')"),
    "truncated number": ("truncate(10, v)", "BIGINT", "k * 10 - 15"),
    "two fields": ("v, bucket(4, k)", "STRING", "concat('v', k)"),
}


@pytest.mark.conformance("a partitioned table")
@pytest.mark.parametrize("shape", SHAPES)
def test_each_partition_is_compacted_by_itself(lake, shape):
    by, of, value = SHAPES[shape]
    table = lake.create(f"id BIGINT, k INT, v {of}", by=by)
    lake.fill(table, "id", "k", f"{value} AS v")
    lake.sql(f"INSERT INTO {table} SELECT 99, 2, {value} FROM (SELECT 2 AS k)")
    alone = [f.path for f in lake.facts(table).data_files if f.record_count == 1]
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert (outcome.status, outcome.reason) == (Status.SUCCEEDED, "6 files became 2.")
    assert (outcome.stats.files_before, outcome.stats.files_after) == (7, 3)
    assert lake.paths(table) & set(alone) == set(alone)
    assert lake.rows(table) == before
    assert lake.plan(table).is_empty


@pytest.mark.conformance("a partitioned table", engines=("copy",))
@pytest.mark.parametrize("shape", SHAPES)
def test_each_partition_is_copied_by_itself(lake, shape):
    by, of, value = SHAPES[shape]
    table = lake.create(f"id BIGINT, k INT, v {of}", by=by)
    lake.fill(table, "id", "k", f"{value} AS v")
    before = lake.rows(table)

    outcome = lake.compact(table, policy=COPY)

    assert (outcome.status, outcome.engines["copy"]) == (Status.SUCCEEDED, 2)
    assert lake.rows(table) == before
    assert lake.plan(table, policy=COPY).is_empty
