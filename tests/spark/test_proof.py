"""An engine that breaks its promise: the commit is found out and taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from neve.model.job import JobState
from neve.model.outcome import Status
from neve.model.policy import RewriteMode
from neve.spark.engine import SparkEngine
from neve.spark.tables import iceberg

pytestmark = pytest.mark.promise(2)


@pytest.fixture
def lake(lake):
    """What these tests break lies between Spark's files and their commit."""
    return replace(lake, engine=RewriteMode.SPARK)


class BrokenEngine(SparkEngine):
    """Commits what `commit` makes of the table instead of a rewrite."""

    def __init__(self, session, commit: Callable) -> None:
        super().__init__(lambda: session)
        self._commit = commit

    def commit_staged(self, table, snapshot_id, staged, properties, undo=None) -> None:
        self._commit(self.session, table, properties)


def break_engine(lake, commit: Callable) -> None:
    lake.app.engine.use(BrokenEngine(lake.session, commit))


def rewrite_as(lake, table, properties, added: list) -> None:
    """Replace every data file by the given ones."""
    loaded = lake.java(table)
    update = loaded.newRewrite().validateFromSnapshot(loaded.currentSnapshot().snapshotId())
    tasks = loaded.newScan().planFiles().iterator()
    while tasks.hasNext():
        update = update.deleteFile(tasks.next().file())
    for file in added:
        update = update.addFile(file)
    for name, value in properties.items():
        update = update.set(name, value)
    update.commit()


def file_of(lake, table, rows: int, partition: str = ""):
    """A real data file with that many rows, not part of the table."""
    other = lake.create(name="other")
    lake.fill(other, files=1, rows=rows)
    loaded = lake.java(table)
    (path,) = lake.paths(other)
    builder = iceberg(lake.session).DataFiles.builder(loaded.spec()).withFormat("PARQUET")
    builder = builder.withInputFile(loaded.io().newInputFile(path)).withRecordCount(rows)
    return (builder.withPartitionPath(partition) if partition else builder).build()


def test_lost_rows_are_found_and_taken_back(lake):
    table = lake.create()
    lake.fill(table)
    before = lake.facts(table)
    rows, file = lake.rows(table), file_of(lake, table, 29)
    break_engine(lake, lambda _, t, properties: rewrite_as(lake, t, properties, [file]))

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert outcome.reason == (
        "Partition (unpartitioned) held 30 rows, 0 of them deleted, and now holds 29. "
        f"The table was rolled back to snapshot {before.snapshot_id}."
    )
    assert (outcome.proof.rows_in, outcome.proof.rows_out) == (30, 29)
    assert lake.facts(table).snapshot_id == before.snapshot_id
    assert lake.paths(table) == {file.path for file in before.data_files}
    assert lake.rows(table) == rows
    assert [job.state for job in lake.app.store.jobs(table)] == [JobState.FAILED]


@pytest.mark.conformance("a writer that loses or invents rows")
def test_rows_that_the_writer_lost_are_never_committed(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    before = lake.facts(table)

    class ForgetfulEngine(SparkEngine):
        def stage(self, *arguments):
            return [replace(files, rows=files.rows - 1) for files in super().stage(*arguments)]

    lake.app.engine.use(ForgetfulEngine(lambda: lake.session))

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert outcome.reason.endswith("has 15 live rows, and its rewritten files 14.")
    assert lake.facts(table).snapshots == before.snapshots
    assert len(lake.app.store.uncommitted_files(table)) == 2


def test_rows_in_the_wrong_partition_are_found(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    rows, file = lake.rows(table), file_of(lake, table, 30, "kind=k0")
    break_engine(lake, lambda _, t, properties: rewrite_as(lake, t, properties, [file]))

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert outcome.reason.startswith(
        "Partition kind=k0 held 15 rows, 0 of them deleted, and now holds 30."
    )
    assert lake.rows(table) == rows


def test_deleted_rows_that_come_back_are_found(lake):
    table = lake.create(version=3, properties={"write.delete.mode": "merge-on-read"})
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id < 5")
    rows, file = lake.rows(table), file_of(lake, table, 30)
    break_engine(lake, lambda _, t, properties: rewrite_as(lake, t, properties, [file]))

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert (outcome.proof.rows_deleted, outcome.proof.rows_out) == (5, 30)
    assert lake.rows(table) == rows


def test_a_bad_commit_below_another_one_is_not_rolled_back(lake):
    """The other writer's rows are worth more than our repair: it is reported instead."""
    table = lake.create()
    lake.fill(table)
    file = file_of(lake, table, 29)

    def commit(_, t, properties):
        rewrite_as(lake, t, properties, [file])
        lake.fill(t, files=1, rows=1, start=100)

    break_engine(lake, commit)

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert outcome.reason.endswith("so it was not rolled back: use neve rollback.")
    assert lake.rows(table)["Row(id=100, kind='k0')"] == 1


def test_an_engine_that_does_nothing_is_believed(lake):
    table = lake.create()
    lake.fill(table)
    break_engine(lake, lambda *_: None)

    outcome = lake.compact(table)

    assert outcome.status is Status.NOTHING_TO_DO
    assert [ref.name for ref in lake.facts(table).refs] == ["main"]


def test_an_engine_that_stops_with_an_unknown_error_is_not_hidden(lake):
    table = lake.create()
    lake.fill(table)

    def commit(*_):
        raise RuntimeError("a bug")

    break_engine(lake, commit)

    with pytest.raises(RuntimeError, match="a bug"):
        lake.compact(table)

    assert len(lake.paths(table)) == 3
