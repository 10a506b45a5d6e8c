"""Servers that are away, or answer into nothing; those that are killed are in `tests/slow`."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime

import pytest
from tests.edges.store.cutting_proxy import CuttingProxy

from neve.model.errors import StoreError
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


def test_trying_again_prints_nothing(cut, capsys, monkeypatch):
    """Neither beside results, nor beside the one sentence about a server that is away."""
    _, way = cut
    monkeypatch.setattr(logging.root, "handlers", [])
    store = open_store(way.url)
    lose(way)

    assert store.claim_next(60).job_id == "j1"
    assert (way.was_cut, capsys.readouterr()) == (2, ("", ""))


def test_every_request_is_one_of_its_own(cut):
    store, _ = cut
    assert store.claim_next(60).job_id == "j1"
    assert store.claim_next(60).job_id == "j2"
