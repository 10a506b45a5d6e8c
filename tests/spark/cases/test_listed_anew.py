"""A source that a writer takes out and adds again, or adds twice, while its rows are rewritten.

Iceberg finds the files that go by their paths. What has the path then is not what was read: its
deletes are gone, its rows have other ids, or count twice. Spark and pyiceberg are the judges.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy, RewriteMode

pytestmark = pytest.mark.promise(1, 3)

#: The engine that is asked for, with the policy under which it takes the files.
ENGINES = {
    "copy": (RewriteMode.COPY, CompactionPolicy(min_row_group_bytes=1)),
    "rewrite": (RewriteMode.REWRITE, CompactionPolicy()),
    "spark": (RewriteMode.SPARK, CompactionPolicy()),
}
MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def take_out_and_add(java, file):
    java.newDelete().deleteFile(file).commit()
    java.newAppend().appendFile(file).commit()


def overwrite_with_itself(java, file):
    java.newOverwrite().deleteFile(file).addFile(file).commit()


def add_as_old_as_it_was(java, file):
    """The same path, size, rows and age: only the snapshot that added it is another one."""
    head = java.currentSnapshot().snapshotId()
    rewrite = java.newRewrite().validateFromSnapshot(head).deleteFile(file).addFile(file)
    rewrite.dataSequenceNumber(1).commit()


def add_twice(java, file):
    java.newFastAppend().appendFile(file).commit()


WAYS = [take_out_and_add, overwrite_with_itself, add_as_old_as_it_was, add_twice]


def file_of(java, kind: str):
    tasks = java.newScan().planFiles().iterator()
    while tasks.hasNext():
        file = tasks.next().file()
        if f"kind={kind}" in file.location():
            return file.copy()
    raise AssertionError(kind)


def by_pyiceberg(lake, table) -> Counter[tuple[object, ...]]:
    found = lake.app.catalogs.load(table).scan().to_arrow()
    return Counter(tuple(row.values()) for row in found.to_pylist())


def by_spark(lake, table) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in lake.sql(f"SELECT * FROM {table}").collect())


def after_the_files(lake, write) -> None:
    """Let a writer in between the new files and their commit, once."""
    engine, waiting = lake.app.spark, [write]

    def then_write(work):
        def hooked(*arguments):
            done = work(*arguments)
            if waiting:
                waiting.pop()()
            return done

        return hooked

    for name in ("run_tasks", "stage"):
        setattr(engine, name, then_write(getattr(engine, name)))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("engine", ENGINES)
def test_its_group_is_out_and_the_others_are_committed(lake, engine, way):
    mode, policy = ENGINES[engine]
    lake = replace(lake, engine=mode)
    table = lake.create(by="kind", properties=MERGE_ON_READ)
    lake.fill(table)
    if engine != "copy":
        # A file that comes back as a younger one has the deleted row again.
        lake.sql(f"DELETE FROM {table} WHERE id IN (1, 2, 3, 4, 5)")
    plan = lake.plan(table, policy=policy)
    assert len(plan.groups) == 2
    seen = []

    def write():
        way(lake.java(table), file_of(lake.java(table), "k1"))
        seen.append(by_spark(lake, table))

    after_the_files(lake, write)

    outcome = lake.app.maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 1), outcome.reason
    assert by_spark(lake, table) == seen[0]
    if way is not add_twice:
        # pyiceberg reads a file that is listed twice as one.
        assert by_pyiceberg(lake, table) == seen[0]
    facts = lake.facts(table)
    kinds = Counter(file.partition[1][0] for file in facts.data_files)
    assert (kinds["k0"], kinds["k1"]) == (1, 4 if way is add_twice else 3)
    # Nothing was taken back: what was committed at first is the head.
    assert facts.snapshots[-1].snapshot_id == facts.snapshot_id


def test_rows_that_were_added_again_keep_their_new_ids(lake):
    table = lake.create(version=3)
    lake.fill(table)
    seen = []

    def write():
        java = lake.java(table)
        tasks = java.newScan().planFiles().iterator()
        take_out_and_add(java, tasks.next().file().copy())
        seen.append(lake.lineage(table))

    after_the_files(lake, write)

    outcome = lake.compact(table)

    assert (outcome.status, outcome.conflicts) == (Status.FAILED, 1), outcome.reason
    assert lake.lineage(table) == seen[0]


def test_a_file_that_is_appended_beside_is_no_reason(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    after_the_files(lake, lambda: lake.fill(table, start=30, rows=4, files=1))

    outcome = lake.compact(table)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason


@pytest.mark.parametrize("engine", ENGINES)
def test_an_overwrite_of_other_files_is_no_reason(lake, engine):
    mode, policy = ENGINES[engine]
    lake = replace(lake, engine=mode)
    table = lake.create(by="kind")
    lake.fill(table)
    plan = lake.plan(table, policy=policy)
    lake.fill(table, "id", "'other' AS kind", start=30, rows=4, files=1)
    after_the_files(lake, lambda: lake.sql(f"DELETE FROM {table} WHERE id = 31"))

    outcome = lake.app.maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason
    assert by_spark(lake, table).total() == 33


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_were_given_ids_meanwhile_keep_them(lake, engine):
    """The first commit after an upgrade to format 3 gives ids to all rows."""
    mode, policy = ENGINES[engine]
    lake = replace(lake, engine=mode)
    table = lake.create()
    lake.fill(table)
    seen = []

    def upgrade():
        lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
        lake.fill(table, start=30, rows=4, files=1)
        seen.append(lake.lineage(table))

    after_the_files(lake, upgrade)

    outcome = lake.compact(table, policy=policy)

    assert (outcome.status, outcome.conflicts) == (Status.FAILED, 1), outcome.reason
    assert lake.lineage(table) == seen[0]
    assert lake.compact(table).status is Status.SUCCEEDED
    assert lake.lineage(table) == seen[0]


def test_rows_that_were_given_ids_between_two_steps_keep_them(lake):
    """A partition with deletes is a step of its own; its base is older than the first commit."""
    table = lake.create(by="kind", properties=MERGE_ON_READ)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id IN (1, 3, 5)")
    plan = lake.plan(table, policy=ENGINES["copy"][1])
    assert {step.engine.value for step in plan.steps} == {"copy", "rewrite"}
    seen, work = [], lake.app.spark.run_tasks

    def upgrade_before_the_second(*arguments):
        if seen:
            lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
            lake.fill(table, start=30, rows=4, files=1)
        seen.append(lake.rows(table) if not seen else lake.lineage(table))
        return work(*arguments)

    lake.app.spark.run_tasks = upgrade_before_the_second

    outcome = lake.app.maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 1), outcome.reason
    assert lake.lineage(table) == seen[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_upgrade_alone_is_no_reason(lake, engine):
    mode, policy = ENGINES[engine]
    lake = replace(lake, engine=mode)
    table = lake.create()
    lake.fill(table)
    before = lake.rows(table)
    after_the_files(
        lake, lambda: lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    )

    outcome = lake.compact(table, policy=policy)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason
    assert lake.rows(table) == before
