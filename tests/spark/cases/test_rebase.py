"""Deletes that land while files are copied follow their rows; what cannot follow is left out.

Every case is judged by two readers that know nothing of Neve: Spark, and pyiceberg or, for equality
deletes, which pyiceberg does not read, Iceberg's own reader without Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from neve.model.facts import REBASED_FROM_PROPERTY, DeleteKind
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.planning import refusals
from neve.service.operations.rollback import RollbackTarget
from neve.spark.tables import iceberg
from neve.testing.operations import roll_back

pytestmark = pytest.mark.promise(1, 3)

COPY = CompactionPolicy(min_row_group_bytes=1)
MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
#: How a writer cuts its delete files.
GRANULARITIES = {
    name: {**MERGE_ON_READ, "write.delete.granularity": name} for name in ("file", "partition")
}
Rows = Counter[tuple[object, ...]]


@pytest.fixture(params=[*GRANULARITIES, "vectors"])
def table(lake, request, monkeypatch):
    """Three files of ten rows, with a writer's ways of deleting rows from them."""
    properties = GRANULARITIES.get(request.param, MERGE_ON_READ)
    table = lake.create(version=3 if request.param == "vectors" else 2, properties=properties)
    # Copies renumber rows, so that tables of format v3 are not copied. Here rows alone matter.
    monkeypatch.setattr(refusals, "_table_refusal", lambda *_: None, raising=False)
    lake.fill(table)
    return table


def after_the_files(lake, *actions: Callable[[], object]) -> None:
    """Let writers in: one between the files and the commit, one more before every further try."""
    engine, waiting = lake.app.spark, list(actions)

    def then_write(work):
        def hooked(*arguments):
            done = work(*arguments)
            if waiting:
                waiting.pop(0)()
            return done

        return hooked

    for name in ("run_tasks", "stage", "move_deletes"):
        setattr(engine, name, then_write(getattr(engine, name)))


def by_spark(lake, table) -> Rows:
    return Counter(tuple(row) for row in lake.sql(f"SELECT * FROM {table}").collect())


def by_pyiceberg(lake, table) -> Rows:
    found = lake.app.catalogs.load(table).scan().to_arrow()
    return Counter(tuple(row.values()) for row in found.to_pylist())


def by_iceberg(lake, table) -> Rows:
    loaded = lake.java(table)
    # It adds the position where there are position deletes, behind the columns of the table.
    columns = range(loaded.schema().columns().size())
    found, records = Counter(), iceberg(lake.session).data.IcebergGenerics.read(loaded).build()
    rows = records.iterator()
    while rows.hasNext():
        record = rows.next()
        found[tuple(record.get(number) for number in columns)] += 1
    return found


def rows_but(is_gone: Callable[[int], bool], end: int = 30) -> Rows:
    return Counter((n, f"k{n % 2}") for n in range(end) if not is_gone(n))


def delete(lake, table, condition: str) -> Callable[[], object]:
    return lambda: lake.sql(f"DELETE FROM {table} WHERE {condition}")


def check(lake, table, outcome, expected: Rows, other=by_pyiceberg) -> None:
    """The run got through at the first go, and both readers see what the writers left."""
    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason
    assert REBASED_FROM_PROPERTY in lake.head(table).summary
    assert by_spark(lake, table) == expected
    assert other(lake, table) == expected


@pytest.mark.conformance("a new delete of a source", engines=("copy",))
@pytest.mark.parametrize(
    ("condition", "is_gone"),
    [
        ("id = 0", lambda n: n == 0),
        ("id % 4 = 1", lambda n: n % 4 == 1),
        # All rows of the second file, and none of the others.
        ("id % 30 BETWEEN 10 AND 19", lambda n: 10 <= n < 20),
        # All but one of all rows.
        ("id % 30 <> 17", lambda n: n != 17),
    ],
)
def test_a_delete_follows_its_rows(lake, table, condition, is_gone):
    after_the_files(lake, delete(lake, table, condition))

    outcome = lake.compact(table, policy=COPY)

    check(lake, table, outcome, rows_but(is_gone))
    assert len(lake.paths(table)) == 1
    assert "those stay deleted in the new files" in outcome.reason
    gone = sum(map(is_gone, range(30)))
    assert (outcome.proof.rows_in, outcome.proof.rows_deleted) == (30, gone)


