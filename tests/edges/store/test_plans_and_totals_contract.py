"""Kept plans, jobs by their keys, and what stores count: alike in all three."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from neve.model.figures import counted
from neve.model.job import JobRequest, JobState
from neve.model.kept_plan import MAX_KEPT_PLANS
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.table import TableRef
from neve.testing.facts import NOW

T = TableRef("lake", ("db",), "t")
REQUEST = JobRequest(T, "rewrite_data_files", max_attempts=1)


def outcome(job_id, status=Status.SUCCEEDED, seconds=42.5, **more):
    return Outcome(
        job_id,
        T,
        "rewrite_data_files",
        status,
        "Done.",
        started_at=NOW,
        finished_at=NOW + timedelta(seconds=seconds),
        stats=CompactionStats(files_compacted=7),
        bytes_rewritten=2**53 + 1,
        **more,
    )


def test_a_plan_is_kept_as_it_is_and_approved_once(store):
    kept = store.plans.keep("p1", T, '{"ä": "\\ud83d"}', "ann")
    assert store.plans.keep("p1", T, "another", "bob") == kept == store.plans.plan("p1")
    assert (kept.document, kept.requested_by, kept.approved_at) == ('{"ä": "\\ud83d"}', "ann", None)

    first = store.plans.approve("p1", "bob")
    assert first.approved_by == "bob"
    assert first.approved_at is not None
    assert store.plans.approve("p1", "cid") == first == store.plans.plan("p1")
    assert store.plans.approve("nope", "bob") is store.plans.plan("nope") is None


def test_plans_are_listed_newest_first_without_their_documents(store):
    made = [store.plans.keep(f"p{number}", T, "{}", "") for number in range(3)]
    assert store.plans.newest() == [replace(plan, document="") for plan in made[::-1]]
    assert [plan.plan_id for plan in store.plans.newest(1)] == ["p2"]


def test_only_so_many_plans_are_kept(store):
    for number in range(MAX_KEPT_PLANS + 2):
        store.plans.keep(f"p{number}", T, "{}", "")
    assert len(store.plans.newest(10_000)) == MAX_KEPT_PLANS
    assert store.plans.plan("p1") is None
    assert store.plans.plan("p2") is not None


def test_nobodys_plans_push_out_those_of_others(store):
    store.plans.keep("ann-0", T, "{}", "ann")
    store.plans.keep("bob-0", T, "{}", "bob")
    for number in range(MAX_KEPT_PLANS + 5):
        store.plans.keep(f"p{number}", T, "{}", "flood")
    assert len(store.plans.newest(10_000)) == MAX_KEPT_PLANS
    assert store.plans.plan("ann-0") is not None
    assert store.plans.plan("bob-0") is not None
    assert store.plans.plan("p6") is None
    assert store.plans.plan("p7") is not None


def test_a_job_is_found_by_its_key(store):
    job = store.submit("j1", replace(REQUEST, idempotency_key="k"))
    assert store.job_of_key("k") == job
    assert store.job_of_key("other") is None


def ended(store):
    return {n: v for n, v in store.totals.counters.items() if n.startswith("jobs:")}


@pytest.mark.promise(45)
def test_every_end_of_a_job_is_counted_once_whoever_makes_it(store):
    def begin(job_id):
        return store.begin(job_id, REQUEST, 60)

    lease = begin("finished")
    store.finish(lease, outcome("finished"))
    store.release(lease)
    lease = begin("ended")
    store.end(lease, JobState.FAILED, "no")
    store.release(lease)
    store.retry(begin("dead"), "no")
    store.submit("cancelled", REQUEST)
    store.cancel("cancelled")
    store.cancel("cancelled")
    lost = store.begin("settled", REQUEST, -1)
    store.settle(store.job(lost.job_id), JobState.SUCCEEDED, "found")
    store.submit("waiting", REQUEST)

    assert ended(store) == {
        "jobs:rewrite_data_files:succeeded": 2,
        "jobs:rewrite_data_files:failed": 2,
        "jobs:rewrite_data_files:cancelled": 1,
    }
    totals = store.totals
    assert (totals.queued, totals.begun, totals.dead) == (1, 0, 1)


@pytest.mark.promise(45)
def test_what_outcomes_add_is_counted_with_them(store):
    for number, seconds in enumerate((0.5, 42.5, 59.5, 10_000)):
        lease = store.begin(f"j{number}", REQUEST, 60)
        store.finish(lease, outcome(lease.job_id, seconds=seconds))
        store.release(lease)

    counters = store.totals.counters
    assert counters["durations:rewrite_data_files:1"] == 1
    assert counters["durations:rewrite_data_files:60"] == 2
    assert counters["durations:rewrite_data_files:more"] == 1
    assert counters["seconds:rewrite_data_files"] == pytest.approx(10_102.5)
    assert counters["files"] == 28
    assert counters["bytes"] == pytest.approx(4 * (2**53 + 1))


def test_an_end_that_is_refused_counts_nothing(store):
    lease = store.begin("j1", REQUEST, 60)
    store.finish(lease, outcome("j1"))
    before = store.totals
    with pytest.raises(Exception, match="lost its claim"):
        store.finish(lease, outcome("j1"))
    assert store.totals == before


def test_what_is_unknown_is_not_counted_yet(store):
    lease = store.begin("j1", REQUEST, 60)
    store.finish(lease, outcome("j1", Status.UNKNOWN))
    assert counted(outcome("j1", Status.UNKNOWN)) == {}
    assert store.totals.counters == {}
    assert store.totals.begun == 1


def test_an_empty_store_has_counted_nothing(store):
    totals = store.totals
    assert (dict(totals.counters), totals.queued, totals.begun, totals.dead) == ({}, 0, 0, 0)
