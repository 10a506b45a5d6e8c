"""Room for jobs of a tenant: never given twice, alike in all three stores."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from neve.access.quotas import Quota, Room
from neve.model.errors import TableBusy, TooMuch
from neve.model.job import JobRequest
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.service.quotas import held_room
from neve.store.rooms import SqliteRooms
from neve.store.sqlite import SqliteStore

T = TableRef("lake", ("db",), "t")
pytestmark = pytest.mark.promise(60)


def now():
    return datetime.now(tz=UTC)


def asked(room="", tenant="a", **more):
    return JobRequest(T, "rewrite_data_files", tenant=tenant, room=room, **more)


def room_of(store, jobs, quota=3, tenant="a", key=""):
    return held_room(Quota(max_open_jobs=quota), store, tenant, now(), jobs, key)


def test_room_is_counted_until_it_is_used_or_given_back(store):
    with room_of(store, 2) as room:
        with pytest.raises(TooMuch, match="has 2 jobs that wait or run, and may have 3"):
            room_of(store, 2).__enter__()
        store.submit("j1", asked(room))
        with room_of(store, 1), pytest.raises(TooMuch, match="has 3 jobs"):
            room_of(store, 1).__enter__()
    assert store.usage("a", now().date()).open_jobs == 1
    with room_of(store, 2):
        pass
    with pytest.raises(TooMuch, match="has 1 jobs"):
        room_of(store, 3).__enter__()


def test_tenants_do_not_share_room(store):
    with (
        room_of(store, 3, tenant="a"),
        room_of(store, 3, tenant="a:b"),
        room_of(store, 3, tenant=""),
        room_of(store, 3, tenant="1:a") as room,
    ):
        with pytest.raises(TooMuch):
            store.submit("j1", asked(room, "a"))
        assert store.job("j1") is None
        store.submit("j1", asked(room, "1:a"))


@pytest.mark.parametrize("make", [lambda s, r: s.submit("j9", r), lambda s, r: s.begin("j9", r, 9)])
def test_a_job_whose_room_is_gone_or_used_is_not_queued(store, make: Callable):
    with room_of(store, 1) as room:
        store.cancel(store.submit("j1", asked(room)).job_id)
        with pytest.raises(TooMuch, match="went to others"):
            make(store, asked(room))
    with pytest.raises(TooMuch, match="went to others"):
        make(store, asked(room))
    assert store.job("j9") is None


def test_the_same_job_again_needs_no_room(store):
    with room_of(store, 1) as room:
        first = store.submit("j1", asked(room, idempotency_key="k"))
        assert store.submit("j1", asked(room, idempotency_key="k")) == first
        assert store.submit("j2", asked(room, idempotency_key="k")) == first
    with room_of(store, 1) as room:
        assert store.submit("j3", asked(room, idempotency_key="k")) == first
        # What was not used by it is there for another one.
        store.submit("j4", asked(room))


def test_requests_with_one_key_share_the_room_of_their_job(store):
    with room_of(store, 1, quota=1, key="k") as room:
        with room_of(store, 1, quota=1, key="k") as again:
            pass
        # What was not its own it did not give back.
        assert again == room
        with pytest.raises(TooMuch):
            room_of(store, 1, quota=1, key="other").__enter__()
        with room_of(store, 1, quota=1, key="k") as again:
            first = store.submit("j1", asked(again, idempotency_key="k"))
        assert store.submit("j2", asked(room, idempotency_key="k")) == first
    with room_of(store, 1, quota=1, key="k") as room:
        assert store.submit("j3", asked(room, idempotency_key="k")) == first
    with pytest.raises(TooMuch):
        room_of(store, 1, quota=1).__enter__()
    assert store.usage("a", now().date()).open_jobs == 1


def test_a_room_that_another_one_gave_back_is_used_by_nobody(store):
    first = room_of(store, 1, quota=1, key="k")
    first.__enter__()
    with room_of(store, 1, quota=1, key="k") as room:
        first.__exit__(None, None, None)
        with pytest.raises(TooMuch, match="went to others"):
            store.submit("j1", asked(room, idempotency_key="k"))
    with room_of(store, 1, quota=1, key="k") as room:
        store.submit("j1", asked(room, idempotency_key="k"))


def test_a_job_that_is_begun_at_once_uses_its_room(store):
    with room_of(store, 1, quota=1) as room:
        lease = store.begin("j1", asked(room), 60)
        with pytest.raises(TooMuch):
            room_of(store, 1, quota=1).__enter__()
    with room_of(store, 1, quota=2) as room, pytest.raises(TableBusy):
        store.begin("j2", asked(room), 60)
    store.release(lease)


def test_bytes_and_dollars_are_asked_with_the_room(store):
    lease = store.begin("j1", asked(), 60)
    times = {"started_at": now(), "finished_at": now()}
    spent = {"bytes_rewritten": 2**40, "actual_usd": 0.5}
    store.finish(lease, Outcome("j1", T, "x", Status.SUCCEEDED, "", **times, **spent))
    day = now()
    for quota, words in (
        (Quota(max_bytes_per_day=2**40), "rewritten 1.0 TB today"),
        (Quota(max_usd_per_day=0.5), "has spent 0.50 USD today"),
    ):
        with pytest.raises(TooMuch, match=words):
            held_room(quota, store, "a", day, 1).__enter__()
    with held_room(Quota(max_bytes_per_day=2**40 + 1), store, "a", day, 1) as room:
        store.submit("j2", asked(room))
    with held_room(Quota(max_bytes_per_day=2**40), store, "a", day + timedelta(1), 1):
        pass


def test_room_of_a_process_that_died_is_given_to_others(store, monkeypatch):
    with monkeypatch.context() as patch:
        for module in ("neve.store.rooms", "neve.store.redis.rooms", "neve.testing.rooms"):
            patch.setattr(f"{module}.HELD_SECONDS", -1)
        room = Room("r1", "a", 1)
        assert store.rooms.hold(room, Quota(max_open_jobs=1), now())
        with pytest.raises(TooMuch):
            store.submit("j1", asked("r1"))
    with room_of(store, 1, quota=1) as held:
        store.submit("j1", asked(held))


def several(store):
    """The same state, as several processes have it."""
    is_file = isinstance(store, SqliteStore)
    return [SqliteStore(Path("state.db")) if is_file else store for _ in range(4)]


def test_servers_that_ask_at_once_get_exactly_what_there_is(store):
    servers, quota, begin = several(store), 7, threading.Barrier(4)
    taken: list[str] = []

    def ask(number, server):
        begin.wait()
        for turn in range(5):
            try:
                with room_of(server, 1, quota) as room:
                    taken.append(server.submit(f"j{number}-{turn}", asked(room)).job_id)
            except TooMuch:
                continue

    threads = [threading.Thread(target=ask, args=item) for item in enumerate(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == quota == store.usage("a", now().date()).open_jobs


def test_one_request_that_is_sent_to_several_servers_at_once_is_one_job(store):
    servers, begin = several(store), threading.Barrier(4)
    became: list[str] = []

    def ask(number, server):
        begin.wait()
        for turn in range(5):
            with room_of(server, 1, quota=5, key=f"k{turn}") as room:
                request = asked(room, idempotency_key=f"k{turn}")
                became.append(server.submit(f"j{number}-{turn}", request).job_id)

    threads = [threading.Thread(target=ask, args=item) for item in enumerate(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(became), len(set(became))) == (20, 5)


def test_nothing_is_left_of_rooms_that_were_given_back():
    store = SqliteStore(Path("state.db"))
    with room_of(store, 2):
        pass
    assert SqliteRooms(Path("state.db"))._rows("rooms", "SELECT * FROM rooms", ()) == []
