"""Planning after a run finds nothing to do, and says why."""

from __future__ import annotations

import pytest

from neve.model.outcome import Status
from neve.model.plan import NothingToDo
from neve.model.policy import CompactionPolicy, Strategy

pytestmark = pytest.mark.promise(4)

#: Strategy, its columns, and the reason of the plan that follows.
RUNS = [
    (Strategy.SMALL_FILES, (), NothingToDo.TOO_FEW_FILES),
    (Strategy.TIME_SERIES, (), NothingToDo.TOO_FEW_FILES),
    (Strategy.DELETE_FILES, (), NothingToDo.NO_DELETES),
    (Strategy.AUTO, (), NothingToDo.TOO_FEW_FILES),
    (Strategy.SORT, ("id",), NothingToDo.ALREADY_SORTED),
    (Strategy.ZORDER, ("id", "x"), NothingToDo.ALREADY_SORTED),
]
QUIET_AT_ONCE = CompactionPolicy(quiet_seconds=0)


def ill_table(lake, version):
    """Two partitions of three files, each with a deleted row."""
    table = lake.create(
        "id BIGINT, kind STRING, x DOUBLE",
        by="kind",
        version=version,
        properties={"write.delete.mode": "merge-on-read"},
    )
    lake.fill(table, "id", "concat('k', k) kind", "rand(1) x")
    lake.sql(f"DELETE FROM {table} WHERE id IN (0, 1, 10, 11, 20, 21)")
    return table


@pytest.mark.conformance("a plan is made once and is empty afterwards")
@pytest.mark.parametrize(
    ("strategy", "by", "reason", "version"), [*((*run, 2) for run in RUNS), (*RUNS[2], 3)]
)
def test_a_second_plan_is_empty(lake, strategy, by, reason, version):
    table = ill_table(lake, version)
    before = lake.rows(table)

    outcome = lake.compact(table, strategy, by=by, policy=QUIET_AT_ONCE)
    again = lake.plan(table, strategy, by=by, policy=QUIET_AT_ONCE)

    assert outcome.status is Status.SUCCEEDED
    assert len(lake.paths(table)) == 2
    assert lake.rows(table) == before
    assert again.is_empty
    assert again.reasons[0].code is reason


def test_applying_an_empty_plan_commits_nothing(lake):
    table = lake.create()
    lake.fill(table)
    lake.compact(table)
    before = lake.facts(table)

    outcome = lake.compact(table)

    after = lake.facts(table)
    assert outcome.status is Status.NOTHING_TO_DO
    assert outcome.reason == "Partition (unpartitioned) has 1 small file; 2 are needed to merge."
    assert (after.snapshots, after.refs) == (before.snapshots, before.refs)


def test_outputs_below_the_target_are_not_planned_again(lake):
    table = lake.create()
    lake.fill(table, "id", "sha2(string(id), 512) AS kind", files=8, rows=800)
    policy = CompactionPolicy(target_file_size_bytes=30_000)

    outcome = lake.compact(table, Strategy.SMALL_FILES, policy=policy)

    assert outcome.status is Status.SUCCEEDED
    assert 1 < len(lake.paths(table)) < 8
    assert all(file.size_bytes < 30_000 for file in lake.facts(table).data_files)
    assert lake.plan(table, Strategy.SMALL_FILES, policy=policy).is_empty


def test_time_series_waits_until_a_partition_is_quiet(lake):
    table = lake.create()
    lake.fill(table)

    plan = lake.plan(table, Strategy.TIME_SERIES, policy=CompactionPolicy(quiet_seconds=3600))

    assert plan.is_empty
    assert plan.reasons[0].code is NothingToDo.TOO_YOUNG


def test_a_fresh_file_is_sorted_in_the_next_run(lake):
    table = lake.create()
    lake.fill(table)
    lake.compact(table, Strategy.SORT, by=("id",))
    lake.fill(table, files=1, start=30)

    outcome = lake.compact(table, Strategy.SORT, by=("id",))

    assert outcome.reason == "2 files became 1."
    assert lake.plan(table, Strategy.SORT, by=("id",)).is_empty


@pytest.mark.conformance("sort by columns")
def test_sorted_rows_lie_in_order(lake):
    table = lake.create()
    lake.fill(table, "29 - id AS id", "concat('k', k) kind")

    lake.compact(table, Strategy.SORT, by=("kind", "id"))

    rows = lake.session.table(str(table)).collect()
    assert rows == sorted(rows, key=lambda row: (row["kind"], row["id"]))


@pytest.mark.conformance("sort by the table's order")
def test_a_sort_order_of_the_table_needs_no_columns(lake):
    table = lake.create()
    lake.fill(table)
    lake.sql(f"ALTER TABLE {table} WRITE LOCALLY ORDERED BY id")

    outcome = lake.compact(table, Strategy.SORT)

    assert outcome.reason == "3 files became 1."
    assert lake.head(table).summary["neve.layout"] == "sort(id)"
    assert lake.plan(table, Strategy.SORT).is_empty
