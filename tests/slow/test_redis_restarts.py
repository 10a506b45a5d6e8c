"""Servers that are killed, come back, forget, or do not answer."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from neve.model.errors import LeaseLost, StoreError
from neve.model.job import JobRequest, JobState
from neve.model.orphans import Orphan
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.store.redis.store import RedisStore
from neve.testing.facts import NOW
from neve.testing.redis_server import RedisProcess

pytestmark = pytest.mark.promise(41)

T, U = TableRef("lake", ("db",), "t"), TableRef("lake", ("db",), "u")
REQUEST = JobRequest(T, "rewrite_data_files")
CANARY = "canary-5f2a9"
ORPHAN = Orphan("s3://b/x", 2**40, datetime(2026, 1, 2, tzinfo=UTC), None, "nobody's")


def outcome(job_id):
    return Outcome(job_id, T, "rewrite_data_files", Status.FAILED, "why", NOW, NOW)


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
