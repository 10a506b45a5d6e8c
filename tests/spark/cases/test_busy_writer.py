"""A table under a busy writer: groups that it touches are planned again, the others go through."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode, Strategy
from neve.spark.engine import SparkEngine
from neve.spark.functions import table_cache
from neve.spark.operations import rewrite_data_files
from neve.spark.rewrite import stage
from neve.spark.rewrite.count import RowCount

pytestmark = pytest.mark.promise(3, 7)

MERGE_ON_READ = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
}
PHASES = ("before the last look", "before the rewrite", "before the commit")
CONFLICTING = ("before the rewrite", "before the commit")


class Interrupted(SparkEngine):
    """Lets a writer in at one phase of the first rewrite."""

    def __init__(self, session, phase, write):
        super().__init__(lambda: session)
        self.phase, self.writes = phase, [write]

    def at(self, phase):
        if phase == self.phase and self.writes:
            self.writes.pop()()

    def warm_up(self):
        self.at("before the last look")
        return super().warm_up()

    def stage(self, *arguments):
        self.at("before the rewrite")
        return super().stage(*arguments)

    def commit_staged(self, *arguments):
        self.at("before the commit")
        super().commit_staged(*arguments)


@pytest.fixture
def busy(lake):
    """Compact a table of two partitions while a writer commits; tells the rows that must be."""

    def run(phase, write, *, version=2, **request):
        table = lake.create(by="kind", version=version, properties=MERGE_ON_READ)
        lake.fill(table, rows=20)
        lake.fill(table, rows=20, start=20)
        seen = []

        def write_and_look():
            write(lake, table)
            seen.append(lake.lineage(table) if version == 3 else lake.rows(table))

        lake.app.engine.use(Interrupted(lake.session, phase, write_and_look))
        asked = RewriteDataFilesArguments(**{"engine": RewriteMode.SPARK, **request})
        outcome = lake.app.maintenance.compact(table, asked, policy=CompactionPolicy())
        return table, outcome, seen[0]

    return run


def append(lake, table):
    lake.fill(table, start=40, rows=4, files=1)


def delete(lake, table):
    lake.sql(f"DELETE FROM {table} WHERE id = 4")


def update(lake, table):
    lake.sql(f"UPDATE {table} SET id = id + 1000 WHERE id = 6")


def overwrite(lake, table):
    lake.sql(f"INSERT OVERWRITE {table} PARTITION (kind = 'k0') SELECT id FROM range(500, 505)")


def merge(lake, table):
    lake.sql(
        f"MERGE INTO {table} t USING (SELECT 8L AS id, 'k0' AS kind) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET t.id = 888"
    )


def equality_delete(lake, table):
    lake.delete_equal(table, "id", 4, partition="kind=k0")


def rewrite(lake, table):
    lake.sql(
        f"CALL lake.system.rewrite_data_files(table => '{table}', "
        "where => 'kind = \"k0\"', options => map('min-input-files', '2'))"
    )


def files_by_partition(lake, table):
    return Counter(file.partition[1][0] for file in lake.facts(table).data_files)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("write", [append, delete, update, overwrite, merge, equality_delete])
def test_a_writer_costs_its_groups_and_no_row(lake, busy, phase, write):
    table, outcome, rows = busy(phase, write)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason
    assert lake.rows(table) == rows
    if write is not equality_delete:  # which pyiceberg does not read
        found = lake.app.catalogs.load(table).scan().to_arrow()["id"].to_pylist()
        assert Counter(f"Row(id={id}" for id in found) == Counter(
            row.partition(",")[0] for row in rows.elements()
        )
    # Nobody touched the other partition, so it went with the first commit.
    assert files_by_partition(lake, table)["k1"] == (2 if write is append else 1)


@pytest.mark.conformance("several groups in several commits", engines=("spark",))
@pytest.mark.parametrize("phase", CONFLICTING)
def test_the_innocent_are_committed_and_the_guilty_planned_again(lake, busy, phase):
    table, outcome, rows = busy(phase, delete)

    ours = [s for s in lake.facts(table).ancestry() if s.job_id == outcome.job_id]
    assert "1 group was changed by writers meanwhile and planned again." in outcome.reason
    # As one reads the log: first the other group, then the one that the writer had touched.
    assert [s.summary["deleted-data-files"] for s in reversed(ours)] == ["6", "6"]
    assert [s.summary["total-data-files"] for s in ours] == ["2", "7"]
    assert len(lake.app.store.uncommitted_files(table)) == 1
    assert lake.rows(table) == rows


@pytest.mark.conformance(
    "a vector goes with its file", "row ids stay, partitioned", engines=("spark",)
)
@pytest.mark.parametrize("phase", CONFLICTING)
@pytest.mark.parametrize("write", [append, delete, update])
def test_rows_keep_their_ids_beside_a_writer(lake, busy, phase, write):
    table, outcome, lineage = busy(phase, write, version=3)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.lineage(table) == lineage
    # A vector goes with the file that it spoke of.
    paths = lake.paths(table)
    assert {d.referenced_path for d in lake.facts(table).delete_files} <= paths


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("change", ["ADD COLUMN extra INT", "DROP PARTITION FIELD kind"])
def test_a_change_of_schema_or_spec_meanwhile_changes_no_row(lake, busy, phase, change):
    table, outcome, rows = busy(phase, lambda _, t: lake.sql(f"ALTER TABLE {t} {change}"))

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.rows(table) == rows


@pytest.mark.parametrize("phase", PHASES)
def test_a_rollback_by_others_is_not_undone(lake, busy, phase):
    def roll_back(_, table):
        (first, *_) = sorted(lake.facts(table).snapshots, key=lambda s: s.committed_at)
        lake.sql(f"CALL lake.system.rollback_to_snapshot('{table}', {first.snapshot_id})")

    table, _, rows = busy(phase, roll_back)

    assert lake.rows(table) == rows
    assert sum(rows.values()) == 20


@pytest.mark.parametrize("phase", PHASES)
def test_a_rewrite_by_others_wins(lake, busy, phase):
    table, outcome, rows = busy(phase, rewrite)

    # Who looks after it finds no work that is left.
    assert outcome.status.is_good, outcome.reason
    assert lake.rows(table) == rows
    assert files_by_partition(lake, table) == {"k0": 1, "k1": 1}


@pytest.mark.parametrize("strategy", [Strategy.SORT, Strategy.ZORDER])
def test_ordering_rows_loses_no_more_than_the_guilty_group(lake, busy, strategy, monkeypatch):
    load_table = rewrite_data_files.load_table

    def load_then_write(session, table):
        # Iceberg plans and rewrites on the table as it was loaded, and commits on the newest.
        loaded = load_table(session, table)
        lake.app.spark.at("in the action")
        return loaded

    monkeypatch.setattr(rewrite_data_files, "load_table", load_then_write)

    table, outcome, rows = busy("in the action", delete, strategy=strategy, sort_columns=("id",))

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason
    assert lake.rows(table) == rows
    assert files_by_partition(lake, table) == {"k0": 1, "k1": 1}


@pytest.mark.conformance("files of mixed sizes", engines=("spark",))
def test_only_files_that_were_planned_are_taken(lake):
    """Iceberg's action would take every small file of a partition."""
    table = lake.create()
    for size in (200, 300, 3000):
        lake.fill(table, "id", "sha2(cast(id AS string), 256) kind", rows=size, files=1)
    sizes = sorted(file.size_bytes for file in lake.facts(table).data_files)
    policy = CompactionPolicy(
        target_file_size_bytes=sizes[0] + sizes[1] + 100, min_file_size_ratio=1.0
    )
    before, rows = lake.facts(table), lake.rows(table)
    plan = lake.app.maintenance.plan(
        table, RewriteDataFilesArguments(engine=RewriteMode.SPARK), policy=policy
    )
    planned = {file.path for group in plan.groups for file in group.files}

    outcome = lake.app.maintenance.apply(plan)

    left_alone = {file.path for file in before.data_files} - planned
    assert (len(planned), len(left_alone)) == (2, 1)
    assert outcome.reason == "2 files became 1."
    assert left_alone <= lake.paths(table)
    assert lake.rows(table) == rows


