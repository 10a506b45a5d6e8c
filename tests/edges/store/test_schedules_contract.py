"""Turns of tables, on every store: each once, however many ask, and none while they are paused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from tests.edges.store.queueing import T, finish, submit, table

from neve.model.job import JobState, ScheduleState, Turn

pytestmark = pytest.mark.promise(43)

U = table("u")


def now():
    return datetime.now(tz=UTC)


def has_turn(store, seen, slot):
    """Whether the turn is had, among those of others."""
    had = store.record_turns([Turn(U, now(), slot), Turn(T, seen, slot)])
    assert had <= {T}
    return T in had


def last_run(store):
    state = store.schedule_state(T)
    return state and state.last_run


def test_a_turn_comes_only_after_the_one_that_was_seen(store):
    assert has_turn(store, None, now())
    first = last_run(store)
    assert abs(first - now()) < timedelta(seconds=10)

    assert not has_turn(store, None, now())
    assert not has_turn(store, first - timedelta(seconds=1), now())
    assert last_run(store) == first
    assert has_turn(store, first, now())
    assert last_run(store) >= first


def test_the_time_is_that_of_the_store(store):
    before = store.now()
    assert has_turn(store, None, before)
    assert before - timedelta(milliseconds=2) <= last_run(store)
    assert last_run(store) <= store.now() + timedelta(milliseconds=2)
    assert abs(before - now()) < timedelta(seconds=10)


def test_a_turn_that_is_later_on_the_schedulers_clock_counts_as_that(store):
    """Otherwise a store whose clock is behind would have the same turn come again."""
    slot = now() + timedelta(hours=1)
    assert has_turn(store, None, slot)

    assert abs(last_run(store) - slot) < timedelta(milliseconds=1)


def test_a_maintained_table_has_had_its_turn(store):
    store.record_run([T, U])
    assert not has_turn(store, None, now())
    assert {state.table for state in store.schedule_states()} == {T, U}


def test_of_many_who_see_the_same_one_has_the_turn(store):
    store.record_run([T])
    seen, slot = last_run(store), now()
    with ThreadPoolExecutor(8) as pool:
        had = list(pool.map(lambda _: has_turn(store, seen, slot), range(16)))

    assert sum(had) == 1


def test_turns_are_paused_and_resumed(store):
    assert store.schedule_state(T) is None
    store.pause(T)
    store.pause(T)
    assert store.schedule_state(T) == ScheduleState(T, None, True)
    assert store.schedule_states() == [ScheduleState(T, None, True)]
    assert store.record_turns([]) == set()

    assert has_turn(store, None, now())
    assert store.schedule_state(T).is_paused
    store.record_run([T])
    assert store.schedule_state(T).is_paused
    assert store.resume(T)
    assert not store.resume(T)
    assert not store.resume(U)
    assert not store.schedule_state(T).is_paused


def test_a_table_is_active_from_being_asked_for_to_its_end(store):
    def active():
        return store.active_tables([T, U])

    assert active() == set()
    submit(store, "j1", on="t")
    submit(store, "j2", on="elsewhere")
    assert active() == {T}
    lease = store.claim_job("j1", 60)
    assert active() == {T}
    store.end(lease, JobState.UNKNOWN, "")
    store.release(lease)
    assert active() == {T}
    store.settle(store.job("j1"), JobState.FAILED, "")
    assert active() == set()


def test_a_table_is_active_while_a_job_waits_for_its_time(store):
    submit(store, "j1", on="t")
    store.retry(store.claim_next(60), "later", 3600)
    submit(store, "j2", on="u")
    assert store.active_tables([T, U]) == {T, U}
    store.cancel("j1")
    finish(store, store.claim_next(60))

    assert store.active_tables([T, U]) == set()
    assert store.active_tables([]) == set()
