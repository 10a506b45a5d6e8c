"""What processes tell each other through the store: policies that were set, workers that are there,
and tables that are tried again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.edges.store.queueing import T, claimed, finish, submit

from neve.model.job import JobState
from neve.model.outcome import Status
from neve.model.workers import AnnouncedWorker, EngineReport, EngineState

pytestmark = pytest.mark.promise(40, 51, 52)


def put(store, name="p", document="{}", expected=None):
    return store.policies.put(name, document, expected=expected, updated_by="ann")


def test_a_policy_is_kept_as_it_was_given(store):
    assert store.policies.all() == []
    made = put(store, "b ü/%", '{"é": "\\n"}')
    other = put(store, "a")

    assert store.policies.all() == [other, made]
    assert (made.name, made.document, made.updated_by) == ("b ü/%", '{"é": "\\n"}', "ann")


def test_a_policy_is_changed_by_who_knows_its_revision(store):
    first = put(store)
    assert put(store) is None
    assert put(store, expected=first.revision + 1) is None
    second = put(store, document='{"n": 2}', expected=first.revision)

    assert put(store, expected=first.revision) is None
    assert not store.policies.remove("p", expected=first.revision)
    assert store.policies.all() == [second]
    assert store.policies.remove("p", expected=second.revision)
    assert store.policies.all() == []


def test_a_policy_that_is_made_anew_is_another_one(store):
    first = put(store)
    store.policies.remove("p", expected=first.revision)
    again = put(store)

    assert again.revision != first.revision
    assert put(store, expected=first.revision) is None


def test_of_many_changes_at_once_one_succeeds(store):
    first = put(store)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda n: put(store, "p", str(n), first.revision), range(8)))

    (kept,) = [policy for policy in made if policy is not None]
    assert store.policies.all() == [kept]


def worker(name, state=EngineState.READY, running=0):
    return AnnouncedWorker(name, "host", 7, EngineReport("spark", state, "why"), 2, running)


def test_workers_are_there_as_long_as_they_say(store):
    assert store.workers.all() == []
    store.workers.announce(worker("b"), 60)
    store.workers.announce(worker("a", EngineState.STARTING), 60)
    store.workers.announce(worker("gone"), -1)
    store.workers.announce(worker("b", EngineState.FAILED, 1), 60)

    assert store.workers.all() == [
        worker("a", EngineState.STARTING),
        worker("b", EngineState.FAILED, 1),
    ]
    store.workers.leave("a")
    store.workers.leave("nobody")
    assert [found.worker_id for found in store.workers.all()] == ["b"]


# Tables that are tried again


def test_one_job_is_tried_after_the_pause_and_the_others_wait_for_the_next(store):
    for name in ("j1", "j2"):
        submit(store, name, on="t")
    store.set_aside(T, "It keeps failing.", 3600)
    assert claimed(store, 1) == [None]

    store.set_aside(T, "It keeps failing.", -1)
    lease = store.claim_next(60)
    assert lease.job_id == "j1"
    finish(store, lease, Status.FAILED)
    # With a pause that is over again, the next job is the next try.
    assert claimed(store, 1) == ["j2"]


def test_a_try_that_fails_leaves_the_table_aside(store):
    for name in ("j1", "j2"):
        submit(store, name, on="t")
    store.set_aside(T, "why", 0.0)
    (aside,) = store.set_aside_tables()
    assert aside.retry_at - aside.since < timedelta(seconds=1)
    lease = store.claim_next(60)
    store.set_aside(T, "again", 3600)
    finish(store, lease, Status.FAILED)

    assert claimed(store, 1) == [None]
    (aside,) = store.set_aside_tables()
    assert aside.reason == "again"
    assert timedelta(minutes=59) < aside.retry_at - aside.since < timedelta(minutes=61)


def test_whoever_begins_a_try_lets_the_others_wait(store):
    for name in ("j1", "j2"):
        submit(store, name, on="t")
    store.set_aside(T, "why", 0.5)
    while (lease := store.claim_next(60)) is None:
        pass
    store.end(lease, JobState.FAILED, "no")
    store.release(lease)

    # Nobody has said anything of the table since.
    assert claimed(store, 1) == [None]


@pytest.mark.parametrize("by_name", [False, True])
def test_the_first_success_puts_the_table_back(store, by_name):
    for name in ("j1", "j2"):
        submit(store, name, on="t")
    store.set_aside(T, "why", 3600 if by_name else -1)
    finish(store, store.claim_job("j1", 60) if by_name else store.claim_next(60))

    assert store.set_aside_tables() == []
    assert claimed(store, 1) == ["j2"]


def test_workers_do_not_take_over_what_a_person_set_aside(store):
    """Jobs that ran when it was set aside may fail after it."""
    submit(store, "waiting", on="t")
    store.set_aside(T, "It is being moved.")
    store.set_aside(T, "It keeps failing.", -1)

    (aside,) = store.set_aside_tables()
    assert (aside.reason, aside.retry_at) == ("It is being moved.", None)
    assert store.claim_next(60) is None
    store.put_back(T)
    store.set_aside(T, "It keeps failing.", -1)
    assert store.claim_next(60).job_id == "waiting"


def test_a_table_that_a_person_set_aside_is_never_tried(store):
    submit(store, "j1", on="t")
    submit(store, "j2", on="t")
    store.set_aside(T, "It fails.", -1)
    store.set_aside(T, "It is being moved.")

    assert claimed(store, 1) == [None]
    finish(store, store.claim_job("j1", 60))
    (aside,) = store.set_aside_tables()
    assert (aside.reason, aside.retry_at) == ("It is being moved.", None)


def test_a_table_that_is_put_back_is_not_tried_any_more(store):
    submit(store, "j1", on="t")
    store.set_aside(T, "why", -1)
    assert store.put_back(T)
    store.set_aside(T, "It is being moved.")

    assert claimed(store, 1) == [None]
