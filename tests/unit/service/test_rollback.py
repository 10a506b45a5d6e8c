from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from neve.model.errors import ExecutionError, InputError, JobRefused, LeaseLost, TableBusy
from neve.model.job import JobRequest, JobState
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.outcome import Status
from neve.service.operations.registry import handler_for
from neve.service.operations.rollback import RollbackTarget
from neve.service.run_job import run
from neve.testing.facts import MB, NOW, TABLE, data_file, table_facts
from neve.testing.lake import MemoryLake
from neve.testing.operations import roll_back

pytestmark = pytest.mark.promise(8)


@pytest.fixture
def back(services):
    def go(**target):
        return roll_back(services, TABLE, RollbackTarget(**target), undo_window_seconds=60)

    return go


def test_going_back_by_snapshot(back, lake, store):
    lake.append(data_file("bad", MB))
    lake.append(data_file("worse", MB))

    outcome = back(snapshot_id=1)

    assert (outcome.status, outcome.operation) == (Status.SUCCEEDED, "rollback")
    assert outcome.reason == "Went to snapshot 1 and left 2 snapshots behind."
    assert (outcome.snapshot_before, outcome.snapshot_after) == (3, 1)
    assert (outcome.stats.files_before, outcome.stats.files_after) == (6, 4)
    assert (lake.facts.snapshot_id, len(lake.facts.data_files)) == (1, 4)
    assert (lake.log, store.outcomes()) == ([outcome], [outcome])


def test_what_is_left_behind_stays_tagged(back, lake):
    lake.append(data_file("bad", MB))

    outcome = back(snapshot_id=1)

    tag = lake.facts.refs[-1]
    assert (tag.name, tag.snapshot_id, tag.max_age_ms) == (
        UNDO_TAG_PREFIX + outcome.job_id,
        2,
        60_000,
    )


@pytest.mark.parametrize("hours", [0, 3, 10])
def test_going_back_by_time_takes_the_last_snapshot_of_that_moment(back, lake, hours):
    lake.append(data_file("bad", MB))

    outcome = back(time=NOW - timedelta(seconds=1, hours=hours))

    assert outcome.snapshot_after == 1


def test_going_back_by_job_undoes_exactly_it(back, services, plan, lake):
    done = services.apply(plan())

    outcome = back(job_id=done.job_id)

    assert (outcome.snapshot_after, len(lake.facts.data_files)) == (1, 4)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"snapshot_id": 99}, "Snapshot 99 is not in the history of table lake.db.events."),
        ({"snapshot_id": 2}, "Snapshot 2 is the current one of table lake.db.events already."),
        ({"time": NOW + timedelta(hours=1)}, "Snapshot 2 is the current one"),
        ({"time": NOW - timedelta(days=9)}, "Table lake.db.events keeps no snapshot from 2026-01-"),
        ({"job_id": "nobody"}, "Table lake.db.events has no tag neve-undo-nobody: the job did not"),
    ],
)
def test_a_target_that_makes_no_sense_is_refused(back, lake, store, target, message):
    lake.append(data_file("bad", MB))

    with pytest.raises(InputError) as refusal:
        back(**target)

    assert refusal.value.message.startswith(message)
    assert (lake.facts.snapshot_id, store.jobs()) == (2, [])


def test_a_snapshot_that_is_unknown_comes_with_the_known_ones(back, lake):
    lake.append(data_file("bad", MB))

    with pytest.raises(InputError) as refusal:
        back(snapshot_id=99)

    assert refusal.value.next_step == "Snapshots to go back to: 1."


def test_a_table_without_earlier_snapshots_says_so(back):
    with pytest.raises(InputError) as refusal:
        back(snapshot_id=99)

    assert refusal.value.next_step == "It keeps no earlier snapshot to go back to."


def test_a_job_with_commits_on_top_is_not_undone_silently(back, services, plan, lake):
    done = services.apply(plan())
    lake.append(data_file("later", MB))

    with pytest.raises(JobRefused, match=f"1 commits came after job {done.job_id}") as refusal:
        back(job_id=done.job_id)

    assert refusal.value.next_step.endswith("neve rollback lake.db.events --to-snapshot 1")
    assert lake.facts.snapshot_id == 3


def prepared_before(services, write):
    """A compaction that was planned, and whose table was written before the job began."""
    request = JobRequest(TABLE, "rewrite_data_files")
    prepared = handler_for(request).prepare(services, request)
    write()
    return run(services, request, prepared=prepared)


@pytest.mark.parametrize("writes", [1, 2])
def test_undoing_a_job_keeps_what_came_before_its_commit(back, services, lake, writes):
    services.engine.warm_up()

    def write():
        for number in range(writes):
            lake.append(data_file(f"acked-{number}", 90 * MB))

    done = prepared_before(services, write)
    assert done.status is Status.SUCCEEDED

    outcome = back(job_id=done.job_id)

    assert outcome.snapshot_after == 1 + writes
    assert len(lake.facts.data_files) == 4 + writes


def test_what_came_after_it_is_named_without_what_came_before(back, services, lake):
    services.engine.warm_up()
    done = prepared_before(services, lambda: lake.append(data_file("acked", 90 * MB)))
    lake.append(data_file("later", MB))

    with pytest.raises(JobRefused, match="1 commits came after job") as refusal:
        back(job_id=done.job_id)

    assert refusal.value.next_step.endswith("--to-snapshot 2")