def test_the_session_of_the_user_is_left_as_it_is(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    before = dict(lake.session.conf.getAll)

    lake.compact(table)

    assert dict(lake.session.conf.getAll) == before
    assert table_cache(lake.session).size() == 0
    jvm = lake.session._jvm.org.apache.iceberg.spark
    assert jvm.ScanTaskSetManager.get().fetchSetIds(lake.java(table)).isEmpty()


def test_live_rows_are_counted_on_their_way_and_not_by_a_second_read(lake, monkeypatch):
    lake = replace(lake, engine=RewriteMode.SPARK)
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, rows=20)
    delete(lake, table)
    rows, reads, read, seen = lake.rows(table), [], stage.read_staged, RowCount.seen
    counted = []

    def note_read(*arguments):
        reads.append(arguments)
        return read(*arguments)

    def note_count(count):
        counted.append(seen(count))
        return counted[-1]

    monkeypatch.setattr(stage, "read_staged", note_read)
    monkeypatch.setattr(RowCount, "seen", note_count)

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.rows(table) == rows
    assert (len(reads), counted) == (1, [19])


def test_where_nothing_was_observed_the_rows_are_read_again(lake, monkeypatch):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, rows=20)
    delete(lake, table)
    rows = lake.rows(table)
    monkeypatch.setattr(RowCount, "seen", lambda count: None)

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.rows(table) == rows
