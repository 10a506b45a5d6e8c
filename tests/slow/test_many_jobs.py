"""Ten thousand jobs at once: each is begun and ended once, and every page of them is shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from neve.model.job import JobRequest, JobState
from neve.model.table import TableRef
from neve.store.redis.store import RedisStore
from neve.store.sqlite import SqliteStore
from neve.testing.redis_server import RedisProcess

pytestmark = [pytest.mark.promise(38, 39), pytest.mark.timeout(900)]

JOBS = 10_000
THREADS = 4


@pytest.fixture(params=["sqlite", "redis"])
def store(request, tmp_path):
    if request.param == "sqlite":
        yield SqliteStore(Path(tmp_path, "state.db"))
        return
    with RedisProcess(tmp_path, is_durable=True) as server:
        store = RedisStore(server.url)
        yield store
        store.close()


def submit(store, start):
    """A part of them, of which every hundredth comes with the key of another one."""
    requests = {
        f"j{number}": JobRequest(
            TableRef("lake", ("db",), f"t{number % 5000}"),
            "rewrite_data_files",
            tenant=f"tenant {number % 7}",
            priority=number % 3,
            idempotency_key=f"key {number}",
        )
        for number in range(start, JOBS, THREADS)
    }
    store.submit_all(requests)
    again = {f"again {name}": requests[name] for name in list(requests)[::100]}
    return [job.job_id for job in store.submit_all(again)]


def work(store):
    ended = []
    while lease := store.claim_next(600):
        store.end(lease, JobState.SUCCEEDED, "")
        store.release(lease)
        ended.append(lease.job_id)
    return ended


def pages(store):
    before = None
    while page := store.jobs(limit=500, before=before):
        yield from page
        before = page[-1].position


def test_ten_thousand_jobs_are_each_done_once(store):
    with ThreadPoolExecutor(THREADS) as pool:
        known = [name for some in pool.map(submit, [store] * 4, range(4)) for name in some]
        assert not any(name.startswith("again") for name in known)
        assert store.totals.queued == JOBS
        ended = [name for some in pool.map(work, [store] * THREADS) for name in some]

    assert len(ended) == len(set(ended)) == JOBS
    shown = list(pages(store))
    assert len({job.job_id for job in shown}) == len(shown) == JOBS
    assert {(job.state, job.attempts) for job in shown} == {(JobState.SUCCEEDED, 1)}
    totals = store.totals
    assert (totals.queued, totals.begun, totals.dead) == (0, 0, 0)
    assert totals.counters["jobs:rewrite_data_files:succeeded"] == JOBS
