"""Writers who commit while a rewrite runs: nothing of theirs is lost or undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from neve.model.errors import PlanStale
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode, Strategy
from neve.spark.engine import SparkEngine
from neve.spark.operations import rewrite_data_files

pytestmark = pytest.mark.promise(3)

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}
BEFORE_THE_REWRITE, BEFORE_THE_COMMIT = "before the rewrite", "before the commit"


@pytest.fixture
def lake(lake):
    """What these tests break lies between Spark's files and their commit."""
    return replace(lake, engine=RewriteMode.SPARK)


@pytest.fixture
def let_in(lake, monkeypatch):
    """Lets another writer commit once, when our plan is made or when our files are written."""

    def let_in(moment: str, write: Callable[[], object]) -> None:
        load_table = rewrite_data_files.load_table
        writes = iter([write])

        def write_once():
            next(writes, lambda: None)()

        def load_then_write(session, table):
            # Iceberg plans and rewrites on the table as it was loaded, and commits on the newest.
            loaded = load_table(session, table)
            write_once()
            return loaded

        class InterruptedEngine(SparkEngine):
            def warm_up(self) -> bool:
                if moment == BEFORE_THE_REWRITE:
                    write_once()
                return super().warm_up()

            def commit_staged(self, *arguments) -> None:
                if moment == BEFORE_THE_COMMIT:
                    write_once()
                super().commit_staged(*arguments)

        lake.app.engine.use(InterruptedEngine(lambda: lake.session))
        if moment == BEFORE_THE_COMMIT:
            monkeypatch.setattr(rewrite_data_files, "load_table", load_then_write)

    return let_in


def compact(lake, table):
    """Plan and run: what writers take is planned again."""
    arguments = RewriteDataFilesArguments(engine=lake.engine)
    return lake.app.maintenance.compact(table, arguments, policy=CompactionPolicy())


def rows_of(*ids: int) -> Counter[str]:
    return Counter(f"Row(id={number}, kind='k{number % 2}')" for number in ids)


def tags_of(lake, table) -> list[str]:
    return [ref.name for ref in lake.facts(table).refs if ref.name != "main"]


@pytest.mark.parametrize(
    ("moment", "version"),
    [(BEFORE_THE_REWRITE, 2), *((BEFORE_THE_COMMIT, version) for version in (1, 2, 3))],
)
def test_an_append_is_kept(lake, let_in, moment, version):
    table = lake.create(by="kind", version=version)
    lake.fill(table)
    let_in(moment, lambda: lake.fill(table, start=30, rows=4, files=1))

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.rows(table) == rows_of(*range(34))


def test_only_planned_files_are_rewritten_beside_an_append(lake, let_in):
    table = lake.create(by="kind")
    lake.fill(table)
    planned = lake.paths(table)
    let_in(BEFORE_THE_COMMIT, lambda: lake.fill(table, start=30, rows=4, files=1))

    outcome = lake.compact(table)

    assert (outcome.proof.rows_in, outcome.proof.rows_out) == (30, 30)
    assert lake.paths(table).isdisjoint(planned)
    assert len(lake.paths(table)) == 4


@pytest.mark.parametrize("version", [2, 3])
def test_a_delete_before_the_rewrite_is_applied(lake, let_in, version):
    table = lake.create(version=version, properties=MERGE_ON_READ)
    lake.fill(table)
    let_in(BEFORE_THE_REWRITE, lambda: lake.sql(f"DELETE FROM {table} WHERE id < 3"))

    outcome = compact(lake, table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert outcome.proof.rows_deleted == 3
    assert lake.rows(table) == rows_of(*range(3, 30))


def test_a_plan_that_stands_alone_is_refused_after_a_delete(lake, let_in):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table)
    let_in(BEFORE_THE_REWRITE, lambda: lake.sql(f"DELETE FROM {table} WHERE id < 3"))

    with pytest.raises(PlanStale, match="has moved on since the plan was made"):
        lake.compact(table)

    assert lake.rows(table) == rows_of(*range(3, 30))
    assert tags_of(lake, table) == []


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("properties", [MERGE_ON_READ, {}], ids=["merge-on-read", "copy-on-write"])
def test_a_delete_before_the_commit_wins(lake, let_in, version, properties):
    table = lake.create(version=version, properties=properties)
    lake.fill(table)
    let_in(BEFORE_THE_COMMIT, lambda: lake.sql(f"DELETE FROM {table} WHERE id < 3"))

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert outcome.reason.startswith(f"Committing to table {table} failed: a writer ")
    assert "came in between and changed partition (unpartitioned)." in outcome.reason
    assert "Generic" not in outcome.reason
    assert lake.rows(table) == rows_of(*range(3, 30))
    assert tags_of(lake, table) == []


