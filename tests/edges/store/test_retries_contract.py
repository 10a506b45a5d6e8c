"""Jobs that come back, on every store: failed, handed back, left behind, dead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.edges.store.queueing import T, finish, submit

from neve.model.errors import LeaseLost
from neve.model.job import JobState, retry_delay_seconds
from neve.model.outcome import Status

pytestmark = pytest.mark.promise(40)


def test_a_failed_attempt_is_tried_again_after_its_delay(store):
    submit(store, "j1", max_attempts=3)
    lease = store.claim_next(60)
    assert store.job("j1").attempts == 1

    job = store.retry(lease, "no space", 3600)

    assert (job.state, job.reason, job.attempts, job.is_dead) == (
        JobState.QUEUED,
        "no space",
        1,
        False,
    )
    waits = job.not_before - datetime.now(tz=UTC)
    assert timedelta(minutes=59) < waits < timedelta(minutes=61)
    assert store.claim_next(60) is None
    assert store.claim("other", lease.table, "rollback", 60).epoch > lease.epoch


def test_a_job_that_failed_as_often_as_it_may_is_dead(store):
    submit(store, "j1", max_attempts=2)
    store.retry(store.claim_next(60), "first")
    submit(store, "j2", max_attempts=1)
    lease = store.claim_job("j1", 60)
    assert store.job("j1").attempts == 2

    job = store.retry(lease, "second")

    assert (job.state, job.reason, job.is_dead) == (JobState.FAILED, "second", True)
    store.retry(store.claim_next(60), "third")
    assert [(j.job_id, j.reason) for j in store.dead_jobs()] == [("j2", "third"), ("j1", "second")]
    assert [j.job_id for j in store.dead_jobs(limit=1)] == ["j2"]
    assert store.claim_next(60) is None


def test_a_job_that_fails_for_good_is_not_dead(store):
    submit(store, "j1")
    finish(store, store.claim_next(60), Status.FAILED)

    assert store.dead_jobs() == []


def test_a_job_that_is_handed_back_has_not_been_tried(store):
    submit(store, "j1", max_attempts=1)
    lease = store.claim_next(60)

    job = store.hand_back(lease, "The worker stops.")

    assert (job.state, job.attempts, job.reason) == (JobState.QUEUED, 0, "The worker stops.")
    again = store.claim_next(60)
    assert (again.job_id, store.job("j1").attempts) == ("j1", 1)
    assert again.epoch > lease.epoch


@pytest.mark.parametrize("way", ["retry", "hand_back"])
def test_a_worker_that_gave_its_job_back_cannot_change_it(store, way):
    submit(store, "j1")
    lease = store.claim_next(60)
    getattr(store, way)(lease, "why")

    for use in (
        lambda: store.renew(lease, 60),
        lambda: store.set_state(lease, JobState.REWRITING),
        lambda: finish(store, lease),
        lambda: store.end(lease, JobState.FAILED, ""),
        lambda: store.retry(lease, ""),
        lambda: store.hand_back(lease, ""),
    ):
        with pytest.raises(LeaseLost):
            use()
    store.release(lease)
    assert store.job("j1").state is JobState.QUEUED


@pytest.mark.parametrize("way", ["retry", "hand_back"])
def test_a_late_worker_cannot_give_back_what_is_another_jobs(store, way):
    submit(store, "j1", on="t")
    late = store.claim_next(-1)
    held = store.claim("j2", T, "rollback", 60)

    with pytest.raises(LeaseLost):
        getattr(store, way)(late, "late")
    assert store.job("j1").state is JobState.PLANNING
    assert store.renew(held, 60).epoch == held.epoch


@pytest.mark.parametrize("way", ["retry", "hand_back"])
def test_a_job_of_unknown_end_is_told_by_its_table(store, way):
    submit(store, "j1")
    lease = store.claim_next(60)
    store.end(lease, JobState.UNKNOWN, "the answer was lost")

    with pytest.raises(LeaseLost):
        getattr(store, way)(lease, "why")
    assert store.job("j1").state is JobState.UNKNOWN


@pytest.mark.parametrize("way", ["retry", "hand_back"])
def test_a_job_that_is_to_be_cancelled_does_not_come_back(store, way):
    submit(store, "j1")
    lease = store.claim_next(60)
    store.cancel("j1")

    job = getattr(store, way)(lease, "why")

    assert (job.state, job.is_dead) == (JobState.CANCELLED, False)
    assert store.claim_next(60) is None


def test_a_job_with_an_end_stays_ended(store):
    submit(store, "j1", on="t")
    lease = store.claim_next(60)
    finish(store, lease)
    again = store.claim("j2", T, "rollback", 60)
    store.end(again, JobState.FAILED, "no")

    for use in (
        lambda: store.end(again, JobState.SUCCEEDED, "yes"),
        lambda: finish(store, again),
        lambda: store.set_state(again, JobState.REWRITING),
        lambda: store.retry(again, ""),
    ):
        with pytest.raises(LeaseLost):
            use()
    assert (store.job("j2").state, store.job("j2").reason) == (JobState.FAILED, "no")
    assert store.unfinished() == []


def test_a_job_whose_worker_is_gone_is_queued_again(store):
    submit(store, "j1", on="t", max_attempts=2)
    late = store.claim_next(-1)
    [left] = store.unfinished()

    assert store.requeue(left, "its worker is gone")
    assert not store.requeue(left, "twice")

    assert (store.job("j1").state, store.job("j1").attempts) == (JobState.QUEUED, 1)
    with pytest.raises(LeaseLost):
        finish(store, late)
    assert store.claim_next(-1).job_id == "j1"
    assert store.requeue(store.job("j1"), "again")
    assert (store.job("j1").state, store.job("j1").is_dead) == (JobState.FAILED, True)
    assert [job.reason for job in store.dead_jobs()] == ["again"]


def test_a_job_of_unknown_end_is_queued_again_by_who_read_its_table(store):
    submit(store, "j1")
    lease = store.claim_next(60)
    store.end(lease, JobState.UNKNOWN, "lost")
    store.release(lease)

    assert store.requeue(store.job("j1"), "It left no snapshot.", 3600)
    assert store.job("j1").state is JobState.QUEUED
    assert store.claim_next(60) is None


def test_a_job_that_runs_or_has_ended_is_not_queued_again(store):
    submit(store, "j1")
    lease = store.claim_next(60)
    assert not store.requeue(store.job("j1"), "runs")
    finish(store, lease)
    assert not store.requeue(store.job("j1"), "ended")
    submit(store, "j2")
    assert not store.requeue(store.job("j2"), "queued")
    assert store.job("j1").state is JobState.SUCCEEDED
    assert store.failures_in_a_row(lease.table) == 0


def test_a_job_that_was_to_be_cancelled_is_not_queued_again(store):
    submit(store, "j1")
    store.claim_next(-1)
    store.cancel("j1")

    assert store.requeue(store.job("j1"), "gone")
    assert store.job("j1").state is JobState.CANCELLED


def test_a_queued_job_that_is_settled_is_not_claimed(store):
    job = submit(store, "j1")

    assert store.settle(job, JobState.FAILED, "its table is gone")
    assert store.claim_next(60) is None


def test_the_delay_grows_to_an_hour():
    delays = [retry_delay_seconds(attempts) for attempts in (0, 1, 2, 3, 9, 10, 10**6)]
    assert delays == [10, 10, 20, 40, 2560, 3600, 3600]
