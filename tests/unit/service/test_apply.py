from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.errors import (
    CommitConflict,
    CommitUnknown,
    ExecutionError,
    LeaseLost,
    PlanStale,
    StoreError,
    TableBusy,
)
from neve.model.job import JobState
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.outcome import CompactionStats, PartitionProof, Proof, Status
from neve.model.plan import NothingToDo
from neve.model.policy import Engine, Strategy
from neve.testing.facts import MB, TABLE, data_file, partition

pytestmark = pytest.mark.promise(2, 6)


def raises(error):
    def hook(*_args, **_kwargs):
        raise error

    return hook


def tags(lake):
    return [ref.name for ref in lake.facts.refs if ref.kind == "tag"]


def states(store):
    return [job.state for job in store.jobs()]


def append(lake, *names, day="mon"):
    lake.append(*(data_file(name, MB, partition=partition(day)) for name in names))


def test_a_compaction_says_exactly_what_it_did(services, plan, lake, clock):
    lake.compression = 0.5
    lake.before_commit = lambda: clock.advance(2)

    outcome = services.apply(plan())

    assert (outcome.status, outcome.reason) == (Status.SUCCEEDED, "3 files became 1.")
    assert outcome.stats == CompactionStats(
        files_before=4,
        files_after=2,
        files_compacted=3,
        files_removed=2,
        bytes_before=120 * MB,
        bytes_after=105 * MB,
        bytes_saved=15 * MB,
        compaction_time_ms=2000.0,
        small_files_remaining=0,
    )
    assert (outcome.snapshot_before, outcome.snapshot_after) == (1, 2)
    assert (outcome.snapshots_before, outcome.snapshots_after) == (1, 2)
    assert (outcome.bytes_rewritten, outcome.seconds) == (30 * MB, 2.0)
    assert outcome.engines == {**dict.fromkeys(map(str, Engine), 0), "spark": 1}


def test_a_compaction_is_proven(services, plan):
    assert services.apply(plan()).proof == Proof(
        level="metadata",
        rows_in=300,
        rows_deleted=0,
        rows_out=300,
        deletes_counted_by="metadata",
        partitions=(PartitionProof("day=mon", 300, 0, 300),),
    )


def test_the_snapshot_tells_who_made_it(services, plan, lake):
    made = plan()

    outcome = services.apply(made)

    summary = lake.facts.snapshot(2).summary
    assert {key: value for key, value in summary.items() if key.startswith("neve.")} == {
        "neve.job-id": outcome.job_id,
        "neve.plan": made.plan_id,
        "neve.epoch": "1",
        "neve.target-file-size-bytes": str(100 * MB),
        "neve.layout": "binpack",
        "neve.engine": "spark",
        "neve.step": "0",
        "neve.proof": '{"files": 1, "level": "metadata", "rows": 300}',
    }


@pytest.mark.parametrize(
    "asked", [{}, {"strategy": Strategy.SORT, "sort_columns": ("id",)}], ids=["staged", "sorted"]
)
def test_the_snapshot_before_is_kept_for_the_undo_window(services, plan, lake, asked):
    outcome = services.apply(plan(**asked))

    (tag,) = (ref for ref in lake.facts.refs if ref.kind == "tag")
    assert (tag.name, tag.snapshot_id, tag.max_age_ms) == (
        UNDO_TAG_PREFIX + outcome.job_id,
        1,
        # The snapshot is eleven hours old, and Iceberg counts from there.
        (7 * 24 + 11) * 3_600_000,
    )


def test_an_outcome_is_recorded_in_the_store_and_in_the_log(services, plan, lake, store):
    outcome = services.apply(plan())

    assert lake.log == [outcome]
    assert store.outcomes() == [outcome]
    assert (store.job(outcome.job_id).state, store.job(outcome.job_id).reason) == (
        JobState.SUCCEEDED,
        "3 files became 1.",
    )


def test_a_second_run_finds_nothing_to_do(services, plan, lake):
    services.apply(plan())

    outcome = services.apply(plan())

    assert (outcome.status, len(lake.facts.snapshots)) == (Status.NOTHING_TO_DO, 2)
    assert outcome.reason == plan().reason
    assert outcome.stats.files_compacted == 0


def test_a_plan_without_steps_changes_nothing(services, plan, lake):
    empty = plan(max_cost_usd=0)

    outcome = services.apply(empty)

    assert empty.reasons[0].code is NothingToDo.OVER_BUDGET
    assert (outcome.status, outcome.reason) == (Status.NOTHING_TO_DO, empty.reason)
    assert (tags(lake), lake.facts.snapshot_id) == ([], 1)