@pytest.mark.conformance("failure leaves files to the sweep", engines=("copy",))
def test_several_writers_in_a_row_are_all_followed(lake, table):
    after_the_files(
        lake,
        delete(lake, table, "id % 10 = 3"),
        delete(lake, table, "id % 10 = 4"),
        lambda: lake.sql(f"INSERT INTO {table} VALUES (30, 'k0'), (31, 'k1')"),
        delete(lake, table, "id IN (5, 30)"),
    )

    outcome = lake.compact(table, policy=COPY)

    gone = {3, 4, 13, 14, 23, 24, 5, 30}
    check(lake, table, outcome, rows_but(lambda n: n in gone, 32))
    facts = lake.facts(table)
    live = {file.path for file in (*facts.data_files, *facts.delete_files)}
    # Delete files of tries that came to nothing are left to the sweep of orphans.
    left = lake.app.store.uncommitted_files(table)
    assert left
    assert live.isdisjoint(left)


def test_deletes_of_other_files_stay(lake, table):
    plan = lake.plan(table, policy=COPY)
    lake.fill(table, start=30, rows=10, files=1)
    (other,) = lake.paths(table) - {f.path for group in plan.groups for f in group.files}
    after_the_files(lake, delete(lake, table, "id IN (2, 12, 31, 39)"))

    outcome = lake.app.maintenance.apply(plan)

    check(lake, table, outcome, rows_but(lambda n: n in (2, 12, 31, 39), 40))
    assert other in lake.paths(table)


def test_an_update_is_a_delete_and_an_append(lake, table):
    after_the_files(lake, lambda: lake.sql(f"UPDATE {table} SET kind = 'new' WHERE id % 9 = 2"))

    outcome = lake.compact(table, policy=COPY)

    expected = rows_but(lambda n: n % 9 == 2) + Counter((n, "new") for n in (2, 11, 20, 29))
    check(lake, table, outcome, expected)


def test_delete_files_that_others_rewrote_meanwhile_are_followed(lake, table):
    call = f"CALL lake.system.rewrite_position_delete_files('{table}', map('rewrite-all', 'true'))"

    def delete_twice_and_tidy():
        delete(lake, table, "id % 10 = 1")()
        delete(lake, table, "id % 10 = 2")()
        lake.sql(call)

    after_the_files(lake, delete_twice_and_tidy)

    check(lake, table, lake.compact(table, policy=COPY), rows_but(lambda n: n % 10 in (1, 2)))


@pytest.mark.parametrize("change", ["ADD COLUMN extra INT", "ADD PARTITION FIELD kind"])
def test_a_change_of_schema_or_spec_beside_a_delete(lake, table, change):
    def write():
        lake.sql(f"ALTER TABLE {table} {change}")
        delete(lake, table, "id % 4 = 1")()

    after_the_files(lake, write)

    outcome = lake.compact(table, policy=COPY)

    expected = rows_but(lambda n: n % 4 == 1)
    if "COLUMN" in change:
        expected = Counter((*row, None) for row in expected.elements())
    check(lake, table, outcome, expected)


def test_undoing_goes_back_to_the_head_that_was_committed_on(lake, table):
    after_the_files(lake, delete(lake, table, "id % 4 = 1"))
    outcome = lake.compact(table, policy=COPY)
    head = lake.head(table)

    target = RollbackTarget(job_id=outcome.job_id)
    undone = roll_back(lake.app.maintenance, table, target, undo_window_seconds=86400)

    assert undone.status is Status.SUCCEEDED
    assert lake.head(table).snapshot_id == head.parent_id
    assert by_spark(lake, table) == by_pyiceberg(lake, table) == rows_but(lambda n: n % 4 == 1)


def test_the_next_run_applies_what_was_carried_over(lake, table):
    after_the_files(lake, delete(lake, table, "id % 4 = 1"))
    lake.compact(table, policy=COPY)
    lake.fill(table, start=30, rows=10, files=2)

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert by_spark(lake, table) == by_pyiceberg(lake, table)
    assert by_spark(lake, table) == rows_but(lambda n: n < 30 and n % 4 == 1, 40)


@pytest.mark.conformance("an equality delete during a rewrite, and an append", engines=("copy",))
@pytest.mark.parametrize("appended", [False, True], ids=["alone", "and a younger file"])
@pytest.mark.parametrize("version", [2, 3])
def test_an_equality_delete_goes_on_applying(lake, monkeypatch, version, appended):
    """Iceberg drops a delete that is older than all files that stay (apache/iceberg#10312)."""
    monkeypatch.setattr(refusals, "_table_refusal", lambda *_: None, raising=False)
    table = lake.create(version=version, properties=MERGE_ON_READ)
    lake.fill(table)

    def write():
        lake.delete_equal(table, "id", 7, 13, 30)
        if appended:
            lake.fill(table, start=30, rows=2, files=1)

    after_the_files(lake, write)

    outcome = lake.compact(table, policy=COPY)

    # The younger file has a row of the same key, which the delete must not take.
    expected = rows_but(lambda n: n in (7, 13), 32 if appended else 30)
    check(lake, table, outcome, expected, other=by_iceberg)
    lake.fill(table, start=40, rows=1, files=1)
    assert by_spark(lake, table) == by_iceberg(lake, table) == expected + Counter([(40, "k0")])


