"""Rows that readers see in some files of a snapshot: the same, read alone or with all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from neve.model.outcome import Status
from neve.service.operations.rewrite_position_delete_files import (
    RewritePositionDeleteFilesOperation,
)
from neve.spark.engine import BorrowedEngine
from neve.spark.tables import iceberg, spark_name
from neve.testing.operations import run_operation

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}
#: So that a delete does not take the place of those before it.
BY_PARTITION = {**MERGE_ON_READ, "write.delete.granularity": "partition"}


@pytest.fixture
def engine(spark):
    return BorrowedEngine(spark)


def live(lake, table, snapshot_id):
    """What Spark says of all files of a snapshot, by path."""
    found = lake.sql(
        f"SELECT _file, count(*) AS rows FROM {spark_name(table)} "
        f"VERSION AS OF {snapshot_id} GROUP BY _file"
    )
    return {row["_file"]: row["rows"] for row in found.collect()}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_of_some_files_are_those_that_a_reader_of_the_snapshot_sees(lake, engine, version):
    table = lake.create(version=version, properties=MERGE_ON_READ if version > 1 else {})
    lake.fill(table, files=4, rows=40)
    before = lake.head(table).snapshot_id
    if version > 1:
        lake.sql(f"DELETE FROM {spark_name(table)} WHERE id IN (1, 2, 11)")
        lake.delete_equal(table, "id", 5, 12, 39)
    after = lake.head(table).snapshot_id
    lake.fill(table, rows=4, start=100)

    for snapshot_id in (before, after):
        expected = live(lake, table, snapshot_id)
        for path, rows in expected.items():
            assert engine.live_rows(table, snapshot_id, [path]) == {path: rows}
        assert engine.live_rows(table, snapshot_id, list(expected)) == expected
    deleted = 6 if version > 1 else 0
    assert sum(live(lake, table, after).values()) == 40 - deleted


def test_a_file_without_a_live_row_and_one_of_another_snapshot_have_none(lake, engine):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, files=2, rows=20)
    first = lake.paths(table)
    lake.delete_equal(table, "id", *range(20))
    snapshot_id = lake.head(table).snapshot_id
    lake.fill(table, files=1, rows=5, start=100)
    later = lake.paths(table) - first

    found = engine.live_rows(table, snapshot_id, [*first, *later])

    assert found == dict.fromkeys([*first, *later], 0)
    assert set(engine.live_positions(table, snapshot_id, [*later]).values()) == {(0, 0)}


def test_only_the_files_in_question_are_opened(lake, engine):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, files=3, rows=30)
    wanted, *others = sorted(lake.paths(table))
    for path in others:
        Path(path.removeprefix("file:")).unlink()

    found = engine.live_rows(table, lake.head(table).snapshot_id, [wanted])

    assert found == {wanted: 10}


def test_a_column_that_was_dropped_since_still_deletes(lake, engine):
    table = lake.create("id BIGINT, other BIGINT, kind STRING")
    lake.fill(table, "id", "id AS other", "'k' AS kind", files=2, rows=20)
    lake.delete_equal(table, "other", 3, 4)
    snapshot_id = lake.head(table).snapshot_id
    expected = live(lake, table, snapshot_id)
    lake.sql(f"ALTER TABLE {spark_name(table)} DROP COLUMN other")

    assert engine.live_rows(table, snapshot_id, list(expected)) == expected
    assert sorted(expected.values()) == [8, 10]


def list_again(lake, table, path):
    """Append a file that the table has; Iceberg does not ask."""
    loaded = lake.java(table)
    again = iceberg(lake.session).DataFiles.builder(loaded.spec()).withPath(path)
    again = again.withFileSizeInBytes(Path(path.removeprefix("file:")).stat().st_size)
    loaded.newAppend().appendFile(again.withRecordCount(10).build()).commit()


def test_a_file_that_is_listed_twice_is_counted_twice(lake, engine):
    table = lake.create(properties=BY_PARTITION)
    lake.fill(table, files=1, rows=10)
    (path,) = lake.paths(table)
    lake.sql(f"DELETE FROM {spark_name(table)} WHERE id = 1")
    list_again(lake, table, path)
    lake.sql(f"DELETE FROM {spark_name(table)} WHERE id = 2")
    snapshot_id = lake.head(table).snapshot_id

    assert live(lake, table, snapshot_id) == {path: 17}
    assert engine.live_rows(table, snapshot_id, [path]) == {path: 17}


@pytest.mark.parametrize("listed_again_after", [0, 2])
def test_deletes_of_a_file_that_is_listed_twice_are_merged_or_left(lake, listed_again_after):
    """What deletes are merged into is newer, and may reach an entry that they did not reach."""
    table = lake.create(properties=BY_PARTITION)
    lake.fill(table, files=1, rows=10)
    (path,) = lake.paths(table)
    for number in range(4):
        if number == listed_again_after:
            list_again(lake, table, path)
        lake.sql(f"DELETE FROM {spark_name(table)} WHERE id = {number}")
    rows = lake.rows(table)

    outcome = run_operation(lake.app.maintenance, table, RewritePositionDeleteFilesOperation())

    reaches_more = listed_again_after > 0
    assert outcome.status is (Status.FAILED if reaches_more else Status.SUCCEEDED)
    assert lake.rows(table) == rows
