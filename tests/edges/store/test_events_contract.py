"""What jobs said, on every store: kept with numbers that grow, and read from a number on."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.edges.store.queueing import REQUEST, finish, submit, table

from neve.model.job import JobFilter, JobState, Progress
from neve.store.redis.store import RedisStore
from neve.store.sqlite import SqliteStore

pytestmark = pytest.mark.promise(42)


def said(store, job_id, after=0):
    return [(event.phase, event.message) for event in store.events_after(job_id, after)]


def test_every_change_of_a_state_is_an_event(store):
    submit(store, "j1")
    lease = store.claim_next(60)
    store.set_state(lease, JobState.REWRITING)
    store.set_state(lease, JobState.COMMITTING)
    finish(store, lease)

    assert said(store, "j1") == [
        (JobState.QUEUED, ""),
        (JobState.PLANNING, ""),
        (JobState.REWRITING, ""),
        (JobState.COMMITTING, ""),
        (JobState.SUCCEEDED, "why"),
    ]


def test_the_same_state_again_is_no_event(store):
    submit(store, "j1")
    lease = store.claim_next(60)
    store.set_state(lease, JobState.REWRITING)
    store.set_state(lease, JobState.REWRITING)

    assert [phase for phase, _ in said(store, "j1")][-2:] == [
        JobState.PLANNING,
        JobState.REWRITING,
    ]


ENDS = {
    "cancel": lambda store, lease: store.cancel("j2"),
    "retry": lambda store, lease: store.retry(lease, "why"),
    "hand_back": lambda store, lease: store.hand_back(lease, "why"),
    "end": lambda store, lease: store.end(lease, JobState.UNKNOWN, "why"),
}
TOLD = {
    "cancel": ("j2", JobState.CANCELLED),
    "retry": ("j1", JobState.QUEUED),
    "hand_back": ("j1", JobState.QUEUED),
    "end": ("j1", JobState.UNKNOWN),
}


@pytest.mark.parametrize("way", ENDS)
def test_whoever_changes_a_state_tells_it(store, way):
    submit(store, "j1")
    lease = store.claim_next(60)
    if way == "cancel":
        submit(store, "j2")
    ENDS[way](store, lease)

    job_id, state = TOLD[way]
    assert said(store, job_id)[-1] == (state, store.job(job_id).reason)


def test_what_a_killed_worker_left_behind_is_told_when_it_is_settled(store):
    submit(store, "j1")
    lease = store.claim_next(-1)
    assert store.settle(store.job("j1"), JobState.SUCCEEDED, "found")
    submit(store, "j2")
    store.claim_next(-1)
    assert store.requeue(store.job("j2"), "again")

    assert lease.job_id == "j1"
    assert said(store, "j1")[-1] == (JobState.SUCCEEDED, "found")
    assert said(store, "j2")[-1] == (JobState.QUEUED, "again")


def test_a_second_request_with_the_same_key_tells_nothing(store):
    submit(store, "j1", idempotency_key="k")
    submit(store, "j2", idempotency_key="k")

    assert said(store, "j1") == [(JobState.QUEUED, "")]
    assert said(store, "j2") == []


def test_events_are_read_from_a_number_on(store):
    submit(store, "j1")
    submit(store, "j2")
    numbers = [store.append_event("j1", JobState.REWRITING, f"part {i}") for i in range(5)]
    store.append_event("j2", JobState.REWRITING, "another job's")

    assert numbers == sorted(set(numbers))
    assert [e.number for e in store.events_after("j1", numbers[1])] == numbers[2:]
    assert [e.message for e in store.events_after("j1", numbers[0], 2)] == ["part 1", "part 2"]
    assert store.events_after("j1", numbers[-1]) == []
    assert store.events_after("nobody") == []


def test_progress_is_kept_with_its_event_and_with_the_job(store):
    submit(store, "j1")
    lease = store.claim_next(60)
    first = Progress(1, 10, 30, 2**40, 2**39, 2**41)
    store.append_event("j1", JobState.REWRITING, "", first)
    store.append_event("j1", JobState.REWRITING, "a message keeps the progress")

    assert store.job("j1").progress == first
    assert [event.progress for event in store.events_after("j1")][-2:] == [first, None]
    # Another attempt begins anew.
    store.retry(lease, "again")
    assert store.claim_next(60) is not None
    assert store.job("j1").progress is None


@pytest.mark.parametrize("text", ["", "ein Wort – “quoted”", "line\nbreak", "\x00 zero", "🧊" * 50])
def test_a_message_comes_back_as_it_was(store, text):
    submit(store, "j1")
    store.append_event("j1", JobState.PLANNING, text)

    assert store.events_after("j1")[-1].message == text


def test_events_are_told_on_the_clock_of_the_store(store):
    submit(store, "j1")
    now = datetime.now(tz=UTC)

    assert abs(store.events_after("j1")[0].at - now) < timedelta(seconds=10)


def test_a_job_knows_when_it_began_and_how_long_it_should_take(store):
    submit(store, "j1", estimated_seconds=12.5)
    assert (store.job("j1").started_at, store.job("j1").estimated_seconds) == (None, 12.5)
    store.claim_next(60)
    job = store.job("j1")

    assert job.created_at <= job.started_at <= job.updated_at
    assert (job.estimated_seconds, store.submit("j2", REQUEST).estimated_seconds) == (12.5, None)


EVENT_HISTORY = 50_000


def fill(store, redis_server):
    """As many events of another job as are kept, without waiting for each."""
    if isinstance(store, SqliteStore):
        with sqlite3.connect("state.db") as db:
            db.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                "INSERT INTO events (job_id, told_at, phase, message) "
                "SELECT 'busy', 0, 'rewriting', '' FROM n",
                (EVENT_HISTORY,),
            )
        db.close()
    elif isinstance(store, RedisStore):
        prefix = store._server._layout_key.removesuffix("layout")
        event = json.dumps(["{}", "0", "rewriting", "", ""])
        script = (
            "for i = 1, tonumber(ARGV[1]) do "
            "local n = redis.call('INCR', KEYS[1] .. 'event_numbers') "
            "redis.call('ZADD', KEYS[1] .. 'events_of:busy', n, (ARGV[2]:gsub('{}', n))) "
            "redis.call('ZADD', KEYS[1] .. 'events', n, 'busy:' .. n) end"
        )
        for _ in range(10):
            redis_server.ask("EVAL", script, "1", prefix, str(EVENT_HISTORY // 10), event)
    else:
        for _ in range(EVENT_HISTORY):
            store.append_event("busy", JobState.REWRITING)


def test_the_oldest_events_of_all_are_forgotten(store, redis_server):
    submit(store, "old")
    fill(store, redis_server)
    number = store.append_event("new", JobState.REWRITING, "last")
    store.append_event("new", JobState.REWRITING, "very last")

    assert store.events_after("old") == []
    assert [e.message for e in store.events_after("new")] == ["last", "very last"]
    (oldest,) = store.events_after("busy", limit=1)
    assert number - EVENT_HISTORY <= oldest.number <= number - EVENT_HISTORY + 4
    assert store.events_after("busy", number - 2)[0].number == number - 1


# Pages of jobs


def test_jobs_come_in_pages(store):
    for number in range(7):
        submit(store, f"j{number}", on="t" if number % 2 else "u")
    pages, before = [], None
    while page := store.jobs(limit=3, before=before):
        pages.append([job.job_id for job in page])
        before = page[-1].position
        # Jobs that come meanwhile are on no later page.
        submit(store, f"late {before}")

    assert pages == [["j6", "j5", "j4"], ["j3", "j2", "j1"], ["j0"]]
    of_t = store.jobs(table("t"), limit=2)
    assert [job.job_id for job in of_t] == ["j5", "j3"]
    assert [j.job_id for j in store.jobs(table("t"), before=of_t[-1].position)] == ["j1"]


def test_jobs_are_chosen_by_state_operation_and_tenant(store):

    submit(store, "a", tenant="x")
    submit(store, "b", operation="rollback")
    submit(store, "c", tenant="x", operation="rollback")
    finish(store, store.claim_job("a", 60))
    store.cancel("b")

    def chosen(**said):
        return [job.job_id for job in store.jobs(chosen=JobFilter(**said))]

    assert chosen() == ["c", "b", "a"]
    assert chosen(tenant="x") == ["c", "a"]
    assert chosen(tenant="") == ["b"]
    assert chosen(operation="rollback") == ["c", "b"]
    assert chosen(states=frozenset({JobState.SUCCEEDED, JobState.CANCELLED})) == ["b", "a"]
    assert chosen(states=frozenset({JobState.QUEUED}), tenant="x", operation="rollback") == ["c"]
    assert store.jobs(chosen=JobFilter(tenant="x"), limit=1)[0].job_id == "c"


def test_jobs_that_failed_as_often_as_they_may_are_chosen(store):
    submit(store, "dead", max_attempts=1)
    store.retry(store.claim_job("dead", 60), "It broke.")
    submit(store, "alive")

    def chosen(is_dead):
        return [job.job_id for job in store.jobs(chosen=JobFilter(is_dead=is_dead))]

    assert (chosen(None), chosen(True), chosen(False)) == (["alive", "dead"], ["dead"], ["alive"])
    store.dismiss("dead")
    assert chosen(True) == []


def test_a_filter_finds_what_lies_many_pages_behind(store):
    submit(store, "needle", tenant="rare")
    store.submit_all({f"j{i}": REQUEST for i in range(1100)})

    assert [j.job_id for j in store.jobs(chosen=JobFilter(tenant="rare"), limit=5)] == ["needle"]


def test_many_jobs_are_submitted_at_once_each_once(store):

    first = store.submit_all({"a": replace(REQUEST, idempotency_key="k"), "b": REQUEST})
    again = store.submit_all({"c": replace(REQUEST, idempotency_key="k"), "d": REQUEST})

    assert [job.job_id for job in first] == ["a", "b"]
    assert [job.job_id for job in again] == ["a", "d"]


def test_a_dead_job_is_taken_off_the_list_and_stays_failed(store):
    submit(store, "j1", max_attempts=1)
    store.retry(store.claim_next(60), "no space")
    assert [job.job_id for job in store.dead_jobs()] == ["j1"]

    assert store.dismiss("j1")
    assert not store.dismiss("j1")
    assert not store.dismiss("nobody")
    assert store.dead_jobs() == []
    assert (store.job("j1").state, store.job("j1").is_dead) == (JobState.FAILED, False)
