from __future__ import annotations

import threading

import pytest

from neve.model.errors import LeaseLost, StoreError, TableBusy
from neve.model.job import JobState, Lease
from neve.service.lease import LAST_SECONDS, StopSignal, hold
from neve.testing.facts import TABLE

WAIT_SECONDS = 10


class CountedRenewals:
    """A store whose heartbeats can be waited for, and made to fail."""

    def __init__(self, store, *errors):
        self._store = store
        self._errors = list(errors)
        self.beats = threading.Semaphore(0)

    def __getattr__(self, name):
        return getattr(self._store, name)

    def renew(self, lease, seconds):
        self.beats.release()
        if self._errors:
            raise self._errors.pop(0)
        return self._store.renew(lease, seconds)

    def wait_for(self, count):
        return all(self.beats.acquire(timeout=WAIT_SECONDS) for _ in range(count))


def held_table(store, seconds=60.0):
    return hold(store, store.claim("j1", TABLE, "rollback", seconds), seconds)


def test_a_held_table_is_busy_and_free_afterwards(store):
    with held_table(store), pytest.raises(TableBusy):
        store.claim("j2", TABLE, "rollback", 60)

    assert store.claim("j2", TABLE, "rollback", 60).epoch == 2


def test_a_table_is_free_after_an_error(store):
    with pytest.raises(ZeroDivisionError), held_table(store):
        raise ZeroDivisionError

    assert store.claim("j2", TABLE, "rollback", 60).epoch == 2


def test_a_heartbeat_renews_the_lease(store):
    counted = CountedRenewals(store)

    with held_table(counted, 0.03):
        assert counted.wait_for(3)


def test_a_heartbeat_survives_a_store_that_comes_back(store):
    counted = CountedRenewals(store, StoreError("busy"))

    with held_table(counted, 0.03) as held:
        assert counted.wait_for(2)
        held.check()


def test_a_heartbeat_that_finds_the_lease_lost_is_remembered(store):
    counted = CountedRenewals(store, LeaseLost("gone"))

    with held_table(counted, 0.03) as held:
        assert counted.wait_for(1)
        for thread in threading.enumerate():
            if thread.name == "neve-lease":
                thread.join(WAIT_SECONDS)
        with pytest.raises(LeaseLost, match="gone"):
            held.check()


def test_a_lease_that_another_job_has_taken_is_found_by_asking(store, clock):
    with held_table(store) as held:
        clock.advance(61)
        store.claim("j2", TABLE, "rollback", 60)
        with pytest.raises(LeaseLost):
            held.check()
        with pytest.raises(LeaseLost):
            held.enter(JobState.COMMITTING)

    assert store.job("j1").state is JobState.PLANNING


def test_a_lease_that_ran_out_is_taken_up_again_where_nobody_came(store, clock):
    with held_table(store) as held:
        clock.advance(61)
        held.check()
        held.enter(JobState.COMMITTING)
        with pytest.raises(TableBusy):
            store.claim("j2", TABLE, "rollback", 60)

    assert store.job("j1").state is JobState.COMMITTING


def test_a_job_that_deletes_ends_where_its_lease_ran_out(store, clock):
    """What it looked up stands for moments, and no commit asserts it once more."""
    lease = store.claim("j1", TABLE, "remove_orphan_files", 60)
    with hold(store, lease, 60, is_deleting=True) as held:
        clock.advance(59)
        held.check()
        clock.advance(59)
        held.check()
        clock.advance(61)
        for _ in range(2):
            with pytest.raises(LeaseLost, match="nothing more is deleted"):
                held.check()


def test_a_store_that_is_away_stops_the_job(store):
    with held_table(CountedRenewals(store, StoreError("away"))) as held, pytest.raises(StoreError):
        held.check()


def test_entering_a_state_records_it(store):
    with held_table(store) as held:
        held.enter(JobState.REWRITING)

    assert store.job("j1").state is JobState.REWRITING


@pytest.mark.parametrize("who", ["the job", "the process"])
def test_what_a_job_waits_for_is_ended_once_when_it_is_to_stop(store, who):
    store.claim("j1", TABLE, "rollback", 60)
    signal, ended = StopSignal(), threading.Semaphore(0)
    lease = store.renew(Lease("j1", TABLE, 1, store._clock()), 60)

    with hold(store, lease, 0.03, signal, ended.release):
        assert not ended.acquire(timeout=0.05)
        if who == "the job":
            store.cancel("j1")
        else:
            signal.ask()
        assert ended.acquire(timeout=WAIT_SECONDS)
        assert not ended.acquire(timeout=0.1)


def test_a_job_is_handed_back_only_for_the_sake_of_its_process(store):
    store.claim("j1", TABLE, "rollback", 60)
    signal = StopSignal()
    lease = store.renew(Lease("j1", TABLE, 1, store._clock()), 60)
    with hold(store, lease, 60, signal) as held:
        assert not held.is_handed_back
        signal.ask()
        assert held.is_handed_back
        store.cancel("j1")
        held.require()
        assert not held.is_handed_back


@pytest.mark.parametrize(
    ("state", "end", "is_claimed"),
    [
        (JobState.PLANNING, JobState.CANCELLED, False),
        (JobState.REWRITING, JobState.UNKNOWN, True),
        (JobState.COMMITTING, JobState.UNKNOWN, True),
    ],
)
def test_a_job_that_is_given_up_has_an_end_and_its_table_is_free_soon(
    store, clock, state, end, is_claimed
):
    signal = StopSignal()
    with hold(store, store.claim("j1", TABLE, "rollback", 60), 60, signal) as held:
        if state is not JobState.PLANNING:
            held.enter(state)
        assert signal.leave() == ["j1"]
        assert store.job("j1").state is end
        if is_claimed:
            # What it has asked for may still land.
            with pytest.raises(TableBusy):
                store.claim("j2", TABLE, "rollback", 60)
            clock.advance(LAST_SECONDS + 1)
        store.claim("j2", TABLE, "rollback", 60)
