"""Copies of files with doubtful statistics: no engine finds less in them, or deletes more."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.doubtful_files import COLUMNS, QUESTIONS, in_files, write

from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy
from neve.spark.rewrite.commit import java_files

pytestmark = pytest.mark.promise(1)

COPY = CompactionPolicy(min_row_group_bytes=1, min_input_files=2)
REWRITE = CompactionPolicy(min_row_group_bytes=2**30, min_input_files=2)


@pytest.fixture
def doubtful(lake):
    """A table of the files, and the files."""
    table = lake.create(COLUMNS)
    loaded = lake.java(table)
    folder = Path(loaded.location().removeprefix("file://").removeprefix("file:")) / "data"
    files = write(folder, scheme="file:")
    append = loaded.newAppend()
    for file in java_files(lake.session, loaded, files):
        append = append.appendFile(file)
    append.commit()
    return table, files


def by_spark(lake, table, question):
    found = lake.sql(f"SELECT id FROM {table} WHERE {question.sql}").collect()
    return {row["id"] for row in found}


def by_pyiceberg(lake, table, question):
    scan = lake.app.catalogs.load(table).scan(row_filter=question.expression)
    return set(scan.to_arrow()["id"].to_pylist())


def copy(lake, table):
    outcome = lake.compact(table, policy=COPY)
    assert (outcome.status, outcome.engines["copy"]) == (Status.SUCCEEDED, 1), outcome.reason


def test_every_engine_finds_the_same_rows_in_a_copy(lake, doubtful):
    table, files = doubtful
    before = [
        (by_spark(lake, table, question), by_pyiceberg(lake, table, question))
        for question in QUESTIONS
    ]

    copy(lake, table)

    for question, (spark, pyiceberg) in zip(QUESTIONS, before, strict=True):
        truth = in_files(files, question)
        assert spark | pyiceberg <= truth, question
        assert by_spark(lake, table, question) == truth, question
        assert by_pyiceberg(lake, table, question) == truth, question


def test_a_delete_leaves_the_rows_that_it_does_not_name(lake, doubtful):
    """A null count that one source lacks would make Iceberg drop the whole copy."""
    table, _ = doubtful
    copy(lake, table)

    lake.sql(f"DELETE FROM {table} WHERE n >= 1")

    assert {row["id"] for row in lake.sql(f"SELECT id FROM {table}").collect()} == {2, 4}


def test_extremes_are_those_of_the_rows(lake, doubtful):
    """Spark answers them from statistics where it can."""
    table, _ = doubtful
    query = f"SELECT min(id), max(id), min(n), max(n), min(q), max(q), count(n) FROM {table}"
    before = lake.sql(query).collect()

    copy(lake, table)

    assert lake.sql(query).collect() == before


NAN = float("nan")
#: Files of numbers, and a row that is deleted, by which files of NaN were not left out.
HOLDING_NAN = {
    "beside a null": ([[NAN, None], [1.0]], None),
    "beside a greater number that is deleted": ([[NAN, 9.0], [1.0]], 9.0),
}


@pytest.mark.parametrize("verb", ["copy", "rewrite"])
@pytest.mark.parametrize("what", HOLDING_NAN)
def test_nan_is_found_above_numbers_as_it_was_before(lake, verb, what):
    files, deleted = HOLDING_NAN[what]
    table = lake.create("d DOUBLE", properties={"write.delete.mode": "merge-on-read"})
    for values in files:
        frame = lake.session.createDataFrame([(value,) for value in values], "d DOUBLE")
        frame.coalesce(1).writeTo(str(table)).append()
    if deleted is not None:
        lake.sql(f"DELETE FROM {table} WHERE d = {deleted}")
    above = f"SELECT count(*) FROM {table} WHERE d > 5"
    assert lake.sql(above).collect()[0][0] == 1

    outcome = lake.compact(table, policy=COPY if verb == "copy" else REWRITE)

    done = "copy" if verb == "copy" and deleted is None else "rewrite"
    assert (outcome.status, outcome.engines[done]) == (Status.SUCCEEDED, 1), outcome.reason
    assert lake.sql(above).collect()[0][0] == 1