def test_a_plan_with_a_file_that_is_gone_is_refused(services, plan, lake, store):
    made = plan()
    lake.remove("file:///lake/mon-1")

    with pytest.raises(PlanStale, match="mon-1 is not a data file of the table now") as refusal:
        services.apply(made)

    assert refusal.value.next_step == f"Plan again: neve plan {TABLE}"
    assert (store.jobs(), tags(lake)) == ([], [])


def test_a_plan_of_a_dropped_table_is_refused(services, plan, lake):
    made = plan()
    lake.facts = replace(lake.facts, table_uuid="22222222-2222-2222-2222-222222222222")

    with pytest.raises(PlanStale, match="was dropped and made again since"):
        services.apply(made)


def test_a_table_that_moves_on_while_the_job_is_claimed_is_refused(services, plan, lake, store):
    made, begin = plan(), store.begin

    def begin_late(*arguments):
        lake.remove("file:///lake/mon-1")
        return begin(*arguments)

    store.begin = begin_late

    with pytest.raises(PlanStale):
        services.apply(made)

    assert (states(store), tags(lake)) == ([JobState.FAILED], [])


def test_a_second_job_waits_its_turn(services, plan, lake, store):
    made = plan()
    store.claim("other", TABLE, "rollback", 60)

    with pytest.raises(TableBusy, match="other"):
        services.apply(made)

    assert (tags(lake), lake.facts.snapshot_id) == ([], 1)


def test_a_table_is_free_again_after_a_run(services, plan, store):
    services.apply(plan())

    assert store.claim("next", TABLE, "rollback", 60).epoch == 2


#: Iceberg's action commits by itself, so its rows are proven afterwards.
BY_ACTION = {"strategy": Strategy.SORT, "sort_columns": ("id",)}


def test_lost_rows_are_never_committed(services, plan, lake, store):
    lake.lose_rows = 7

    outcome = services.apply(plan())

    assert (outcome.status, outcome.reason) == (
        Status.FAILED,
        "Group 0 of day=mon has 300 live rows, and its rewritten files 293.",
    )
    assert (lake.facts.snapshot_id, tags(lake)) == (1, [])
    assert store.uncommitted_files(TABLE) == ["file:///lake/mon-0-1-0-0"]


def test_lost_rows_are_taken_back(services, plan, lake, store):
    lake.lose_rows = 7

    outcome = services.apply(plan(**BY_ACTION))

    assert outcome.status is Status.FAILED
    assert outcome.reason == (
        "Partition day=mon held 300 rows, 0 of them deleted, and now holds 293. "
        "The table was rolled back to snapshot 1."
    )
    assert (lake.facts.snapshot_id, outcome.snapshot_after) == (1, 1)
    assert states(store) == [JobState.FAILED]


def test_lost_rows_under_a_foreign_commit_are_only_reported(services, plan, lake):
    lake.lose_rows = 7
    lake.after_commit = lambda: append(lake, "foreign")

    outcome = services.apply(plan(**BY_ACTION))

    assert outcome.status is Status.FAILED
    assert outcome.reason.endswith(
        "Others have committed since, so it was not rolled back: use neve rollback."
    )
    assert lake.facts.snapshot_id == 3
    assert tags(lake) == [UNDO_TAG_PREFIX + outcome.job_id]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ExecutionError("no space left"), "no space left"),
        (
            CommitConflict("Lost a race."),
            "Lost a race. 1 group was changed by writers meanwhile and left to the next run.",
        ),
    ],
)
def test_an_engine_that_fails_before_its_commit_leaves_nothing(
    services, plan, lake, store, error, reason
):
    lake.before_commit = raises(error)

    outcome = services.apply(plan())

    assert (outcome.status, outcome.reason) == (Status.FAILED, reason)
    assert (tags(lake), lake.facts.snapshot_id) == ([], 1)
    assert (states(store), outcome.proof) == ([JobState.FAILED], None)


def test_an_engine_that_rewrites_nothing_is_believed(services, plan, lake):
    lake.rewrite = lambda *_: None

    outcome = services.apply(plan(**BY_ACTION))

    assert (outcome.status, outcome.reason) == (
        Status.NOTHING_TO_DO,
        "The engine found nothing to rewrite.",
    )
    assert tags(lake) == []


@pytest.mark.parametrize(("asked", "has_tag"), [({}, False), (BY_ACTION, True)])
def test_a_lost_answer_without_a_snapshot_is_unknown(services, plan, lake, store, asked, has_tag):
    lake.before_commit = raises(CommitUnknown("the answer was lost"))

    outcome = services.apply(plan(**asked))

    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, "the answer was lost")
    assert tags(lake) == ([UNDO_TAG_PREFIX + outcome.job_id] if has_tag else [])
    assert states(store) == [JobState.UNKNOWN]


