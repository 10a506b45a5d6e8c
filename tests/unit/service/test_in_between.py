"""Writers exactly between the moment when a change was judged and its commit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from neve.model.errors import CommitConflict, CommitUnknown, ExecutionError, PlanStale, RefLost
from neve.model.expiry import ExpiryRules
from neve.model.facts import ManifestContent, ManifestFacts, RefFacts
from neve.model.job import JobState
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.outcome import Status
from neve.model.policy import Strategy
from neve.planning.operations.rewrite_manifests import ManifestThresholds
from neve.service.operations.expire_snapshots import ATTEMPTS, ExpireSnapshotsOperation
from neve.service.operations.rewrite_manifests import RewriteManifestsOperation
from neve.service.operations.rollback import RollbackTarget
from neve.service.undo import take_back
from neve.testing.expiring_lake import ExpiringLake
from neve.testing.facts import MB, NOW, TABLE, data_file, table_facts
from neve.testing.operations import roll_back, run_operation

pytestmark = pytest.mark.promise(8, 15)

DAY = 86400


def back(services, **target):
    return roll_back(services, TABLE, RollbackTarget(**target), undo_window_seconds=60)


def once(act, at=1):
    """Something that somebody does before the n-th commit of metadata."""
    calls = []

    def enter():
        calls.append(1)
        if len(calls) == at:
            act()

    return enter


def lineage(lake):
    return [snapshot.snapshot_id for snapshot in lake.facts.ancestry()]


def state_of(store):
    return store.jobs()[0].state


def test_an_append_during_a_rollback_stays_and_is_named(services, lake, store):
    lake.append(data_file("bad", MB))
    written = {"engine-name": "spark", "neve.job-id": "j7"}
    lake.metadata.before_commit = once(lambda: lake.append(data_file("acked", MB), **written))

    with pytest.raises(
        CommitConflict, match=r"snapshot 3 \(append at .*, job j7, engine-name spark"
    ):
        back(services, snapshot_id=1)

    assert (lineage(lake), lake.facts.refs) == ([3, 2, 1], table_facts().refs)
    assert (state_of(store), lake.log) == (JobState.FAILED, [])
    assert "snapshot 3" in store.jobs()[0].reason


def test_an_append_while_a_rollback_is_undone_stays(services, lake, store):
    lake.append(data_file("good", MB))
    gone_back = back(services, snapshot_id=1)
    refs = lake.facts.refs
    lake.metadata.before_commit = once(lambda: lake.append(data_file("acked", MB)))

    with pytest.raises(CommitConflict, match="snapshot 3"):
        back(services, job_id=gone_back.job_id)

    assert (lineage(lake), lake.facts.refs) == ([3, 1], refs)
    assert state_of(store) is JobState.FAILED


def test_an_append_right_after_a_rollback_is_no_failure_of_it(services, lake, store):
    lake.append(data_file("bad", MB))
    lake.metadata.after_commit = lambda: lake.append(data_file("next", MB))

    outcome = back(services, snapshot_id=1)

    assert (outcome.status, outcome.snapshot_after, lineage(lake)) == (Status.SUCCEEDED, 3, [3, 1])
    assert outcome.reason == (
        "Went to snapshot 1 and left 1 snapshot behind. "
        "Another writer has moved main on to snapshot 3 since."
    )
    assert state_of(store) is JobState.SUCCEEDED


def test_a_rollback_and_its_tag_are_one_commit(services, lake):
    lake.append(data_file("bad", MB))

    outcome = back(services, snapshot_id=1)

    (change,) = lake.metadata.changes
    assert (change.head, change.set_main, change.head_may_advance) == (2, 1, False)
    assert [tag.name for tag in change.tags] == [UNDO_TAG_PREFIX + outcome.job_id]
    assert change.expected_refs == {UNDO_TAG_PREFIX + outcome.job_id: None}


def test_a_rollback_needs_no_engine(services, lake):
    lake.append(data_file("bad", MB))

    def start():
        raise AssertionError("an engine was started")

    back(replace(services, make_engine=start), snapshot_id=1)

    assert lake.facts.snapshot_id == 1


@pytest.mark.parametrize("landed", [True, False])
def test_a_rollback_whose_answer_was_lost_is_settled_by_its_tag(
    services, plan, lake, store, landed
):
    lake.append(data_file("bad", MB))

    def lose():
        raise CommitUnknown("no answer")

    if landed:
        lake.metadata.after_commit = lose
    else:
        lake.metadata.before_commit = lose
    with pytest.raises(CommitUnknown):
        back(services, snapshot_id=1)
    (job,) = store.jobs()
    assert job.state is JobState.UNKNOWN

    lake.metadata.before_commit = lake.metadata.after_commit = lambda: None
    services.apply(plan())

    settled = store.job(job.job_id)
    assert settled.state is (JobState.SUCCEEDED if landed else JobState.FAILED)


def test_a_job_is_not_taken_back_from_under_a_writer(services, lake):
    lake.append(data_file("ours", MB), **{"neve.job-id": "ours"})
    after = lake.facts
    lake.metadata.before_commit = once(lambda: lake.append(data_file("acked", MB)))

    note = take_back(services, "ours", after)

    assert note.startswith("It could NOT be rolled back to snapshot 1: Branch main")
    assert lineage(lake) == [3, 2, 1]


def test_a_failed_proof_with_a_writer_in_between_keeps_the_writer(services, plan, lake):
    lake.lose_rows = 5
    # The first commit is the undo tag, the second the way back.
    lake.metadata.before_commit = once(lambda: lake.append(data_file("acked", MB)), at=2)

    outcome = services.apply(plan(strategy=Strategy.SORT, sort_columns=("id",)))

    assert (outcome.status, lineage(lake)) == (Status.FAILED, [3, 2, 1])
    assert "could NOT be rolled back" in outcome.reason
    assert "snapshot 3 (append" in outcome.reason


def test_an_append_before_the_undo_tag_does_not_stop_a_job(services, plan, lake):
    made = plan()
    lake.metadata.before_commit = once(lambda: lake.append(data_file("acked", MB)))

    outcome = services.apply(made)

    assert outcome.status is Status.SUCCEEDED
    assert (outcome.snapshot_before, 2 in lineage(lake)) == (1, True)


def test_a_tag_that_loses_against_a_writer_is_judged_again(services, plan, lake):
    def lose():
        raise CommitConflict("faster")

    lake.metadata.before_commit = once(lose)

    assert services.apply(plan()).status is Status.SUCCEEDED


def test_a_table_that_was_rolled_back_before_the_undo_tag_makes_the_plan_stale(
    services, lake, plan, store
):
    lake.append(data_file("bad", MB))
    made = plan(strategy=Strategy.SORT, sort_columns=("id",))
    lake.metadata.before_commit = once(lambda: lake.roll_back(TABLE, 1))

    with pytest.raises(PlanStale, match="was moved from snapshot 2 to snapshot 1"):
        services.apply(made)

    assert (lineage(lake), state_of(store)) == ([1], JobState.FAILED)


def test_an_operation_on_a_table_that_was_rolled_back_changes_nothing(services, lake, store):
    lake.append(data_file("bad", MB))
    many = (ManifestFacts(f"m{i}", ManifestContent.DATA, 0, 1000, 1, 1) for i in range(4))
    lake.facts = replace(lake.facts, manifests=tuple(many))
    lake.metadata.before_commit = once(lambda: lake.roll_back(TABLE, 1))

    operation = RewriteManifestsOperation(
        thresholds=ManifestThresholds(min_manifests=3), undo_window_seconds=DAY
    )
    outcome = run_operation(services, TABLE, operation)

    assert (outcome.status, lineage(lake)) == (Status.FAILED, [1])
    assert "was moved from snapshot 2" in outcome.reason
    assert state_of(store) is JobState.FAILED


def test_a_tag_that_somebody_moved_is_not_dropped(services, plan, lake):
    def fail():
        def move():
            refs = tuple(
                replace(r, snapshot_id=2) if r.kind == "tag" else r for r in lake.facts.refs
            )
            lake.append(data_file("acked", MB))
            lake.facts = replace(lake.facts, refs=refs)

        lake.metadata.before_commit = once(move)
        raise ExecutionError("the disk is full")

    lake.before_commit = fail

    outcome = services.apply(plan(strategy=Strategy.SORT, sort_columns=("id",)))

    (tag,) = (ref for ref in lake.facts.refs if ref.kind == "tag")
    assert (outcome.status, tag.snapshot_id) == (Status.FAILED, 2)
    assert "was made or moved by somebody else" in outcome.reason


@pytest.fixture
def aged():
    """Four snapshots; the first three are old, the second is tagged."""
    lake = ExpiringLake(table_facts(snapshots=(), refs=()))
    for number in range(1, 5):
        lake.append(data_file(f"f{number}", number))
    old = NOW - timedelta(days=30)
    snapshots = [replace(s, committed_at=old) for s in lake.facts.snapshots[:3]]
    lake.facts = replace(
        lake.facts,
        snapshots=(*snapshots, lake.facts.snapshots[3]),
        refs=(RefFacts("main", 4, "branch"), RefFacts("audit", 2, "tag")),
    )
    return lake


@pytest.fixture
def expire(services, aged):
    there = replace(services, surveyor=aged, metadata=aged.metadata, make_engine=lambda: aged)
    operation = ExpireSnapshotsOperation(ExpiryRules(), snapshots_per_commit=1)
    return lambda: run_operation(there, TABLE, operation)


@pytest.mark.parametrize("chunk", [1, 2])
def test_an_expiry_looks_again_after_an_append_and_commits_on_top(expire, aged, chunk):
    aged.metadata.before_commit = once(lambda: aged.append(data_file("acked", MB)), at=chunk)

    outcome = expire()

    assert (outcome.status, aged.facts.snapshot_id) == (Status.SUCCEEDED, 5)
    assert sorted(s.snapshot_id for s in aged.facts.snapshots) == [2, 4, 5]
    assert aged.metadata.changes[-1].head == 5
    assert "file:///lake/acked" not in aged.deleted_paths


@pytest.mark.parametrize("chunk", [1, 2])
@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_a_ref_on_what_was_to_go_stops_an_expiry(expire, aged, chunk, kind):
    def name():
        aged.change(refs=(*aged.facts.refs, RefFacts("late", 3, kind)))

    aged.metadata.before_commit = once(name, at=chunk)

    outcome = expire()

    left = {s.snapshot_id for s in aged.facts.snapshots}
    assert (outcome.status, aged.deleted_paths) == (Status.FAILED, [])
    assert {2, 3, 4} <= left
    assert "needed since the plan" in outcome.reason
    assert "late" in outcome.reason


def test_a_ref_on_what_stays_is_known_to_the_next_commit(expire, aged):
    late = RefFacts("late", 4, "tag")
    aged.metadata.before_commit = once(lambda: aged.change(refs=(*aged.facts.refs, late)))

    outcome = expire()

    assert outcome.status is Status.SUCCEEDED
    assert aged.metadata.changes[0].expected_refs == {"audit": 2, "late": 4}


def test_a_rollback_to_what_was_to_go_stops_an_expiry(expire, aged):
    aged.metadata.before_commit = once(lambda: aged.roll_back(TABLE, 3))

    outcome = expire()

    assert (outcome.status, aged.facts.snapshot_id) == (Status.FAILED, 3)
    assert len(aged.facts.snapshots) == 4


def test_a_table_made_anew_is_not_expired(expire, aged):
    aged.metadata.before_commit = once(lambda: aged.change(table_uuid="another"))

    outcome = expire()

    assert (outcome.status, len(aged.facts.snapshots)) == (Status.FAILED, 4)
    assert "made again" in outcome.reason


def test_an_expiry_that_never_wins_gives_up(expire, aged):
    tries = []

    def lose():
        tries.append(1)
        raise CommitConflict("always faster")

    aged.metadata.before_commit = lose

    outcome = expire()

    assert (outcome.status, len(tries), len(aged.facts.snapshots)) == (Status.FAILED, ATTEMPTS, 4)


def test_an_expiry_that_may_have_cost_a_ref_deletes_no_file_and_has_failed(expire, aged):
    def tell():
        raise RefLost("Tag late is gone.")

    aged.metadata.after_commit = once(tell, at=2)

    outcome = expire()

    assert (outcome.status, outcome.reason) == (Status.FAILED, "Tag late is gone.")
    assert aged.deleted_paths == []
