"""Files whose values Iceberg's reader takes for others: nobody rewrites them, and it is told."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.outcome import Status
from neve.model.plan import NothingToDo
from neve.model.policy import RewriteMode, Strategy
from neve.spark.rewrite import misread
from neve.spark.tables import iceberg

pytestmark = pytest.mark.promise(1, 7)

AT = dt.datetime(2020, 1, 2, 3, 4, 5, 678000)
#: The table's type, and what files hold that Iceberg's reader shows as something else.
MISREAD = {
    "nanoseconds": ("TIMESTAMP_NTZ", pa.timestamp("ns"), AT),
    "milliseconds": ("TIMESTAMP", pa.timestamp("ms", tz="UTC"), AT),
    "another scale": ("DECIMAL(9,2)", pa.decimal128(9, 3), Decimal("1.234")),
    "a moment for a number": ("BIGINT", pa.timestamp("us"), AT),
}
#: Of a struct `v`, and of the table that tests make where they say nothing else.
MAPPING = (
    '[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["v"], "fields": '
    '[{"field-id": 3, "names": ["x"]}]}]'
)
KIND_MAPPING = '[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["kind"]}]'


def add(lake, table, path, kind, value, rows=10, **options):
    """Commit a file that somebody else wrote, under the table's field ids."""
    fields = [
        pa.field(name, of, metadata={"PARQUET:field_id": str(id_)})
        for id_, name, of in ((1, "id", pa.int64()), (2, "v", kind))
    ]
    data = [pa.array(range(rows)), pa.array([value] * rows, kind)]
    commit_file(lake, table, path, pa.table(data, schema=pa.schema(fields)), **options)


def commit_file(lake, table, path, rows, partition="", **options):
    pq.write_table(rows, path, **options)
    loaded = lake.java(table)
    builder = iceberg(lake.session).DataFiles.builder(loaded.spec()).withFormat("PARQUET")
    builder = builder.withPath(path.as_uri()).withFileSizeInBytes(path.stat().st_size)
    builder = builder.withPartitionPath(partition) if partition else builder
    loaded.newAppend().appendFile(builder.withRecordCount(rows.num_rows).build()).commit()


@pytest.mark.parametrize("what", MISREAD)
@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.SORT])
def test_what_would_be_misread_is_left_alone_and_the_rest_is_rewritten(
    lake, tmp_path, what, strategy
):
    of, kind, value = MISREAD[what]
    lake = replace(lake, engine=RewriteMode.SPARK)
    by = ("id",) if strategy is Strategy.SORT else ()
    table = lake.create(f"id BIGINT, v {of}")
    lake.fill(table, "id", f"cast(null AS {of}) v", files=3)
    good = lake.paths(table)
    for number in range(2):
        add(lake, table, tmp_path / f"{number}.parquet", kind, value)
    odd = lake.paths(table) - good

    outcome = lake.compact(table, strategy, by=by)

    assert "2 files were left alone" in outcome.reason
    assert {left.path for left in outcome.left_alone} == odd <= lake.paths(table)
    # Iceberg sorts a partition as a whole, or leaves it.
    assert (good <= lake.paths(table)) == (strategy is Strategy.SORT)
    again = lake.plan(table, strategy, by=by)
    assert NothingToDo.LEFT_ALONE in {reason.code for reason in again.reasons}
    assert not odd & {file.path for group in again.groups for file in group.files}
    if strategy is Strategy.AUTO:
        assert outcome.status is Status.SUCCEEDED
        assert again.is_empty


@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.SORT])
def test_files_that_hold_other_values_than_their_partition_keep_them(lake, tmp_path, strategy):
    """Spark shows the partition's value, and would write it; others show what the file holds."""
    table = lake.create(by="kind")
    fields = [pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})]
    fields += [pa.field("kind", pa.string(), metadata={"PARQUET:field_id": "2"})]
    for number, kind in enumerate(("inside", "inside", "inside", "right", "right")):
        rows = pa.table([pa.array([number]), pa.array([kind])], schema=pa.schema(fields))
        partition = "kind=right" if kind == "right" else "kind=outside"
        commit_file(lake, table, tmp_path / f"{number}.parquet", rows, partition)
    by = ("id",) if strategy is Strategy.SORT else ()

    outcome = lake.compact(table, strategy, by=by)

    odd = {(tmp_path / f"{number}.parquet").as_uri() for number in range(3)}
    assert outcome.status is Status.SUCCEEDED
    assert "3 files were left alone" in outcome.reason
    assert "the file's column 'kind' is not its partition's value" in outcome.reason
    assert {left.path for left in outcome.left_alone} == odd < lake.paths(table)
    assert len(lake.paths(table)) == 4
    again = lake.plan(table, strategy, by=by)
    assert not odd & {file.path for group in again.groups for file in group.files}
    assert "3 files would be rewritten wrongly" in str(again.reasons)


