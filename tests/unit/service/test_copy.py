from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from neve.model.errors import CommitUnknown, ExecutionError, LeaseLost
from neve.model.facts import DeleteKind
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Engine
from neve.model.rewrite import StoreDigests
from neve.planning.cost import CostModel
from neve.service.maintenance import Maintenance
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
    return lambda: maintenance.compact(TABLE, RewriteDataFilesArguments(), policy=POLICY)


def paths(lake):
    return sorted(file.path for file in lake.facts.data_files)


def test_groups_are_copied_and_committed_once(lake, compact):
    outcome = compact()

    assert outcome.status is Status.SUCCEEDED
    assert outcome.engines == {**dict.fromkeys(map(str, Engine), 0), "copy": 2}
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
    assert "was made of 300 rows, 0 of them deleted, and holds 299" in outcome.reason
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


def test_where_footers_refuse_every_group_spark_does_it_all(lake, compact):
    lake.refuse_groups = dict.fromkeys(range(9), "column x is not in the current schema")

    outcome = compact()

    assert (outcome.status, outcome.engines["copy"], outcome.engines["spark"]) == (
        Status.SUCCEEDED,
        0,
        2,
    )


def test_a_group_whose_deletes_cannot_be_followed_waits_and_the_others_commit(
    lake, maintenance, store
):
    plan = maintenance.plan(TABLE, RewriteDataFilesArguments(), policy=POLICY)
    lake.refuse_moves = {group.group_id: "it is encrypted" for group in plan.groups}

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

    outcome = compact()

    # Two groups, two attempts, and a name for each of the two engines.
    assert len(store.uncommitted_files(TABLE)) == 8
    assert "2 tasks were lost, failed or too slow, and begun again" in outcome.reason


def test_nothing_is_said_of_tasks_that_were_begun_once(compact):
    assert "begun again" not in compact().reason


def test_an_unknown_commit_that_landed_is_found(lake, compact):
    def lost_answer():
        raise CommitUnknown("the answer was lost")

    lake.after_commit = lost_answer

    outcome = compact()

    assert outcome.snapshot_after == 2
    assert outcome.proof.holds


def test_a_job_that_lost_the_table_does_not_commit(lake, store, compact, monkeypatch):
    real = lake.run_tasks

    def slow(*arguments):
        reports = real(*arguments)
        monkeypatch.setattr(store, "renew", _refuse)
        return reports

    def _refuse(*_):
        raise LeaseLost("gone")

    monkeypatch.setattr(lake, "run_tasks", slow)

    with pytest.raises(LeaseLost):
        compact()
    assert len(lake.facts.snapshots) == 1


def test_groups_that_a_writer_took_are_planned_again(lake, maintenance):
    def writer():
        lake.before_commit = lambda: None
        lake.remove("file:///lake/tue-0")

    lake.before_commit = writer

    outcome = maintenance.compact(TABLE, RewriteDataFilesArguments(), policy=POLICY)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0)
    assert "1 group was changed by writers meanwhile and planned again." in outcome.reason
    assert len(lake.facts.data_files) == 2


def test_a_stage_that_fails_leaves_all_its_names_to_the_sweeper(
    maintenance, lake, store, monkeypatch
):
    def fail(*_args):
        raise ExecutionError("a task was killed too often")

    monkeypatch.setattr(lake, "run_tasks", fail)
    plan = maintenance.plan(TABLE, RewriteDataFilesArguments(), policy=POLICY)

    outcome = maintenance.apply(plan)

    assert outcome.status is Status.FAILED
    names = store.uncommitted_files(TABLE)
    assert len(names) == 8 * 2 * len(plan.groups)
    assert all(outcome.job_id in name for name in names)