def test_equality_deletes_of_a_partition_leave_others_alone(lake):
    table = lake.create(by="kind", properties=MERGE_ON_READ)
    lake.fill(table, files=2)

    def write():
        lake.delete_equal(table, "id", 5, 6, partition="kind=k1")
        lake.fill(table, start=5, rows=2, files=1)

    after_the_files(lake, write)

    outcome = lake.compact(table, policy=COPY)

    expected = rows_but(lambda n: n == 5) + Counter([(5, "k1"), (6, "k0")])
    check(lake, table, outcome, expected, other=by_iceberg)


@pytest.mark.conformance("sequence numbers of new files", engines=("copy",))
def test_a_row_that_was_written_again_is_not_taken_by_an_older_delete(lake):
    """The new file holds rows that are older than a delete and such that are younger."""
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table)
    lake.delete_equal(table, "id", 4, 5)
    lake.fill(table, start=5, rows=1, files=1)
    after_the_files(lake, lambda: lake.delete_equal(table, "id", 7))
    expected = rows_but(lambda n: n in (4, 7))

    lake.app.maintenance.compact(table, RewriteDataFilesArguments(), policy=COPY)

    assert by_spark(lake, table) == by_iceberg(lake, table) == expected


def test_equality_and_position_deletes_together(lake):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table)

    def write():
        lake.delete_equal(table, "id", 7)
        delete(lake, table, "id % 10 = 3")()
        lake.fill(table, "cast(7 AS bigint) AS id", "'k1' AS kind", rows=1, files=1)

    after_the_files(lake, write, delete(lake, table, "id % 10 = 8"))

    outcome = lake.compact(table, policy=COPY)

    check(lake, table, outcome, rows_but(lambda n: n % 10 in (3, 8)), other=by_iceberg)


TAKES_A_SOURCE = {
    "overwritten": "DELETE FROM {t} WHERE id = 3",
    "removed": "DELETE FROM {t} WHERE kind = 'k1' AND id < 100",
    "compacted": "CALL lake.system.rewrite_data_files(table => '{t}', "
    "where => 'kind = \"k1\"', options => map('min-input-files', '2'))",
}


@pytest.mark.conformance("a source is gone", engines=("copy",))
@pytest.mark.parametrize("how", TAKES_A_SOURCE)
def test_a_source_that_is_gone_takes_its_group_out_and_the_others_follow(lake, how):
    table = lake.create(by="kind", properties=GRANULARITIES["partition"])
    lake.fill(table)
    plan = lake.plan(table, policy=COPY)

    def write():
        delete(lake, table, "id = 4")()
        lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')")
        lake.sql(TAKES_A_SOURCE[how].format(t=table))

    after_the_files(lake, write)

    outcome = lake.app.maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts, outcome.engines["copy"]) == (Status.SUCCEEDED, 1, 1)
    gone = {"overwritten": {3, 4}, "removed": {4, *range(1, 30, 2)}, "compacted": {4}}[how]
    assert by_spark(lake, table) == by_pyiceberg(lake, table) == rows_but(lambda n: n in gone)
    assert len(lake.app.store.uncommitted_files(table)) == 1


@pytest.mark.conformance("sequence numbers of new files", engines=("copy",))
def test_what_is_written_again_is_as_iceberg_would_have_it(lake):
    """The rest of a delete file keeps its age, and what follows rows is of the commit's own."""
    table = lake.create(properties=GRANULARITIES["partition"])
    lake.fill(table)
    plan = lake.plan(table, policy=COPY)
    lake.fill(table, start=30, rows=10, files=1)
    (other,) = lake.paths(table) - {f.path for group in plan.groups for f in group.files}
    after_the_files(lake, delete(lake, table, "id IN (2, 31)"))

    lake.app.maintenance.apply(plan)

    facts = lake.facts(table)
    (new,) = {file.path for file in facts.data_files} - {other}
    numbers = {d.referenced_path: d.data_sequence_number for d in facts.delete_files}
    # Two appends, the delete, and the commit.
    assert numbers == {other: 3, new: 4}
    assert {d.kind for d in facts.delete_files} == {DeleteKind.POSITION}
    columns = "content, file_format, record_count, file_path, file_size_in_bytes, readable_metrics"
    for row in lake.sql(f"SELECT {columns} FROM {table}.delete_files").collect():
        assert (row["content"], row["file_format"], row["record_count"]) == (1, "PARQUET", 1)
