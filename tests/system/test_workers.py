"""Workers and schedulers in processes of their own: killed, told to end, and cut off from Redis."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.system.worker_process import OPERATIONS, DiskLake, table

from neve.model.job import JobRequest, JobState
from neve.store.opening import open_store
from neve.testing.redis_server import RedisProcess

pytestmark = pytest.mark.promise(44)

ROOT = Path(__file__).resolve().parents[2]
#: What is promised, with leases of two seconds in place of ten.
RECOVERY_SECONDS = 15.0
WAIT_SECONDS = 60.0
POINTS = ["planning", "rewriting", "committing", "committed", "verifying"]


class Process:
    """One of them, ended with the test."""

    def __init__(self, url, folder, role, point="", tables=1):
        words = [url, str(folder), role, point, str(tables)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.worker_process", *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def send(self, number):
        self._process.send_signal(number)

    def wait(self):
        return self._process.wait(WAIT_SECONDS)

    def end(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def start():
    begun = []

    def begin(*words, **named):
        begun.append(Process(*words, **named))
        return begun[-1]

    yield begin
    for process in begun:
        process.end()


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory):
    with RedisProcess(tmp_path_factory.mktemp("redis"), is_durable=True) as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    server = request.getfixturevalue("redis_server")
    server.ask("FLUSHALL")
    return server.url


def wait_for(is_so, seconds=WAIT_SECONDS):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def commits_of(lake, job_id):
    return [s for s in lake.facts.snapshots if s.job_id == job_id]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_survives_its_worker(url, tmp_path, start, point, number):
    store, lake = open_store(url), DiskLake(tmp_path, table(0))
    files = len(lake.facts.data_files)
    store.submit("j1", JobRequest(table(0), "rewrite_data_files"))
    first = start(url, tmp_path, "worker", point)
    wait_for((tmp_path / "reached").exists)
    # It is up before, so that only the recovery is timed.
    second = start(url, tmp_path, "worker")
    wait_for(lambda: len(list(tmp_path.glob("up-*"))) == 2)

    begun = time.monotonic()
    first.send(number)
    if number is signal.SIGTERM:
        assert first.wait() == 0
    wait_for(lambda: store.job("j1").state.is_final, RECOVERY_SECONDS)

    job = store.job("j1")
    assert (job.state, job.is_dead) == (JobState.SUCCEEDED, False)
    # Nothing is lost, and nothing is done twice.
    assert len(commits_of(lake, "j1")) == 1
    assert len(lake.facts.data_files) < files
    assert time.monotonic() - begun < RECOVERY_SECONDS
    assert store.failures_in_a_row(table(0)) == 0
    assert store.unfinished() == []
    second.send(signal.SIGTERM)
    assert second.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_survives_the_worker_that_settles_it(url, tmp_path, start, number):
    """Its end was unknown: whoever was about to read it from the table ends, too."""
    store, lake = open_store(url), DiskLake(tmp_path, table(0))
    store.submit("j1", JobRequest(table(0), "rewrite_data_files"))
    for point, ended_by in (("committed", signal.SIGKILL), ("verifying", number)):
        one = start(url, tmp_path, "worker", point)
        wait_for((tmp_path / "reached").exists)
        assert not store.job("j1").state.is_final
        one.send(ended_by)
        one.wait()
        (tmp_path / "reached").unlink()

    last = start(url, tmp_path, "worker")
    wait_for(lambda: store.job("j1").state.is_final)
    job = store.job("j1")
    assert (job.state, job.is_dead) == (JobState.SUCCEEDED, False)
    assert len(commits_of(lake, "j1")) == 1
    assert store.unfinished() == []
    last.send(signal.SIGTERM)
    assert last.wait() == 0


TABLES = 6


def test_two_workers_and_two_schedulers_share_a_redis_that_is_restarted(tmp_path, start):
    folder = tmp_path / "tables"
    folder.mkdir()
    lakes = [DiskLake(folder, table(number)) for number in range(TABLES)]
    with RedisProcess(tmp_path / "redis", is_durable=True) as server:
        store = open_store(server.url)
        both = [start(server.url, folder, "worker,scheduler", tables=TABLES) for _ in range(2)]
        wait_for(lambda: len(store.jobs(limit=100)) > 2)
        server.kill()
        time.sleep(0.5)
        server.start()

        def all_ended():
            jobs = store.jobs(limit=100)
            return len(jobs) >= TABLES * len(OPERATIONS) and all(j.state.is_final for j in jobs)

        wait_for(all_ended)
        # More ticks, which must find nothing.
        time.sleep(1.0)
        jobs = store.jobs(limit=100)
        for process in both:
            process.send(signal.SIGTERM)
        assert [process.wait() for process in both] == [0, 0]

        asked = sorted((job.table.name, job.operation) for job in jobs)
        assert asked == sorted((f"t{n}", op) for n in range(TABLES) for op in OPERATIONS)
        assert {job.state for job in jobs} == {JobState.SUCCEEDED}
        assert store.unfinished() == []
        store.close()
    for lake in lakes:
        ours = [s.job_id for s in lake.facts.snapshots if s.job_id is not None]
        assert len(ours) == len(set(ours)) >= 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_scheduler_that_ends_again_and_again_submits_every_turn_once(
    url, tmp_path, start, number
):
    store = open_store(url)
    for index in range(TABLES):
        DiskLake(tmp_path, table(index))
    for round_number in range(3):
        scheduler = start(url, tmp_path, "scheduler", tables=TABLES)
        begun, wanted = round_number + 1, min(6 * (round_number + 1), TABLES * len(OPERATIONS))
        # Where the one before had done all, this one is up, and knows what it is told.
        wait_for(lambda begun=begun: len(list(tmp_path.glob("up-*"))) == begun)
        wait_for(lambda wanted=wanted: len(store.jobs(limit=100)) >= wanted)
        scheduler.send(number)
        assert scheduler.wait() == (-number if number is signal.SIGKILL else 0)

    asked = sorted((job.table.name, job.operation) for job in store.jobs(limit=100))
    assert asked == sorted((f"t{n}", op) for n in range(TABLES) for op in OPERATIONS)
