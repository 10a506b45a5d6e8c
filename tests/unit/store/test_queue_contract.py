"""Which job comes next, on every store: tenants, priorities, retries, tables that are set aside."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from neve.model.errors import InputError, LeaseLost, TableBusy
from neve.model.job import JobRequest, JobState, retry_delay_seconds
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore
from neve.testing.facts import NOW
from neve.testing.store import MemoryStore


@pytest.fixture(params=["sqlite", "memory", "redis"])
def store(request):
    if request.param == "redis":
        return request.getfixturevalue("redis_store")
    if request.param == "sqlite":
        return SqliteStore(Path("state.db"))
    return MemoryStore(lambda: datetime.now(tz=UTC))


def table(name):
    return TableRef("lake", ("db",), name)


T = table("t")
REQUEST = JobRequest(T, "rewrite_data_files")


def submit(store, job_id, on=None, **changes):
    request = replace(REQUEST, table=table(on or f"of {job_id}"), **changes)
    return store.submit(job_id, request)


def claimed(store, times):
    leases = [store.claim_next(60) for _ in range(times)]
    return [lease and lease.job_id for lease in leases]


def finish(store, lease, status=Status.SUCCEEDED):
    outcome = Outcome(lease.job_id, lease.table, "rewrite_data_files", status, "why", NOW, NOW)
    store.finish(lease, outcome)
    store.release(lease)


def test_the_same_job_submitted_twice_is_one_job(store):
    first = submit(store, "j1", priority=3)

    assert submit(store, "j1", priority=9) == first
    assert claimed(store, 2) == ["j1", None]


def test_a_job_that_began_is_not_queued_by_submitting_it_again(store):
    submit(store, "j1")
    lease = store.claim_next(60)

    assert submit(store, "j1").state is JobState.PLANNING
    finish(store, lease)
    assert submit(store, "j1").state is JobState.SUCCEEDED
    assert store.claim_next(60) is None


def test_a_key_stays_that_of_a_job_that_has_ended(store):
    submit(store, "j1", idempotency_key="k")
    finish(store, store.claim_next(60))

    assert submit(store, "j2", idempotency_key="k").job_id == "j1"
    with pytest.raises(TableBusy, match="j1 has begun already"):
        store.begin("j3", replace(REQUEST, idempotency_key="k"), 60)
    assert (store.job("j2"), store.job("j3")) == (None, None)


def test_the_jobs_of_one_table_come_by_priority_then_age(store):
    for job_id, priority in (("low", -5), ("first", 0), ("second", 0), ("high", 1000)):
        submit(store, job_id, on="t", priority=priority)

    order = []
    while lease := store.claim_next(60):
        order.append(lease.job_id)
        finish(store, lease)
    assert order == ["high", "first", "second", "low"]


def test_many_jobs_keep_the_order_in_which_they_came(store):
    names = [f"j{number}" for number in range(12)]
    for name in names:
        submit(store, name)

    assert claimed(store, 12) == names


def test_a_tenant_with_many_jobs_does_not_keep_others_waiting(store):
    for number in range(6):
        submit(store, f"many{number}", tenant="many", priority=9)
    submit(store, "few0", tenant="few")
    submit(store, "few1", tenant="few")
    submit(store, "none0")

    order = claimed(store, 9)

    assert {job_id.rstrip("0123456789") for job_id in order[:3]} == {"many", "few", "none"}
    assert {job_id.rstrip("0123456789") for job_id in order[3:5]} == {"many", "few"}
    assert order[5:] == ["many2", "many3", "many4", "many5"]


def test_a_tenant_that_comes_later_is_served_next(store):
    for number in range(3):
        submit(store, f"a{number}", tenant="a")
    assert claimed(store, 2) == ["a0", "a1"]

    submit(store, "b0", tenant="b")

    assert claimed(store, 2) == ["b0", "a2"]


def test_a_tenant_that_was_away_gets_its_turn_and_no_more(store):
    submit(store, "b0", tenant="b")
    assert claimed(store, 1) == ["b0"]
    for number in range(3):
        submit(store, f"a{number}", tenant="a")
    assert claimed(store, 1) == ["a0"]
    for number in (1, 2):
        submit(store, f"b{number}", tenant="b")

    assert claimed(store, 4) == ["b1", "a1", "b2", "a2"]


@pytest.mark.parametrize("names", [("a:b", "a"), ("", "0:"), ("{x}", "x"), ("ü'\"", "\n")])
def test_tenants_may_have_any_name(store, names):
    for number, tenant in enumerate(names):
        store.submit(f"j{number}", replace(REQUEST, table=table("b:t"), tenant=tenant))
        store.submit(f"k{number}", replace(REQUEST, table=table("t"), tenant=tenant))

    assert store.job("j0").tenant == names[0]
    assert len({lease.table for lease in (store.claim_next(60), store.claim_next(60))}) == 2
    assert store.claim_next(60) is None


def test_a_tenant_whose_tables_are_busy_is_passed_over(store):
    store.claim("held", T, "rollback", 60)
    submit(store, "a0", on="t", tenant="a")
    submit(store, "b0", tenant="b")

    assert claimed(store, 2) == ["b0", None]


def test_tenants_share_a_table_one_job_at_a_time(store):
    submit(store, "a0", on="t", tenant="a")
    submit(store, "b0", on="t", tenant="b")

    first = store.claim_next(60)
    assert (first.job_id, store.claim_next(60)) == ("a0", None)
    finish(store, first)
    second = store.claim_next(60)
    assert (second.job_id, second.epoch) == ("b0", 2)


def test_a_table_whose_worker_is_gone_is_free_when_its_lease_ends(store):
    submit(store, "j1", on="t")
    submit(store, "j2", on="t")
    store.claim_next(-1)

    lease = store.claim_next(60)

    assert (lease.job_id, lease.epoch) == ("j2", 2)
    assert [job.job_id for job in store.unfinished()] == ["j1"]


def test_a_job_waits_for_its_time(store):
    later = datetime.now(tz=UTC) + timedelta(hours=1)
    job = submit(store, "later", not_before=later)
    submit(store, "past", not_before=later - timedelta(hours=2))

    assert abs(job.not_before - later) < timedelta(milliseconds=1)
    assert claimed(store, 2) == ["past", None]
    assert store.job("later").state is JobState.QUEUED


def test_a_job_that_waits_for_its_time_keeps_nobody_waiting(store):
    later = datetime.now(tz=UTC) + timedelta(hours=1)
    submit(store, "later", on="t", not_before=later, priority=9)
    submit(store, "now", on="t")

    assert claimed(store, 1) == ["now"]


def test_a_job_that_waits_for_its_time_can_be_claimed_by_name_and_cancelled(store):
    later = datetime.now(tz=UTC) + timedelta(hours=1)
    submit(store, "j1", not_before=later)
    submit(store, "j2", not_before=later)

    assert store.claim_job("j1", 60).job_id == "j1"
    assert store.cancel("j2").state is JobState.CANCELLED
    assert store.claim_next(60) is None


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


def test_failures_of_a_table_are_counted_until_it_succeeds(store):
    for number in range(5):
        submit(store, f"j{number}", on="t")
    assert store.failures_in_a_row(T) == 0
    finish(store, store.claim_next(60), Status.FAILED)
    store.retry(store.claim_next(60), "no", 3600)
    store.hand_back(store.claim_next(60), "not a failure")
    store.claim_next(-1)
    store.settle(store.unfinished()[0], JobState.FAILED, "gone")
    assert store.failures_in_a_row(T) == 3
    assert store.failures_in_a_row(table("other")) == 0

    finish(store, store.claim_next(60))
    assert store.failures_in_a_row(T) == 0


def test_a_cancelled_job_says_nothing_about_its_table(store):
    submit(store, "j1", on="t")
    finish(store, store.claim_next(60), Status.FAILED)
    submit(store, "j2", on="t")
    finish(store, store.claim_next(60), Status.CANCELLED)

    assert store.failures_in_a_row(T) == 1


def test_workers_leave_a_table_alone_that_is_set_aside(store):
    submit(store, "j1", on="t")
    submit(store, "j2", on="u")
    store.set_aside(T, "It keeps failing.")
    submit(store, "j3", on="t", priority=9)

    assert claimed(store, 2) == ["j2", None]
    assert store.job("j1").state is JobState.QUEUED
    assert store.put_back(T)
    assert not store.put_back(T)
    assert claimed(store, 1) == ["j3"]


def test_a_lease_that_ends_does_not_bring_back_a_table_that_is_set_aside(store):
    submit(store, "j1", on="t")
    submit(store, "j2", on="t")
    store.claim_next(-1)
    store.set_aside(T, "why")

    assert store.claim_next(60) is None


def test_a_person_may_work_on_a_table_that_is_set_aside(store):
    submit(store, "j1", on="t")
    store.set_aside(T, "why")

    finish(store, store.claim("j2", T, "rollback", 60))
    assert store.claim_job("j1", 60).job_id == "j1"


def test_tables_that_are_set_aside_are_listed(store):
    submit(store, "j1", on="odd `t`")
    finish(store, store.claim_next(60), Status.FAILED)
    store.set_aside(table("odd `t`"), "first")
    [before] = store.set_aside_tables()
    store.set_aside(table("odd `t`"), "second")
    store.set_aside(T, "third")

    found = store.set_aside_tables()

    assert [(a.table, a.reason, a.failures_in_a_row) for a in found] == [
        (table("odd `t`"), "second", 1),
        (T, "third", 0),
    ]
    assert found[0].since == before.since
    store.put_back(table("odd `t`"))
    assert [a.table for a in store.set_aside_tables()] == [T]
    assert store.failures_in_a_row(table("odd `t`")) == 0


def test_what_was_asked_for_comes_back(store):
    arguments = {"target": 2**60, "text": "é\n'", "none": None, "list": [1.5, True]}
    job = submit(store, "j1", arguments=arguments, tenant="a", priority=-7, max_attempts=9)

    assert (job.arguments, job.tenant, job.priority, job.max_attempts) == (arguments, "a", -7, 9)
    assert store.job("j1") == store.jobs()[0] == job


@pytest.mark.parametrize(
    "wrong",
    [
        {"priority": 1001},
        {"priority": -(2**70)},
        {"max_attempts": 0},
        {"not_before": datetime(2026, 1, 1)},
    ],
)
def test_a_request_that_cannot_be_kept_is_refused(wrong):
    with pytest.raises(InputError):
        replace(REQUEST, **wrong)


def test_the_delay_grows_to_an_hour():
    delays = [retry_delay_seconds(attempts) for attempts in (0, 1, 2, 3, 9, 10, 10**6)]
    assert delays == [10, 10, 20, 40, 2560, 3600, 3600]


@pytest.fixture(params=["sqlite", "redis"])
def shared(request):
    """A store that several workers use at the same time."""
    if request.param == "redis":
        return request.getfixturevalue("redis_store")
    return SqliteStore(Path("state.db"))


def test_no_job_is_claimed_twice_and_no_table_by_two(shared):
    for number in range(60):
        submit(shared, f"j{number}", on=f"t{number % 7}", tenant=f"{number % 3}")
    holders, twice, lock = {}, [], threading.Lock()

    def work(_):
        done = []
        while lease := shared.claim_next(60):
            with lock:
                twice.extend([lease] if lease.table in holders else [])
                holders[lease.table] = lease
            shared.set_state(lease, JobState.REWRITING)
            with lock:
                del holders[lease.table]
            finish(shared, lease)
            done.append(lease.job_id)
        return done

    with ThreadPoolExecutor(6) as pool:
        done = [job_id for some in pool.map(work, range(6)) for job_id in some]
    done += work(None)

    assert (sorted(done), twice) == (sorted(f"j{number}" for number in range(60)), [])
    assert {job.state for job in shared.jobs()} == {JobState.SUCCEEDED}
    assert {job.attempts for job in shared.jobs()} == {1}


def test_one_of_many_requests_with_one_key_becomes_a_job(shared):
    def ask(number):
        return submit(shared, f"j{number}", on="t", idempotency_key="once").job_id

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(ask, range(12)))

    assert len(found) == len(shared.jobs()) == 1