def test_what_no_engine_takes_does_not_fall_down_to_spark(lake, tmp_path):
    table = lake.create("id BIGINT, v TIMESTAMP_NTZ")
    for number in range(3):
        add(lake, table, tmp_path / f"{number}.parquet", pa.timestamp("ns"), AT)
    before = lake.paths(table)

    outcome = lake.compact(table)

    assert outcome.status is Status.NOTHING_TO_DO
    assert "its column v holds timestamp[ns], and the table has timestamp" in outcome.reason
    assert lake.paths(table) == before
    assert lake.plan(table).is_empty
    assert "3 files would be rewritten wrongly" in lake.plan(table).reason
    # With another schema the files may be read rightly.
    lake.sql(f"ALTER TABLE {table} DROP COLUMN v")
    assert not lake.plan(table).is_empty
    assert lake.compact(table).status is Status.SUCCEEDED


def test_what_an_engine_of_ours_reads_rightly_is_rewritten(lake, tmp_path):
    table = lake.create("id BIGINT, v TIMESTAMP_NTZ")
    for number in range(3):
        add(lake, table, tmp_path / f"{number}.parquet", pa.timestamp("ms"), AT)

    outcome = lake.compact(table)

    assert (outcome.status, outcome.reason) == (Status.SUCCEEDED, "3 files became 1.")
    assert lake.sql(f"SELECT DISTINCT v FROM {table}").collect()[0].v == AT


def test_files_that_spark_itself_wrote_with_old_moments_are_rewritten(lake, tmp_path):
    """INT96, as imported tables have it, is read rightly."""
    lake = replace(lake, engine=RewriteMode.SPARK)
    table = lake.create("id BIGINT, v TIMESTAMP_NTZ")
    old = {"use_deprecated_int96_timestamps": True}
    for number in range(2):
        add(lake, table, tmp_path / f"{number}.parquet", pa.timestamp("ns"), AT, **old)

    outcome = lake.compact(table)

    assert (outcome.status, outcome.reason) == (Status.SUCCEEDED, "2 files became 1.")
    assert lake.sql(f"SELECT DISTINCT v FROM {table}").collect()[0].v == AT


def test_files_are_opened_here_or_in_tasks_with_the_same_answer(lake, tmp_path, monkeypatch):
    table = lake.create("id BIGINT, v TIMESTAMP_NTZ")
    lake.fill(table, "id", "cast(null AS TIMESTAMP_NTZ) v", files=2)
    for number in range(3):
        add(lake, table, tmp_path / f"{number}.parquet", pa.timestamp("ns"), AT)
    engine, paths = lake.app.spark, sorted(lake.paths(table))

    here = engine.misread(table, paths, {})
    monkeypatch.setattr(misread, "MAX_OPENED_HERE", 0)
    in_tasks = engine.misread(table, paths, {})

    assert here == in_tasks
    assert len(here) == 3


@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.SORT])
def test_columns_without_ids_are_not_lost_before_a_mapping_names_them(lake, tmp_path, strategy):
    """Spark finds nothing in such a struct until the table has a mapping; the file has it all."""
    table = lake.create("id BIGINT, v STRUCT<x: BIGINT>")
    for number in range(3):
        rows = pa.table({"id": [number], "v": [{"x": number}]})
        commit_file(lake, table, tmp_path / f"{number}.parquet", rows)
    before, by = lake.paths(table), ("id",) if strategy is Strategy.SORT else ()

    outcome = lake.compact(table, strategy, by=by)

    assert "its column v.x has no field id, and the table no name mapping" in outcome.reason
    assert lake.paths(table) == before
    lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default' = '{MAPPING}')")
    rows = lake.rows(table)
    assert lake.compact(table, strategy, by=by).status is Status.SUCCEEDED
    assert lake.paths(table).isdisjoint(before)
    assert lake.rows(table) == rows
    assert lake.sql(f"SELECT sum(v.x) s FROM {table}").collect()[0].s == 3


def test_a_column_that_readers_find_in_different_ways_is_left_alone(lake, tmp_path):
    """By its name pyiceberg finds it, and Spark does not, since other columns have ids."""
    table = lake.create(properties={"schema.name-mapping.default": KIND_MAPPING})
    fields = [pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})]
    fields.append(pa.field("kind", pa.string()))
    for number in range(3):
        rows = pa.table([[number], ["there"]], schema=pa.schema(fields))
        commit_file(lake, table, tmp_path / f"{number}.parquet", rows)
    before = lake.paths(table)

    outcome = lake.compact(table)

    assert outcome.status is Status.NOTHING_TO_DO
    assert "its column kind has no field id, and others have one" in outcome.reason
    assert lake.paths(table) == before
