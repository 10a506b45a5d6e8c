"""No job is left at work by a process that goes on, and lost ones are settled one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.errors import (
    CatalogError,
    CommitUnknown,
    EngineDied,
    EngineNeeded,
    EnvironmentProblem,
    ExecutionError,
    LeaseLost,
    StoreError,
    TableUnreadable,
)
from neve.model.job import JobRequest, JobState
from neve.model.outcome import Status
from neve.model.policy import Strategy
from neve.service.lease import hold
from neve.service.maintain import MaintainRequest, maintain_tables
from neve.service.operations.rollback import RollbackTarget
from neve.service.recover import settle_left_behind, settle_unfinished
from neve.testing.facts import MB, TABLE, data_file
from neve.testing.operations import roll_back

pytestmark = pytest.mark.promise(6)

DIED = EngineDied("Spark's process has ended.")
#: What Iceberg's action commits by itself, so that its tag comes first.
SORTED = {"strategy": Strategy.SORT, "sort_columns": ("id",)}


def raises(error):
    def hook(*_args, **_kwargs):
        raise error

    return hook


def tags(lake):
    return [ref.name for ref in lake.facts.refs if ref.kind == "tag"]


@pytest.fixture
def lose(store):
    """A job that was killed: its lease is over, and it has no end."""

    def leave(job_id="lost", operation="rewrite_data_files", table=TABLE):
        lease = store.claim(job_id, table, operation, 60)
        store.set_state(lease, JobState.REWRITING)
        store.release(lease)

    return leave


def test_an_engine_that_dies_before_its_commit_is_a_failure_with_an_end(
    services, plan, lake, store
):
    lake.before_commit = raises(DIED)
    asked = []
    lake.remove_tag = lambda *args: asked.append(args)

    outcome = services.apply(plan(**SORTED))

    assert (outcome.status, outcome.reason) == (Status.FAILED, DIED.message)
    assert store.job(outcome.job_id).state is JobState.FAILED
    # A new engine is not started for a tag that ends by itself.
    assert (asked, tags(lake)) == ([], [f"neve-undo-{outcome.job_id}"])


def test_an_engine_that_dies_after_its_commit_has_done_its_work(services, plan, lake, store):
    lake.after_commit = raises(DIED)

    outcome = services.apply(plan())

    assert (outcome.status, outcome.proof.holds) == (Status.SUCCEEDED, True)
    assert "its snapshot was found" in outcome.reason
    assert store.job(outcome.job_id).state is JobState.SUCCEEDED


def test_an_engine_that_dies_after_it_lost_rows_is_taken_back(services, plan, lake):
    lake.after_commit = raises(DIED)
    lake.lose_rows = 5

    outcome = services.apply(plan())

    assert (outcome.status, lake.facts.snapshot_id) == (Status.FAILED, 1)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (DIED, JobState.FAILED),
        (ExecutionError("no such table"), JobState.FAILED),
        (EnvironmentProblem("Spark did not start"), JobState.FAILED),
        (CommitUnknown("the answer was lost"), JobState.UNKNOWN),
        (StoreError("disk full"), JobState.UNKNOWN),
    ],
)
def test_an_error_before_the_first_step_ends_the_job(services, plan, lake, store, error, state):
    lake.create_tag = raises(error)

    with pytest.raises(type(error)):
        services.apply(plan(**SORTED))

    (job,) = store.jobs()
    assert (job.state, job.reason) == (state, error.message)


def test_a_table_that_cannot_be_read_after_the_error_leaves_the_job_unknown(
    services, plan, lake, store
):
    made = plan(**SORTED)
    survey = lake.survey

    def tag(*_args, **_kwargs):
        lake.survey = raises(CatalogError("down"))
        raise DIED

    lake.create_tag = tag
    with pytest.raises(EngineDied):
        services.apply(made)
    lake.survey = survey

    assert [job.state for job in store.jobs()] == [JobState.UNKNOWN]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), ZeroDivisionError("x")])
def test_whatever_ends_the_block_leaves_no_job_at_work(services, plan, lake, store, error):
    lake.before_commit = raises(error)

    with pytest.raises(type(error)):
        services.apply(plan())

    (job,) = store.jobs()
    assert job.state is JobState.UNKNOWN
    assert store.unfinished(TABLE) == [job]


def test_a_store_that_fails_at_the_end_does_not_hide_the_error(store):
    store.release = raises(StoreError("disk full"))
    store.end = raises(StoreError("disk full"))

    with pytest.raises(ZeroDivisionError), hold(store, store.claim("j", TABLE, "rollback", 60), 60):
        raise ZeroDivisionError


def test_a_job_that_has_its_end_keeps_it(store):
    def work(held):
        held.end(JobState.FAILED, "said before")
        raise ZeroDivisionError

    with (
        pytest.raises(ZeroDivisionError),
        hold(store, store.claim("j", TABLE, "rollback", 60), 60) as held,
    ):
        work(held)

    assert (store.job("j").state, store.job("j").reason) == (JobState.FAILED, "said before")


def test_one_job_that_cannot_be_judged_does_not_stop_the_others(services, lake, store, lose):
    lose("first")
    lose("second")
    lake.append(operation="replace", **{"neve.job-id": "first"})
    survey = lake.survey

    def of_now(table, *, where=None, snapshot_id=None):
        if snapshot_id is not None:
            raise TableUnreadable("A manifest is missing.")
        return survey(table)

    lake.survey = of_now
    ((job, why),) = settle_unfinished(services, lake.facts)

    assert (job.job_id, why.message) == ("first", "A manifest is missing.")
    assert store.job("first").state is JobState.REWRITING
    assert store.job("second").state is JobState.FAILED


def test_a_job_whose_parent_snapshot_has_expired_is_settled(services, lake, store, lose):
    lose()
    lake.append(operation="replace", **{"neve.job-id": "lost"})
    lake.facts = replace(lake.facts, snapshots=lake.facts.snapshots[1:])

    assert settle_unfinished(services, lake.facts) == []
    assert store.job("lost").state is JobState.FAILED
    assert "has expired" in store.job("lost").reason


def test_a_job_that_needs_an_engine_waits_for_one(services, lake, store, lose):
    lose()
    lake.append(operation="replace", **{"neve.job-id": "lost"})
    lake.live_rows = raises(AssertionError("asked"))
    no_engine = replace(services, make_engine=raises(EngineNeeded("Spark alone")))

    assert settle_unfinished(no_engine, lake.facts) == []
    # Metadata alone was enough: no delete file is in the way.
    assert store.job("lost").state is JobState.SUCCEEDED


def test_nothing_is_read_where_nothing_was_lost(services, lake):
    lake.survey = raises(AssertionError("read"))

    assert settle_left_behind(services, TABLE) == []


def test_a_running_job_is_not_settled(services, store):
    store.claim("now", TABLE, "rewrite_data_files", 60)

    assert settle_left_behind(services, TABLE) == []
    assert store.job("now").state is JobState.PLANNING


def maintain(services, lake, **request):
    return maintain_tables(services, [TABLE], MaintainRequest(**request))


def test_a_turn_with_nothing_to_do_settles_what_was_lost(services, lake, store, lose):
    maintain(services, lake)
    lose()

    maintain(services, lake)

    assert store.job("lost").state is JobState.FAILED


def test_a_dry_run_settles_nothing(services, lake, store, lose):
    lose()

    maintain(services, lake, dry_run=True)

    assert store.job("lost").state is JobState.REWRITING


def test_a_rollback_settles_what_was_lost(services, lake, store, lose):
    lose()
    lake.append(data_file("bad", MB))

    roll_back(services, TABLE, RollbackTarget(snapshot_id=1), undo_window_seconds=60)

    assert store.job("lost").state is JobState.FAILED


WINDOW_MS = 7 * 86400 * 1000


@pytest.fixture
def tagged(lake, lose):
    """A job that tagged the first snapshot and was killed."""

    def leave(**how):
        lose(**how)
        lake.create_tag(TABLE, 1, "neve-undo-lost", WINDOW_MS)

    return leave


def tag_at(lake):
    found = [ref.snapshot_id for ref in lake.facts.refs if ref.name == "neve-undo-lost"]
    return found[0] if found else None


@pytest.mark.promise(8)
def test_the_tag_of_a_lost_job_that_committed_nothing_goes(services, lake, store, tagged):
    tagged()
    lake.create_tag(TABLE, 1, "theirs", WINDOW_MS)
    lake.append(data_file("late", MB))

    assert settle_left_behind(services, TABLE) == []

    assert store.job("lost").state is JobState.FAILED
    assert tags(lake) == ["theirs"]


@pytest.mark.promise(8)
@pytest.mark.parametrize("operation", ["rewrite_data_files", "rewrite_manifests"])
def test_the_tag_of_a_lost_job_goes_where_its_first_commit_was_made(
    services, lake, store, tagged, operation
):
    tagged(operation=operation)
    lake.append(data_file("late", MB))
    lake.append(operation="replace", **{"neve.job-id": "lost"})
    lake.append(operation="replace", **{"neve.job-id": "lost"})

    assert settle_left_behind(services, TABLE) == []

    assert (store.job("lost").state, tag_at(lake)) == (JobState.SUCCEEDED, 2)
    # The window ends when it would have ended: the second snapshot is eleven hours younger.
    (tag,) = (ref for ref in lake.facts.refs if ref.name == "neve-undo-lost")
    assert tag.max_age_ms == WINDOW_MS - 11 * 3600 * 1000
    roll_back(services, TABLE, RollbackTarget(job_id="lost"), undo_window_seconds=60)
    assert lake.facts.snapshot_id == 2


@pytest.mark.promise(8)
def test_a_lost_job_that_cannot_be_proven_is_undone_to_where_it_began(
    services, lake, store, tagged
):
    tagged()
    lake.append(data_file("late", MB))
    lake.append(data_file("rows from nowhere", MB), operation="replace", **{"neve.job-id": "lost"})

    settle_left_behind(services, TABLE)

    assert (store.job("lost").state, tag_at(lake)) == (JobState.FAILED, 2)
    assert "Undo it" in store.job("lost").reason


def test_what_a_lost_job_committed_and_somebody_took_back_keeps_its_tag(
    services, lake, store, tagged
):
    tagged()
    lake.append(operation="replace", **{"neve.job-id": "lost"})
    lake.roll_back(TABLE, 1)

    settle_left_behind(services, TABLE)

    assert (store.job("lost").state, tag_at(lake)) == (JobState.FAILED, 1)


def go_nowhere(lake):
    """The state that the tag was set on is still the current one."""


def go_forward(lake):
    """As undoing a rollback does: what is left behind is an earlier state."""
    lake.append(data_file("brought back", MB))


def go_back(lake):
    lake.append(data_file("other", MB))
    lake.facts = replace(
        lake.facts,
        snapshots=tuple(
            replace(s, parent_id=None) if s.snapshot_id == 2 else s for s in lake.facts.snapshots
        ),
    )


@pytest.mark.parametrize(
    ("went", "state", "told"),
    [
        (go_nowhere, JobState.FAILED, "is where it was"),
        (go_forward, JobState.SUCCEEDED, "gone on from 1"),
        (go_back, JobState.SUCCEEDED, "gone back"),
    ],
)
def test_a_lost_rollback_is_judged_by_where_the_table_is_and_keeps_its_tag(
    services, lake, store, tagged, went, state, told
):
    tagged(operation="rollback")
    went(lake)

    settle_left_behind(services, TABLE)

    assert (store.job("lost").state, tag_at(lake)) == (state, 1)
    assert told in store.job("lost").reason


@pytest.mark.parametrize(
    ("state", "moves", "told"),
    [
        (JobState.PLANNING, False, "ended before"),
        (JobState.COMMITTING, False, "may have been asleep"),
        (JobState.UNKNOWN, False, "may have been asleep"),
        # Its request names the head that was there.
        (JobState.COMMITTING, True, "ended before"),
    ],
)
def test_a_lost_rollback_that_may_still_arrive_is_told_so(
    services, lake, store, state, moves, told
):
    arguments = {"snapshot_id": 1, "expected_head": lake.facts.snapshot_id}
    store.submit("lost", JobRequest(TABLE, "rollback", arguments))
    lease = store.claim_job("lost", 60)
    store.set_state(lease, state)
    store.release(lease)
    if moves:
        lake.append(data_file("late", MB))

    settle_left_behind(services, TABLE)

    assert store.job("lost").state is JobState.FAILED
    assert told in store.job("lost").reason


@pytest.mark.parametrize("first", ["lost", "theirs"])
def test_another_who_settles_the_same_job_is_no_trouble(services, lake, store, tagged, first):
    tagged()

    def other():
        lake.metadata.before_commit = lambda: None
        if first == "lost":
            lake.remove_tag(TABLE, "neve-undo-lost")
        else:
            lake.append(data_file("late", MB))
            lake.roll_back(TABLE, 1)

    lake.metadata.before_commit = other

    assert settle_left_behind(services, TABLE) == []
    assert (store.job("lost").state, tag_at(lake)) == (JobState.FAILED, None)


def test_a_tag_that_cannot_be_changed_keeps_no_job_without_an_end(services, lake, store, tagged):
    tagged()
    lake.metadata.before_commit = raises(ExecutionError("The catalog is read only."))

    assert settle_left_behind(services, TABLE) == []

    assert store.job("lost").state is JobState.FAILED
    assert store.job("lost").reason.endswith("The catalog is read only.")
    assert tag_at(lake) == 1


def test_a_catalog_that_went_away_before_the_tag_leaves_the_job_for_later(
    services, lake, store, tagged
):
    tagged()
    lake.metadata.before_commit = raises(CatalogError("down"))

    ((job, why),) = settle_left_behind(services, TABLE)

    assert (job.job_id, why.message) == ("lost", "down")
    assert store.job("lost").state is JobState.UNKNOWN
    lake.metadata.before_commit = lambda: None
    assert settle_left_behind(services, TABLE) == []
    assert (store.job("lost").state, tag_at(lake)) == (JobState.FAILED, None)


@pytest.mark.promise(8, 38)
def test_a_worker_that_was_asleep_does_not_go_on_while_its_tag_is_settled(
    services, lake, store, clock
):
    lease = store.claim("lost", TABLE, "rewrite_manifests", 60)
    store.set_state(lease, JobState.REWRITING)
    lake.create_tag(TABLE, 1, "neve-undo-lost", WINDOW_MS)
    clock.advance(61)
    refused = []

    def wake():
        with pytest.raises(LeaseLost) as lost:
            store.renew(lease, 60)
        refused.append(lost)

    lake.metadata.before_commit = wake

    assert settle_left_behind(services, TABLE) == []

    assert len(refused) == 1
    assert (store.job("lost").state, tag_at(lake)) == (JobState.FAILED, None)


@pytest.mark.promise(38)
def test_a_worker_that_wakes_in_time_keeps_job_and_tag(services, lake, store, clock):
    lease = store.claim("lost", TABLE, "rewrite_manifests", 60)
    store.set_state(lease, JobState.REWRITING)
    lake.create_tag(TABLE, 1, "neve-undo-lost", WINDOW_MS)
    clock.advance(61)
    survey = services.surveyor.survey

    def wake(table):
        store.renew(lease, 60)
        return survey(table)

    lake.survey = wake

    assert settle_left_behind(services, TABLE) == []

    assert (store.job("lost").state, tag_at(lake)) == (JobState.REWRITING, 1)


def test_the_next_attempt_takes_the_tag_over_and_the_last_one_leaves_none(services, lake, store):
    store.submit("lost", JobRequest(TABLE, "rewrite_data_files", max_attempts=2))
    lake.create_tag(TABLE, 1, "neve-undo-lost", WINDOW_MS)
    left = []

    for _ in range(2):
        lease = store.claim_job("lost", 60)
        store.set_state(lease, JobState.REWRITING)
        store.release(lease)
        settle_left_behind(services, TABLE)
        left.append((store.job("lost").state, tag_at(lake)))

    assert left == [(JobState.QUEUED, 1), (JobState.FAILED, None)]


def test_an_error_after_the_tag_leaves_none(services, plan, lake, store):
    lake.before_stage = raises(EnvironmentProblem("No disk."))

    with pytest.raises(EnvironmentProblem):
        services.apply(plan())

    assert [job.state for job in store.jobs()] == [JobState.FAILED]
    assert tags(lake) == []
