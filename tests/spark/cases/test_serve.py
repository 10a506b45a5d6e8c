"""`neve serve` as users run it: killed in the middle of its jobs, started again, told to end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.spark.sick_tables import COMMAND, rows, sick_tables

from neve.model.job import JobState
from neve.store.sqlite import SqliteStore

NAMES = ["t0", "t1", "t2"]
WAIT_SECONDS = 400
pytestmark = [pytest.mark.timeout(1200), pytest.mark.promise(44)]


OFF = {"enabled": False}
POLICY = {
    "name": "yearly",
    "match": {"tables": ["lake.db.t*"]},
    # A turn that never came comes at once, and not again in this test.
    "schedule": "0 0 1 1 *",
    "operations": {
        "rewrite_position_delete_files": OFF,
        "remove_dangling_deletes": OFF,
        "rewrite_manifests": OFF,
    },
}


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    return sick_tables(tmp_path, NAMES, {"policies": [POLICY]})


@pytest.fixture
def serve(tmp_path):
    begun = []

    def begin():
        words = ["serve", "--role", "worker", "--role", "scheduler", "--concurrency", "2"]
        log = (tmp_path / f"server-{len(begun)}.log").open("w")
        begun.append(
            (
                subprocess.Popen([sys.executable, "-c", COMMAND, *words], cwd=tmp_path, stderr=log),
                log,
            )
        )
        return begun[-1][0]

    yield begin
    for process, log in begun:
        process.kill()
        process.wait()
        log.close()


def wait_for(is_so):
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def test_a_server_that_is_killed_loses_no_job_and_repeats_none(catalog, tmp_path, serve):
    before = {name: rows(catalog, name) for name in NAMES}
    store = SqliteStore(tmp_path / "state.db")
    first = serve()
    wait_for(lambda: any(job.state is JobState.REWRITING for job in store.jobs()))
    first.send_signal(signal.SIGKILL)
    first.wait()

    second = serve()
    wait_for(lambda: len(store.jobs()) == 3 and all(job.state.is_final for job in store.jobs()))
    second.send_signal(signal.SIGTERM)

    assert second.wait(WAIT_SECONDS) == 0
    assert sorted(job.table.name for job in store.jobs()) == NAMES
    assert {job.state for job in store.jobs()} == {JobState.SUCCEEDED}
    for name in NAMES:
        table = catalog.load_table(("db", name))
        assert rows(catalog, name) == before[name]
        assert len(list(table.scan().plan_files())) == 1
        ours = [s for s in table.metadata.snapshots if s.summary.operation.value == "replace"]
        assert len(ours) == 1
