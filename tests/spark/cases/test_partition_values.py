"""Partitions of floats that SQL takes for equal, or that JSON has no word for."""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from dataclasses import replace

import pytest

from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy, RewriteMode

pytestmark = pytest.mark.promise(2)

COPY = CompactionPolicy(min_row_group_bytes=1)
TINY = CompactionPolicy()
VALUES = ("'-0.0'", "'0.0'", "'NaN'", "'Infinity'", "'-Infinity'", "null", "'1.5'")
ENGINES = {
    "copy": (COPY, RewriteMode.AUTO),
    "rewrite": (TINY, RewriteMode.AUTO),
    "spark": (TINY, RewriteMode.SPARK),
}


def bits(value):
    return None if value is None else struct.pack("<d", value)


def files_of(lake, table):
    """Rows of each partition, by the bytes of its value, and in how many files."""
    rows, files = Counter(), Counter()
    for file in lake.facts(table).data_files:
        (value,) = file.partition[1]
        rows[bits(value)] += file.record_count
        files[bits(value)] += 1
    return rows, files


def rows_of(lake, table):
    """The rows as Spark and as pyiceberg read them, with the bits of their values."""
    by_spark = lake.sql(f"SELECT id, d FROM {table}").collect()
    loaded = lake.app.catalogs.load(table)
    by_pyiceberg = loaded.scan().to_arrow().to_pylist()
    return [
        Counter((row["id"], bits(row["d"])) for row in read) for read in (by_spark, by_pyiceberg)
    ]


def write(lake, table, of, *values, files, start=0):
    array = ", ".join(f"cast({value} AS {of})" for value in values)
    value = f"element_at(array({array}), cast(id % {len(values)} AS int) + 1) AS d"
    lake.fill(table, "id", value, files=files, rows=files * 10 * len(values), start=start)


@pytest.mark.conformance("transforms, null partitions, odd characters")
@pytest.mark.parametrize("of", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_partition_of_floats_is_compacted_by_itself(lake, engine, of):
    table = lake.create(f"id BIGINT, d {of}", by="d")
    write(lake, table, of, *VALUES, files=3)
    before, read = files_of(lake, table), rows_of(lake, table)

    policy, mode = ENGINES[engine]
    lake = replace(lake, engine=mode)
    outcome = lake.compact(table, policy=policy)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert (outcome.status, outcome.engines[engine]) == (Status.SUCCEEDED, len(VALUES))
    rows, files = files_of(lake, table)
    assert rows == before[0]
    assert set(files.values()) == {1}
    assert rows_of(lake, table) == read
    assert lake.plan(table, policy=policy).is_empty


@pytest.mark.parametrize(
    ("engine", "value"), [("copy", "'-0.0'"), *itertools.product(("rewrite", "spark"), VALUES[:-1])]
)
def test_a_partition_of_floats_is_compacted_without_the_others(lake, engine, value):
    table = lake.create("id BIGINT, d DOUBLE", by="d")
    write(lake, table, "DOUBLE", *VALUES, files=1)
    alone = lake.paths(table)
    write(lake, table, "DOUBLE", value, files=3, start=1000)
    before, read = files_of(lake, table), rows_of(lake, table)

    policy, mode = ENGINES[engine]
    lake = replace(lake, engine=mode)
    outcome = lake.compact(table, policy=policy)

    assert (outcome.status, outcome.engines[engine]) == (Status.SUCCEEDED, 1)
    assert files_of(lake, table)[0] == before[0]
    assert len(lake.paths(table) & alone) == len(VALUES) - 1
    assert rows_of(lake, table) == read
