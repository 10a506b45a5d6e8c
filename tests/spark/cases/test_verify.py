"""What is verified before a commit: by every engine, and what happens where an engine is wrong."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from tests.spark.cases.test_row_oracle import COLUMNS, NAMES, ROWS

from neve.model.outcome import Status
from neve.model.policy import RewriteMode, Strategy, Verify
from neve.rows.evolve import evolve
from neve.rows.fingerprint import Fingerprint, fingerprint
from neve.spark.engine import BorrowedEngine, SparkEngine
from neve.spark.rewrite import stage
from neve.spark.rewrite.read_back import fingerprint_of, schema_of
from neve.spark.rewrite.rows.provider import LiveColumns
from neve.spark.rewrite.task import run_task
from neve.spark.tables import spark_name
from neve.storage.access import Storage

pytestmark = pytest.mark.promise(2)

MERGE_ON_READ = {
    f"write.{operation}.mode": "merge-on-read" for operation in ("delete", "update", "merge")
}


@pytest.fixture
def lake(lake):
    """By Iceberg's own reader and writer, read back."""
    return replace(lake, engine=RewriteMode.SPARK, verify=Verify.FULL)


def fill_all_types(lake, table, files=2):
    frame = lake.session.range(0, 30, 1, files).selectExpr(*ROWS)
    frame.toDF(*NAMES).writeTo(spark_name(table)).append()


@pytest.mark.parametrize("version", [2, 3])
def test_what_iceberg_rewrites_is_proven_by_the_values_of_its_rows(lake, version):
    table = lake.create(COLUMNS, version=version, properties=MERGE_ON_READ)
    fill_all_types(lake, table, files=3)
    lake.sql(f"DELETE FROM {table} WHERE id % 7 = 0")
    lake.sql(f"UPDATE {table} SET small = 5 WHERE id % 9 = 1")
    look = lake.lineage if version == 3 else lake.rows
    before = look(table)

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert outcome.proof.level == "rows"
    assert look(table) == before


def test_spark_finds_the_fingerprint_that_arrow_finds(lake):
    table = lake.create(f"{COLUMNS}, who STRING")
    fill = lake.session.range(0, 30, 1, 2).selectExpr(*ROWS, "string(id)")
    fill.toDF(*NAMES, "who").writeTo(spark_name(table)).append()
    schema = schema_of(lake.session, lake.java(table))
    files = [pq.ParquetFile(path.removeprefix("file:")).read() for path in lake.paths(table)]

    found = fingerprint_of(lake.session, lake.session.table(spark_name(table))._jdf, schema)

    assert found == sum((fingerprint(evolve(f, schema), schema) for f in files), Fingerprint())
    assert found.rows == 30


WRONG = {
    "loses a row": lambda frame: frame.filter("id <> 7"),
    "changes a value": lambda frame: frame.withColumn(
        "kind", F.expr("if(id = 7, 'other', kind)")._jc
    ),
    "writes a null": lambda frame: frame.withColumn("kind", F.expr("if(id = 7, null, kind)")._jc),
    "writes a row twice and loses one": lambda frame: frame.withColumn(
        "id", F.expr("if(id = 7, 6L, id)")._jc
    ),
    "swaps values of rows": lambda frame: frame.withColumn(
        "kind", F.expr("if(id < 2, concat('k', 1 - id), kind)")._jc
    ),
}


@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize("by", ["", "bucket(2, id)"])
def test_a_wrong_engine_is_found_out_before_the_commit(lake, monkeypatch, how, by):
    table = lake.create(by=by)
    lake.fill(table, files=3)
    before, rows = lake.facts(table), lake.rows(table)
    right = stage._Stager._rows
    monkeypatch.setattr(stage._Stager, "_rows", lambda *all_: WRONG[how](right(*all_)))

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert "has rows" in outcome.reason or "live rows" in outcome.reason
    assert lake.facts(table).snapshots == before.snapshots
    assert lake.rows(table) == rows
    assert lake.app.store.uncommitted_files(table)


def test_without_being_asked_iceberg_is_believed_in_what_it_counts(lake, monkeypatch):
    """The check above finds out what nothing else does."""
    lake = replace(lake, verify=None)
    table = lake.create()
    lake.fill(table, files=3)
    right = stage._Stager._rows
    monkeypatch.setattr(
        stage._Stager, "_rows", lambda *all_: WRONG["changes a value"](right(*all_))
    )

    outcome = lake.compact(table)

    assert (outcome.status, outcome.proof.level) == (Status.SUCCEEDED, "metadata")


def test_row_ids_that_nobody_has_given_yet_are_no_difference(lake):
    table = lake.create()
    lake.fill(table, files=2)
    lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert (outcome.status, outcome.proof.level) == (Status.SUCCEEDED, "rows"), outcome.reason
    assert lake.rows(table) == before