def test_after_a_conflict_the_next_run_succeeds(lake, let_in, monkeypatch):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table)
    let_in(BEFORE_THE_COMMIT, lambda: lake.sql(f"DELETE FROM {table} WHERE id < 3"))
    lake.compact(table)
    monkeypatch.undo()

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED
    assert lake.rows(table) == rows_of(*range(3, 30))


@pytest.mark.conformance("an equality delete during a rewrite, and an append")
def test_an_equality_delete_and_an_append_before_the_commit(lake, let_in):
    """With Iceberg's default options the deleted row would come back (apache/iceberg#10312)."""
    table = lake.create()
    lake.fill(table)

    def delete_and_append():
        lake.delete_equal(table, "id", 7)
        lake.fill(table, start=30, rows=1, files=1)

    let_in(BEFORE_THE_COMMIT, delete_and_append)

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert lake.rows(table) == rows_of(*range(7), *range(8, 31))


def test_another_rewrite_of_the_same_files_wins(lake, let_in):
    table = lake.create()
    lake.fill(table)
    call = f"CALL lake.system.rewrite_data_files('{table}', options => map('min-input-files', '2'))"
    let_in(BEFORE_THE_COMMIT, lambda: lake.sql(call))

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert len(lake.paths(table)) == 1
    assert lake.rows(table) == rows_of(*range(30))
    assert tags_of(lake, table) == []


@pytest.mark.parametrize("moment", [BEFORE_THE_REWRITE, BEFORE_THE_COMMIT])
@pytest.mark.parametrize("change", ["ADD COLUMN extra INT", "ADD PARTITION FIELD kind"])
def test_a_change_of_schema_or_spec_is_kept(lake, let_in, moment, change):
    table = lake.create()
    lake.fill(table)
    let_in(moment, lambda: lake.sql(f"ALTER TABLE {table} {change}"))

    outcome = compact(lake, table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.rows(table, "id, kind") == rows_of(*range(30))
    assert len(lake.facts(table).columns) == (3 if "COLUMN" in change else 2)
    assert len(lake.facts(table).specs) == (1 if "COLUMN" in change else 2)


@pytest.mark.parametrize("strategy", [Strategy.SORT, Strategy.ZORDER])
def test_an_append_beside_a_sort_is_kept(lake, let_in, strategy):
    table = lake.create()
    lake.fill(table)
    let_in(BEFORE_THE_COMMIT, lambda: lake.fill(table, start=30, rows=4, files=1))

    outcome = lake.compact(table, strategy, by=("id",))

    assert outcome.reason == "3 files became 1."
    assert lake.rows(table) == rows_of(*range(34))


@pytest.mark.promise(1)
def test_rows_that_are_given_ids_beside_a_sort_keep_them(lake, let_in):
    table = lake.create()
    lake.fill(table)
    seen = []

    def upgrade():
        lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
        lake.fill(table, start=30, rows=4, files=1)
        seen.append(lake.lineage(table))

    let_in(BEFORE_THE_COMMIT, upgrade)

    outcome = lake.compact(table, Strategy.SORT, by=("id",))

    assert outcome.status is Status.FAILED
    assert "rolled back" in outcome.reason
    assert lake.lineage(table) == seen[0]
