"""Servers that are away, come back, forget, or answer into nothing."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from tests.unit.store.cutting_proxy import CuttingProxy

from neve.model.errors import LeaseLost, StoreError
from neve.model.job import JobRequest, JobState
from neve.model.orphans import Orphan
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.store.opening import open_store
from neve.store.redis.store import RedisStore
from neve.testing.facts import NOW
from neve.testing.redis_server import RedisProcess

pytestmark = pytest.mark.promise(41)

T, U = TableRef("lake", ("db",), "t"), TableRef("lake", ("db",), "u")
REQUEST = JobRequest(T, "rewrite_data_files")
CANARY = "canary-5f2a9"
ORPHAN = Orphan("s3://b/x", 2**40, datetime(2026, 1, 2, tzinfo=UTC), None, "nobody's")


def test_a_server_that_is_away_is_told_within_bounded_time():
    store = RedisStore(f"redis://user:{CANARY}@127.0.0.1:1/0", patience_seconds=0.3)
    begun = time.monotonic()

    for use in (store.jobs, lambda: store.submit("j1", REQUEST), store.check):
        with pytest.raises(StoreError, match=r"redis://127\.0\.0\.1:1/0 cannot be reached") as told:
            use()
        assert "state.url" in told.value.next_step
        assert CANARY not in f"{told.value!r}{told.value.__cause__!r}"
    assert time.monotonic() - begun < 10


def test_a_server_that_does_not_answer_is_told(tmp_path):
    with RedisProcess(tmp_path) as server:
        url = f"{server.url}?socket_timeout=0.1"
        store = RedisStore(url, patience_seconds=0.3)
        store.submit("j1", REQUEST)
        server.ask("CLIENT", "PAUSE", "1000", "ALL")
        with pytest.raises(StoreError, match="did not answer in time"):
            store.jobs()


def test_a_wrong_password_is_told_and_not_shown(tmp_path):
    with RedisProcess(tmp_path, "--requirepass", CANARY) as server:
        right = server.url.replace("redis://", f"redis://:{CANARY}@")
        RedisStore(right).submit("j1", REQUEST)
        begun = time.monotonic()
        for url in (server.url, right.replace(CANARY, f"{CANARY}x")):
            with pytest.raises(StoreError, match="refuses user or password") as told:
                RedisStore(url).jobs()
            assert CANARY not in f"{told.value!r}{told.value.__cause__!r}"
        # There is nothing to wait for.
        assert time.monotonic() - begun < 5


def test_a_server_that_is_loading_is_waited_for(tmp_path):
    server = RedisProcess(tmp_path, "--enable-debug-command", "yes").start()
    store = RedisStore(server.url)
    store.submit("j1", REQUEST)
    server.ask("DEBUG", "POPULATE", "1500")
    server.ask("SAVE")
    server.kill()
    slowly = ("--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
    with RedisProcess(tmp_path, *slowly, port=server.port):
        hasty = RedisStore(server.url, patience_seconds=0.2)
        with pytest.raises(StoreError, match="is still loading its data"):
            hasty.jobs()
        assert store.job("j1").state is JobState.QUEUED


def test_nothing_is_lost_by_a_restart(tmp_path):
    server = RedisProcess(tmp_path, is_durable=True).start()
    store = RedisStore(server.url)
    lease = store.claim("j1", T, "rollback", 60)
    store.submit("j2", REQUEST)
    store.submit("j3", JobRequest(U, "rewrite_data_files"))
    store.set_aside(U, "why")
    store.quarantine.add(T, "u", "j1", [ORPHAN])
    server.kill()
    with server:
        assert store.renew(lease, 60).epoch == lease.epoch
        assert store.claim_next(60) is None
        store.end(lease, JobState.FAILED, "no")
        store.release(lease)
        again = store.claim_next(60)
        assert (again.job_id, again.epoch) == ("j2", 2)
        assert [aside.table for aside in store.set_aside_tables()] == [U]
        assert [entry.orphan for entry in store.quarantine.due("u", 0)] == [ORPHAN]


def test_a_call_waits_for_a_server_that_is_restarted(tmp_path):
    server = RedisProcess(tmp_path, is_durable=True).start()
    store = RedisStore(server.url)
    store.submit("j1", REQUEST)
    server.kill()
    restart = threading.Timer(0.3, server.start)
    restart.start()
    try:
        assert store.claim_next(60).job_id == "j1"
    finally:
        restart.join()
        server.stop()


def test_workers_lose_nothing_and_do_nothing_twice_while_their_server_is_killed(tmp_path):
    server = RedisProcess(tmp_path, is_durable=True).start()
    names = [f"j{number}" for number in range(60)]
    stores = [RedisStore(server.url, patience_seconds=60) for _ in range(3)]
    for number, name in enumerate(names):
        stores[0].submit(name, JobRequest(TableRef("lake", (), f"t{number % 7}"), "rollback"))
    ended = queue.Queue()

    def work(store):
        while any(not job.state.is_final for job in store.jobs()):
            if lease := store.claim_next(60):
                store.set_state(lease, JobState.REWRITING)
                store.end(lease, JobState.SUCCEEDED, "")
                store.release(lease)
                ended.put(lease.job_id)

    with ThreadPoolExecutor(3) as pool:
        working = [pool.submit(work, store) for store in stores]
        seen = []
        for _ in range(3):
            seen += [ended.get(timeout=60) for _ in range(12)]
            server.kill()
            server.start()
        for worker in working:
            worker.result()
    seen += [ended.get_nowait() for _ in range(ended.qsize())]

    assert sorted(seen) == sorted(names)
    assert {(job.state, job.attempts) for job in stores[0].jobs()} == {(JobState.SUCCEEDED, 1)}
    server.stop()


def test_a_server_that_forgot_everything_leaves_nobody_with_a_claim(tmp_path):
    server = RedisProcess(tmp_path).start()
    store = RedisStore(server.url)
    lease = store.claim("j1", T, "rollback", 60)
    server.kill()
    with server:
        newer = store.claim("j2", T, "rollback", 60)
        assert newer.epoch == lease.epoch
        for use in (
            lambda: store.renew(lease, 60),
            lambda: store.set_state(lease, JobState.COMMITTING),
            lambda: store.end(lease, JobState.SUCCEEDED, ""),
            lambda: store.retry(lease, ""),
        ):
            with pytest.raises(LeaseLost):
                use()
        store.release(lease)
        assert store.renew(newer, 60).epoch == newer.epoch


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    with RedisProcess(tmp_path_factory.mktemp("redis")) as server:
        proxy = CuttingProxy(server.port)
        yield server, proxy
        proxy.close()


@pytest.fixture
def cut(proxy):
    """A store whose next answers can be lost."""
    server, way = proxy
    server.ask("FLUSHALL")
    way.cuts = 0
    store = RedisStore(way.url)
    store.submit("j1", REQUEST)
    store.submit("j2", JobRequest(U, "rewrite_data_files"))
    yield store, way
    store.close()


def lose(way, times=2):
    way.was_cut = 0
    way.cuts = times


def outcome(job_id):
    return Outcome(job_id, T, "rewrite_data_files", Status.FAILED, "why", NOW, NOW)


def test_a_claim_whose_answer_was_lost_is_made_once(cut):
    store, way = cut
    lose(way)

    lease = store.claim_next(60)

    assert (way.was_cut, lease.job_id, lease.epoch) == (2, "j1", 1)
    assert (store.job("j1").attempts, store.job("j2").state) == (1, JobState.QUEUED)
    assert store.renew(lease, 60).epoch == 1


def test_a_job_that_is_claimed_by_name_is_claimed_once(cut):
    store, way = cut
    lose(way)
    assert store.claim_job("j1", 60).epoch == 1
    lose(way)
    assert store.claim("j9", TableRef("lake", ("db",), "v"), "rollback", 60).epoch == 1
    assert way.was_cut == 2
    assert store.job("j1").attempts == 1


def test_an_end_whose_answer_was_lost_is_no_lost_claim(cut):
    store, way = cut
    lease = store.claim_job("j1", 60)
    lose(way)

    store.finish(lease, outcome("j1"))

    assert (way.was_cut, store.job("j1").state) == (2, JobState.FAILED)
    assert store.failures_in_a_row(T) == 1


@pytest.mark.parametrize("way_back", ["retry", "hand_back"])
def test_a_job_is_given_back_once(cut, way_back):
    store, way = cut
    lease = store.claim_job("j1", 60)
    lose(way)

    job = getattr(store, way_back)(lease, "why")

    assert (way.was_cut, job.state) == (2, JobState.QUEUED)
    assert job.attempts == (1 if way_back == "retry" else 0)


def test_a_job_left_behind_is_queued_again_once(cut):
    store, way = cut
    store.claim_job("j1", -1)
    left = store.job("j1")
    lose(way)
    assert store.requeue(left, "gone")
    assert (way.was_cut, store.failures_in_a_row(T)) == (2, 1)
    left = store.job("j2")
    lose(way)
    assert store.settle(left, JobState.FAILED, "gone")
    assert (way.was_cut, store.failures_in_a_row(U)) == (2, 1)


def test_what_is_counted_is_counted_once(cut):
    store, way = cut
    store.consumers.add("c", T, snapshot_id=1, lease_seconds=60)
    store.set_aside(T, "why")
    for use, answer in (
        (lambda: store.consumers.remove("c", T), True),
        (lambda: store.quarantine.add(T, "u", "j1", [ORPHAN]), 1),
        (lambda: store.put_back(T), True),
    ):
        lose(way)
        assert (use(), way.was_cut) == (answer, 2)


def test_trying_again_prints_nothing_where_results_are_printed(cut, capsys):
    _, way = cut
    store = open_store(way.url)
    lose(way)

    assert store.claim_next(60).job_id == "j1"
    assert (way.was_cut, capsys.readouterr().out) == (2, "")


def test_every_request_is_one_of_its_own(cut):
    store, _ = cut
    assert store.claim_next(60).job_id == "j1"
    assert store.claim_next(60).job_id == "j2"