@pytest.mark.parametrize(
    ("landed", "state", "reason"),
    [
        (True, JobState.SUCCEEDED, "Its snapshot was found in the table, and its rows add up."),
        (False, JobState.FAILED, "It left no snapshot in the table."),
    ],
)
def test_the_next_run_settles_an_unknown_job(services, plan, lake, store, landed, state, reason):
    lake.before_commit = raises(CommitUnknown("the answer was lost"))
    lost = services.apply(plan())
    lake.before_commit = lambda: None
    if landed:
        lake.append(operation="replace", **{"neve.job-id": lost.job_id})

    services.apply(plan())

    assert (store.job(lost.job_id).state, store.job(lost.job_id).reason) == (state, reason)


def test_a_lease_that_is_lost_while_rewriting_is_no_success(services, plan, lake, store, clock):
    def lose_the_lease():
        clock.advance(120)
        store.claim("thief", TABLE, "rollback", 60)

    lake.before_commit = lose_the_lease

    with pytest.raises(LeaseLost):
        services.apply(plan())

    # Its epoch is over: the job that holds the table now will settle it.
    assert states(store) == [JobState.PLANNING, JobState.COMMITTING]
    assert lake.log == []


def test_a_job_that_lost_its_lease_is_settled_by_its_snapshot(services, plan, lake, store, clock):
    def stand_still():
        clock.advance(120)
        store.release(store.claim("j2", TABLE, "rollback", 60))

    lake.before_commit = stand_still
    with pytest.raises(LeaseLost):
        services.apply(plan())
    lake.before_commit = lambda: None

    services.apply(plan())

    assert JobState.UNKNOWN not in states(store)
    assert states(store).count(JobState.SUCCEEDED) == 2


def test_a_job_whose_process_stood_still_goes_on_where_nobody_came(
    services, plan, lake, store, clock
):
    lake.before_commit = lambda: clock.advance(120)

    services.apply(plan())

    assert states(store) == [JobState.SUCCEEDED]


def test_a_foreign_append_during_the_rewrite_does_not_disturb_the_proof(services, plan, lake):
    lake.before_commit = lambda: append(lake, "foreign")

    outcome = services.apply(plan())

    assert (outcome.status, outcome.proof.rows_in, outcome.proof.rows_out) == (
        Status.SUCCEEDED,
        300,
        300,
    )
    assert "file:///lake/foreign" in {file.path for file in lake.facts.data_files}


def test_a_foreign_append_after_the_rewrite_does_not_disturb_the_proof(services, plan, lake):
    lake.after_commit = lambda: append(lake, "foreign")

    outcome = services.apply(plan())

    assert (outcome.status, outcome.proof.holds, outcome.snapshot_after) == (
        Status.SUCCEEDED,
        True,
        3,
    )


def test_a_log_that_fails_does_not_hide_what_happened(services, plan, lake, store):
    lake.write = raises(ExecutionError("no namespace"))

    outcome = services.apply(plan())

    assert (outcome.status, outcome.reason) == (
        Status.SUCCEEDED,
        "3 files became 1. The maintenance log was not written: no namespace",
    )
    assert store.outcomes() == [outcome]


def test_a_worker_without_its_store_does_not_rewrite(services, plan, lake, store):
    made = plan()
    store.renew = raises(StoreError("disk full"))

    with pytest.raises(StoreError):
        services.apply(made)

    assert (lake.facts.snapshot_id, tags(lake)) == (1, [])


def test_a_run_that_can_not_be_taken_back_is_not_forgotten(services, plan, lake, store):
    lake.lose_rows = 5
    lake.roll_back = raises(CommitConflict("somebody was faster"))

    outcome = services.apply(plan(**BY_ACTION))

    assert outcome.status is Status.FAILED
    assert "It could NOT be rolled back to snapshot 1: somebody was faster" in outcome.reason
    assert states(store) == [JobState.FAILED]


def test_a_lost_job_whose_rows_do_not_add_up_is_not_called_a_success(services, plan, lake, store):
    lake.lose_rows = 5
    lake.after_commit = raises(LeaseLost("the process ended here"))
    with pytest.raises(LeaseLost):
        services.apply(plan(**BY_ACTION))
    lake.lose_rows, lake.after_commit = 0, lambda: None

    services.apply(plan())

    first = store.jobs()[-1]
    assert first.state is JobState.FAILED
    assert "Its snapshot is in the table, but" in first.reason


def test_a_tag_that_can_not_be_removed_does_not_hide_the_error(services, plan, lake):
    lake.before_commit = raises(ExecutionError("the disk is full"))
    lake.remove_tag = raises(ExecutionError("no tag"))

    outcome = services.apply(plan(**BY_ACTION))

    assert outcome.reason == "the disk is full no tag"
