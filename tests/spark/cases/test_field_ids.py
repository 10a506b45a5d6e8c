"""Columns are found by their field ids, whatever a file calls them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy
from neve.spark.tables import iceberg

COPY = CompactionPolicy(min_row_group_bytes=1)
#: Names and field ids of two columns; the table has `id` (1) and `kind` (2).
RENAMED = {"kind": (1, pa.int64()), "id": (2, pa.string())}
UNKNOWN = {"id": (1, pa.int64()), "kind": (77, pa.string())}


def append_file(lake, table, columns, *values):
    """Commit a file that another writer made, with names and field ids of its own."""
    loaded = lake.java(table)
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}.parquet")
    path = Path(location.removeprefix("file:"))
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [
        pa.field(name, kind, metadata={"PARQUET:field_id": str(field_id)})
        for name, (field_id, kind) in columns.items()
    ]
    rows = pa.table([list(column) for column in zip(*values, strict=True)], pa.schema(fields))
    pq.write_table(rows, path, compression="zstd")
    file = iceberg(lake.session).DataFiles.builder(loaded.spec()).withPath(location)
    file = file.withFileSizeInBytes(path.stat().st_size).withRecordCount(len(values))
    loaded.newAppend().appendFile(file.build()).commit()


def rows(lake, table):
    return sorted(map(tuple, lake.sql(f"SELECT id, kind FROM {table}").collect()))


def used(outcome):
    return {name: count for name, count in outcome.engines.items() if count}


@pytest.fixture
def table(lake):
    made = lake.create()
    lake.fill(made, files=1, rows=2)
    return made


@pytest.mark.parametrize("policy", [CompactionPolicy(), COPY], ids=["rewrite", "copy"])
def test_columns_of_other_names_are_read_and_compacted_by_their_ids(lake, table, policy):
    append_file(lake, table, RENAMED, (10, "ten"), (11, "eleven"))
    expected = [(0, "k0"), (1, "k1"), (10, "ten"), (11, "eleven")]
    assert rows(lake, table) == expected

    outcome = lake.compact(table, policy=policy)

    # Files that differ in their names are not copied into one.
    assert ("could not be copied" in outcome.reason) == (policy is COPY)
    assert (outcome.status, used(outcome)) == (Status.SUCCEEDED, {"rewrite": 1})
    assert len(lake.paths(table)) == 1
    assert rows(lake, table) == expected


def test_files_that_agree_on_other_names_are_copied(lake):
    table = lake.create()
    append_file(lake, table, RENAMED, (10, "ten"))
    append_file(lake, table, RENAMED, (11, "eleven"))

    outcome = lake.compact(table, policy=COPY)

    assert (outcome.status, used(outcome)) == (Status.SUCCEEDED, {"copy": 1})
    assert rows(lake, table) == [(10, "ten"), (11, "eleven")]


@pytest.mark.parametrize("policy", [CompactionPolicy(), COPY], ids=["rewrite", "copy"])
def test_a_column_of_an_unknown_id_is_null_before_and_after(lake, table, policy):
    append_file(lake, table, UNKNOWN, (10, "unseen"), (11, "unseen"))
    expected = [(0, "k0"), (1, "k1"), (10, None), (11, None)]
    assert rows(lake, table) == expected

    outcome = lake.compact(table, policy=policy)

    assert ("could not be copied" in outcome.reason) == (policy is COPY)
    assert (outcome.status, used(outcome)) == (Status.SUCCEEDED, {"rewrite": 1})
    assert len(lake.paths(table)) == 1
    assert rows(lake, table) == expected