def test_a_job_whose_undo_window_is_over_is_said(back, services, plan, lake):
    done = services.apply(plan())
    lake.remove_tag(TABLE, UNDO_TAG_PREFIX + done.job_id)

    with pytest.raises(InputError, match="or its undo window is over"):
        back(job_id=done.job_id)


def test_a_table_that_was_never_written_has_no_past(services):
    empty = MemoryLake(table_facts(snapshots=[]))
    object.__setattr__(services, "surveyor", empty)

    with pytest.raises(InputError, match="was never written"):
        roll_back(services, TABLE, RollbackTarget(snapshot_id=1), undo_window_seconds=60)


def test_a_busy_table_is_not_rolled_back(back, lake, store):
    lake.append(data_file("bad", MB))
    store.claim("other", TABLE, "rewrite_data_files", 60)

    with pytest.raises(TableBusy):
        back(snapshot_id=1)

    assert lake.facts.snapshot_id == 2


def test_a_rollback_that_slept_before_its_request_sends_none_once_others_have_the_table(
    back, lake, store, clock
):
    lake.append(data_file("bad", MB))

    def sleep():
        clock.advance(86400)
        store.claim("other", TABLE, "rewrite_data_files", 60)

    lake.metadata.before_commit = sleep

    with pytest.raises(LeaseLost):
        back(snapshot_id=1)

    assert (lake.facts.snapshot_id, lake.metadata.changes) == (2, [])


def test_a_rollback_that_fails_is_remembered_as_failed(back, lake, store):
    lake.append(data_file("bad", MB))

    def fail(*_):
        raise ExecutionError("no")

    lake.roll_back = fail

    with pytest.raises(ExecutionError):
        back(snapshot_id=1)

    assert [(job.state, job.reason) for job in store.jobs()] == [(JobState.FAILED, "no")]


def test_a_rollback_can_be_undone(back, lake):
    lake.append(data_file("good", MB))
    outcome = back(snapshot_id=1)

    back(job_id=outcome.job_id)

    assert lake.facts.snapshot_id == 2


def test_a_rollback_with_commits_since_can_not_be_undone(back, lake):
    lake.append(data_file("good", MB))
    outcome = back(snapshot_id=1)
    lake.append(data_file("later", MB))

    with pytest.raises(InputError, match="has moved on"):
        back(job_id=outcome.job_id)


def test_a_log_that_fails_does_not_undo_what_happened(back, lake, store):
    def refuse(outcome):
        raise ExecutionError("no log")

    lake.append(data_file("bad", MB))
    lake.write = refuse

    outcome = back(snapshot_id=1)

    assert outcome.status is Status.SUCCEEDED
    assert outcome.reason.endswith("The maintenance log was not written: no log")


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_the_tag_keeps_what_undoing_goes_back_to(services, lake, writes):
    services.engine.warm_up()

    def write():
        for number in range(writes):
            lake.append(data_file(f"acked-{number}", 90 * MB))

    done = prepared_before(services, write)

    (tag,) = (ref for ref in lake.facts.refs if ref.name == UNDO_TAG_PREFIX + done.job_id)
    (made,) = (s for s in lake.facts.snapshots if s.job_id == done.job_id)
    assert tag.snapshot_id == made.parent_id == 1 + writes
    kept_until = lake.facts.snapshot(tag.snapshot_id).committed_at + timedelta(
        milliseconds=tag.max_age_ms
    )
    assert kept_until == NOW + timedelta(days=7)


def test_an_expiry_that_knows_tags_alone_leaves_the_way_back(back, services, lake):
    services.engine.warm_up()
    done = prepared_before(services, lambda: lake.append(data_file("acked", 90 * MB)))
    needed = {ref.snapshot_id for ref in lake.facts.refs} | {lake.facts.snapshot_id}
    kept = [s for s in lake.facts.snapshots if s.snapshot_id in needed]
    lake.facts = replace(lake.facts, snapshots=tuple(kept))

    assert back(job_id=done.job_id).snapshot_after == 2


def test_a_job_that_fell_off_the_history_has_nothing_to_undo(back, services, plan, lake):
    lake.append(data_file("taken back", 90 * MB))
    done = services.apply(plan())
    back(snapshot_id=1)

    with pytest.raises(InputError, match="is not in the history"):
        back(job_id=done.job_id)
    assert lake.facts.snapshot_id == 1


def test_a_job_that_was_taken_back_is_not_undone_at_the_cost_of_who_came_later(
    back, services, plan, lake
):
    """The state before it is still in the history, and so is a writer's commit on top of that."""
    done = services.apply(plan())
    back(snapshot_id=1)
    lake.append(data_file("later", MB))

    with pytest.raises(InputError, match="is not in the history"):
        back(job_id=done.job_id)


def test_undoing_a_rollback_that_went_forward_says_what_it_would_drop(back, lake):
    lake.append(data_file("good", MB))
    forward = back(job_id=back(snapshot_id=1).job_id)

    with pytest.raises(JobRefused, match=r"1 commits were brought back by, or came after,") as told:
        back(job_id=forward.job_id)
    assert told.value.next_step.endswith("--to-snapshot 1")
