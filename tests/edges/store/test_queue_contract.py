"""Which job comes next, on every store: tenants, priorities, tables that are set aside."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.edges.store.queueing import REQUEST, T, claimed, finish, submit, table

from neve.model.errors import InputError, TableBusy
from neve.model.job import JobState
from neve.model.outcome import Status
from neve.store.sqlite import SqliteStore

pytestmark = pytest.mark.promise(38, 39, 40)


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


def test_what_is_not_a_tables_fault_is_not_counted(store):
    for number in range(2):
        submit(store, f"j{number}", on="t")
    first = store.claim_next(60)
    store.end(first, JobState.FAILED, "a plan was too old", is_tables_fault=False)
    store.release(first)
    assert store.job(first.job_id).state is JobState.FAILED
    assert store.failures_in_a_row(T) == 0

    store.end(store.claim_next(60), JobState.FAILED, "no")
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