def test_a_wrong_row_id_is_found_out(lake, monkeypatch):
    table = lake.create(version=3)
    lake.fill(table, files=2)
    right = stage._Stager._rows

    def renumbered(*all_):
        return right(*all_).withColumn("_row_id", F.expr("if(id = 7, 1000L, _row_id)")._jc)

    monkeypatch.setattr(stage._Stager, "_rows", renumbered)

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert "has rows" in outcome.reason


@pytest.mark.parametrize("strategy", [Strategy.SORT, Strategy.ZORDER])
def test_what_iceberg_commits_itself_is_read_afterwards_and_taken_back(lake, strategy):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, files=3)
    lake.sql(f"DELETE FROM {table} WHERE id = 11")
    rows = lake.rows(table)
    by = ("kind",) if strategy is Strategy.SORT else ("kind", "id")

    class Changing(SparkEngine):
        def fingerprint(self, table, snapshot_id, paths):
            told = super().fingerprint(table, snapshot_id, paths)
            return f"{told}!" if len(paths) == 1 else told

    lake.app.engine.use(Changing(lambda: lake.session))
    wrong = lake.compact(table, strategy, by=by)
    assert wrong.status is Status.FAILED
    assert "hold rows 29:" in wrong.reason
    assert len(lake.paths(table)) == 3

    lake.app.engine.use(BorrowedEngine(lake.session))
    right = lake.compact(table, strategy, by=by)
    assert (right.status, right.proof.level) == (Status.SUCCEEDED, "rows"), right.reason
    assert lake.rows(table) == rows


class OwnProcess(SparkEngine):
    """Runs tasks here, where a test can make what they write wrong."""

    def run_tasks(self, table, tasks, wanted, reporter):
        return [run_task(task, wanted, Storage(), 0) for task in tasks]


def wrongly(table):
    """The same columns with the value of a row changed."""
    at = table.column_names.index("kind") if "kind" in table.column_names else 0
    values = table.column(at).to_pylist()
    values[0] = values[-1] if values[0] != values[-1] else None
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.types[at]))


@pytest.mark.parametrize("verify", [None, *Verify])
def test_a_wrong_engine_of_ours_is_found_out_unless_nobody_wants_to_know(lake, monkeypatch, verify):
    lake = replace(lake, engine=RewriteMode.AUTO, verify=verify)
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, files=3)
    # What has a deleted row is encoded again.
    lake.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
    rows, right = lake.rows(table), LiveColumns.columns
    lake.app.engine.use(OwnProcess(lambda: lake.session))
    monkeypatch.setattr(LiveColumns, "columns", lambda *all_: wrongly(right(*all_)))

    outcome = lake.compact(table)

    if verify in (None, Verify.FULL):
        assert outcome.status is Status.FAILED
        assert "has rows" in outcome.reason
        assert lake.rows(table) == rows
    else:
        assert outcome.status is Status.SUCCEEDED
        assert outcome.proof.level == {"metadata": "metadata", "off": "counts"}[verify]
        assert lake.rows(table) != rows


@pytest.mark.parametrize("engine", [RewriteMode.AUTO, RewriteMode.SPARK])
@pytest.mark.parametrize("verify", Verify)
def test_rows_are_counted_whatever_is_verified(lake, engine, verify):
    lake = replace(lake, engine=engine, verify=verify)
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, files=3)
    lake.sql(f"DELETE FROM {table} WHERE id IN (3, 4)")
    rows = lake.rows(table)

    outcome = lake.compact(table)

    level, by = {
        Verify.FULL: ("rows", "scan"),
        Verify.METADATA: ("metadata", "scan"),
        Verify.OFF: ("counts", "rewrite"),
    }[verify]
    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert (outcome.proof.level, outcome.proof.deletes_counted_by) == (level, by)
    assert (outcome.proof.rows_deleted, outcome.proof.rows_out) == (2, 28)
    assert lake.rows(table) == rows
    log = lake.sql(f"SELECT details FROM {table.sibling('_maintenance_log')}").collect()
    assert "Verified by" in log[-1].details


def test_columns_of_any_name_and_uuids_are_compared(lake):
    table = lake.create("`a.b` BIGINT, `with space` STRING, `t``ick` STRUCT<`x.y`: INT>")
    java = lake.session._jvm.org.apache.iceberg.types.Types
    lake.java(table).updateSchema().addColumn("who", java.UUIDType.get()).commit()
    lake.sql(f"REFRESH TABLE {table}")
    values = "id, string(id), named_struct('x.y', int(id)), if(id = 1, null, uuid())"
    lake.sql(f"INSERT INTO {table} SELECT {values} FROM range(0, 6, 1, 3)")
    rows = lake.rows(table)

    outcome = lake.compact(table)

    assert (outcome.status, outcome.proof.level) == (Status.SUCCEEDED, "rows"), outcome.reason
    assert lake.rows(table) == rows
    schema = schema_of(lake.session, lake.java(table))
    (path,) = lake.paths(table)
    file = evolve(pq.ParquetFile(path.removeprefix("file:")).read(), schema)
    frame = lake.session.table(spark_name(table))._jdf
    assert fingerprint_of(lake.session, frame, schema) == fingerprint(file, schema)