def test_a_group_may_become_several_files(lake, maintenance):
    plan = maintenance.plan(TABLE, RewriteDataFilesArguments(), policy=POLICY)
    (step,) = plan.steps
    groups = tuple(replace(group, expected_output_files=2) for group in step.groups)
    plan = replace(plan, steps=(replace(step, groups=groups),))

    outcome = maintenance.apply(plan)

    assert (outcome.status, outcome.engines["copy"]) == (Status.SUCCEEDED, 4)
    assert (outcome.proof.rows_in, outcome.proof.rows_out) == (600, 600)
    assert sorted(f.record_count for f in lake.facts.data_files) == [100, 100, 200, 200]
    names = [path.rpartition("/")[2] for path in paths(lake)]
    assert len(set(names)) == 4


def test_the_outcome_tells_what_each_engine_did_and_for_how_long(lake, maintenance):
    moments = iter(range(10_000))
    maintenance = replace(
        maintenance, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(0, next(moments))
    )
    lake.refuse_groups = {1: "column x is not in the current schema"}

    outcome = maintenance.compact(TABLE, RewriteDataFilesArguments(), policy=POLICY)

    use = {use.engine: use for use in outcome.engine_use}
    assert {name: (u.files, u.bytes) for name, u in use.items()} == {
        "copy": (3, 60 * MB),
        "spark": (3, 60 * MB),
    }
    assert all(u.seconds > 0 for u in outcome.engine_use)
    assert sum(u.seconds for u in outcome.engine_use) < outcome.seconds


def test_work_that_a_writer_spoiled_counts_as_work(lake, maintenance):
    def writer():
        lake.before_commit = lambda: None
        lake.remove("file:///lake/tue-0")

    lake.before_commit = writer

    outcome = maintenance.compact(TABLE, RewriteDataFilesArguments(), policy=POLICY)

    # Three files of each day, and two of Tuesday again.
    (use,) = outcome.engine_use
    assert (use.engine, use.files, use.bytes) == ("copy", 8, 160 * MB)


def test_the_commit_tells_bytes_by_engine(lake, compact):
    compact()

    proof = json.loads(lake.facts.snapshots[-1].summary["neve.proof"])
    assert (proof["level"], proof["bytes_by_engine"]) == ("bytes", {"copy": 120 * MB})


def test_the_weakest_proof_gives_the_level(lake, compact, monkeypatch):
    real = lake.run_tasks

    def by_store(*arguments):
        first, *others = real(*arguments)
        (file,) = first.files
        return [replace(first, files=(replace(file, proof=StoreDigests(1)),)), *others]

    monkeypatch.setattr(lake, "run_tasks", by_store)

    assert compact().proof.level == "store"


def test_a_sorted_table_is_copied_and_its_new_files_claim_no_order(lake, maintenance, monkeypatch):
    lake.facts = replace(lake.facts, sort_order_id=1, sort_columns=("id",))
    lake.history[lake.facts.snapshot_id] = lake.facts
    added = []
    real = lake.replace_files
    monkeypatch.setattr(lake, "replace_files", lambda *a: (added.extend(a[3]), real(*a)))
    plan = maintenance.plan(TABLE, RewriteDataFilesArguments(), policy=POLICY)

    outcome = maintenance.apply(plan)

    assert (outcome.status, outcome.engines["copy"]) == (Status.SUCCEEDED, 2)
    assert all("claims no sort order" in group.engine_reason for group in plan.groups)
    assert {file.sort_order_id for file in added} == {0}
    assert maintenance.plan(TABLE, RewriteDataFilesArguments(), policy=POLICY).is_empty


def test_on_nessie_no_tag_is_tried_and_the_way_back_is_told(lake, compact):
    nessie = {"nessie.commit.id": "6c12", "nessie.commit.ref": "dev", "gc.enabled": "false"}
    lake.facts = replace(lake.facts, properties={**lake.facts.properties, **nessie})

    outcome = compact()

    assert outcome.status is Status.SUCCEEDED
    assert [ref.name for ref in lake.facts.refs if ref.kind == "tag"] == []
    assert "the state before is Nessie's commit 6c12 on dev" in outcome.reason


def test_elsewhere_the_state_before_has_its_tag(lake, compact):
    outcome = compact()

    assert len([ref for ref in lake.facts.refs if ref.kind == "tag"]) == 1
    assert "Nessie" not in outcome.reason
