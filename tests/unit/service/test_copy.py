from __future__ import annotations

from datetime import UTC, datetime

import pytest

from neve.model.errors import CommitUnknown, ExecutionError, LeaseLost
from neve.model.facts import DeleteKind
from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy
from neve.planning.cost import CostModel
from neve.planning.planner import PlanRequest
from neve.service.maintain import Maintenance
from neve.testing.facts import MB, TABLE, data_file, delete_file, partition, table_facts
from neve.testing.lake import MemoryLake, SilentReporter
from neve.testing.store import MemoryStore

pytestmark = pytest.mark.promise(3, 5)

POLICY = CompactionPolicy(target_file_size_bytes=100 * MB)


@pytest.fixture
def lake():
    files = [
        data_file(f"{day}-{number}", 20 * MB, partition=partition(day))
        for day in ("mon", "tue")
        for number in range(3)
    ]
    return MemoryLake(table_facts(files))


@pytest.fixture
def store():
    return MemoryStore(lambda: datetime.now(tz=UTC))


@pytest.fixture
def maintenance(lake, store):
    return Maintenance(
        surveyor=lake,
        metadata=lake.metadata,
        make_engine=lambda: lake,
        store=store,
        log=lake,
        clock=lambda: datetime.now(tz=UTC),
        reporter=SilentReporter(),
        cost_model=CostModel(),
        lease_seconds=60,
    )


@pytest.fixture
def compact(maintenance):
    return lambda: maintenance.compact(TABLE, PlanRequest(), where=None, policy=POLICY)


def paths(lake):
    return sorted(file.path for file in lake.facts.data_files)


def test_groups_are_copied_and_committed_once(lake, compact):
    outcome = compact()

    assert outcome.status is Status.SUCCEEDED
    assert outcome.engines == {"remote_copy": 0, "copy": 2, "transcode": 0, "spark": 0}
    assert outcome.proof.level == "bytes"
    assert (outcome.proof.rows_in, outcome.proof.rows_out) == (600, 600)
    assert (len(lake.facts.data_files), len(lake.facts.snapshots)) == (2, 2)


def test_the_commit_says_who_made_it_and_what_was_proven(lake, compact):
    outcome = compact()

    summary = lake.facts.snapshots[-1].summary
    assert summary["neve.job-id"] == outcome.job_id
    assert summary["neve.engine"] == "copy=2"
    assert '"rows": 600' in summary["neve.proof"]
    assert summary["neve.epoch"] == "1"


def test_a_copy_that_lost_rows_is_never_committed(lake, compact, store):
    lake.lose_rows = 1
    before = paths(lake)

    outcome = compact()

    assert outcome.status is Status.FAILED
    assert "holds 300 rows, and its copy 299" in outcome.reason
    assert paths(lake) == before
    assert len(lake.facts.snapshots) == 1
    assert len(store.uncommitted_files(TABLE)) == 2


def test_what_footers_refuse_goes_to_spark_and_is_said(lake, compact):
    lake.refuse_groups = {1: "column x is not in the current schema"}

    outcome = compact()

    assert outcome.status is Status.SUCCEEDED
    assert outcome.engines["copy"] == 1
    assert "1 groups could not be copied and went to Spark: column x" in outcome.reason
    assert len(lake.facts.data_files) == 2


def test_a_group_that_a_writer_deleted_from_waits_and_the_others_commit(lake, maintenance, store):
    plan = maintenance.plan(TABLE, PlanRequest(), where=None, policy=POLICY)

    def writer():
        lake.before_commit = lambda: None
        lake.delete_rows(
            delete_file(
                "d",
                DeleteKind.POSITION,
                partition=partition("tue"),
                data_sequence_number=9,
                referenced_path="file:///lake/tue-0",
            )
        )

    lake.before_commit = writer

    outcome = maintenance.apply(plan)

    assert outcome.status is Status.SUCCEEDED
    assert outcome.conflicts == 1
    assert "1 group was changed by writers" in outcome.reason
    assert outcome.engines["copy"] == 1
    assert [path for path in paths(lake) if "tue" in path] == [
        f"file:///lake/tue-{number}" for number in range(3)
    ]
    assert len(store.uncommitted_files(TABLE)) == 1


def test_a_concurrent_append_is_no_conflict(lake, compact):
    def writer():
        lake.before_commit = lambda: None
        lake.append(data_file("new", MB))

    lake.before_commit = writer

    outcome = compact()

    assert outcome.status is Status.SUCCEEDED
    assert outcome.proof.rows_in == 600
    assert "file:///lake/new" in paths(lake)


def test_a_conflict_that_nothing_explains_fails_and_keeps_its_files_in_mind(lake, compact, store):
    def refuse():
        from neve.model.errors import CommitConflict

        raise CommitConflict("no")

    lake.before_commit = refuse

    outcome = compact()

    assert outcome.status is Status.FAILED
    assert (outcome.conflicts, len(lake.facts.snapshots)) == (2, 1)
    # Two files in each of five rounds.
    assert len(store.uncommitted_files(TABLE)) == 10


def test_names_of_earlier_attempts_are_remembered(lake, compact, store):
    lake.attempt = 2

    compact()

    assert len(store.uncommitted_files(TABLE)) == 4


def test_an_unknown_commit_that_landed_is_found(lake, compact):
    def lost_answer():
        raise CommitUnknown("the answer was lost")

    lake.after_commit = lost_answer

    outcome = compact()

    assert outcome.snapshot_after == 2
    assert outcome.proof.holds


def test_a_job_that_lost_the_table_does_not_commit(lake, store, compact, monkeypatch):
    real = lake.splice

    def slow(*arguments):
        reports = real(*arguments)
        monkeypatch.setattr(store, "renew", _refuse)
        return reports

    def _refuse(*_):
        raise LeaseLost("gone")

    monkeypatch.setattr(lake, "splice", slow)

    with pytest.raises(LeaseLost):
        compact()
    assert len(lake.facts.snapshots) == 1


def test_groups_that_a_writer_took_are_planned_again(lake, maintenance):
    def writer():
        lake.before_commit = lambda: None
        lake.remove("file:///lake/tue-0")

    lake.before_commit = writer

    outcome = maintenance.compact(TABLE, PlanRequest(), where=None, policy=POLICY)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0)
    assert "1 group was changed by writers meanwhile and planned again." in outcome.reason
    assert len(lake.facts.data_files) == 2


def test_a_stage_that_fails_leaves_all_its_names_to_the_sweeper(
    maintenance, lake, store, monkeypatch
):
    def fail(*_args):
        raise ExecutionError("a task was killed too often")

    monkeypatch.setattr(lake, "splice", fail)
    plan = maintenance.plan(TABLE, PlanRequest(), where=None, policy=POLICY)

    outcome = maintenance.apply(plan)

    assert outcome.status is Status.FAILED
    names = store.uncommitted_files(TABLE)
    assert len(names) == 8 * len(plan.groups)
    assert all(outcome.job_id in name for name in names)
