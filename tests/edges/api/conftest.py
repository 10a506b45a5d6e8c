from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import timedelta

import pytest
import uvicorn
import yaml
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType
from starlette.testclient import TestClient

from neve import Neve
from neve.api.app import create_app
from neve.api.server import server_config
from neve.api.settings import ApiSettings
from neve.model.job import JobRequest
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.testing.facts import MB, NOW
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "date", StringType(), required=False),
)
BY_DATE = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "date"))
POLICIES = [
    {
        "name": "nightly",
        "match": {"tables": ["production.analytics.*"]},
        "priority": 5,
        "schedule": "0 2 * * *",
        "operations": {"expire_snapshots": {"older_than": "3d"}},
    }
]


@pytest.fixture(scope="session")
def lake(tmp_path_factory):
    """Tables that tests share: nothing of an API process changes one."""
    lake = LocalLake(tmp_path_factory.mktemp("lake") / ".neve", name="production")
    table = lake.create("analytics.events", SCHEMA, BY_DATE)
    files = [FileEntry(f"file:///e{i}", ("2024-01-01",), size_bytes=MB) for i in range(5)]
    lake.commit(table, Manifest([FileEntry("file:///o", ("2024-01-02",), size_bytes=MB)]))
    lake.commit(table.refresh(), Manifest(files))
    lake.create("analytics.empty", SCHEMA)
    return lake


@pytest.fixture(scope="session")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state") / "state.db"


@pytest.fixture(scope="session")
def shared_neve(lake, state):
    """Making one, and an application of it, takes longer than most tests."""
    path = state.with_name("neve.yaml")
    settings = {
        "catalogs": {"production": lake.properties},
        "state": {"url": f"sqlite:///{state}"},
        "policies": POLICIES,
    }
    path.write_text(yaml.safe_dump(settings))
    with Neve.open(path) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_api(shared_neve):
    with TestClient(create_app(shared_neve)) as client:
        yield client


@pytest.fixture
def neve(shared_neve, state):
    """With an empty state."""
    for path in state.parent.glob("state.db*"):
        path.unlink()
    return shared_neve


@pytest.fixture
def api(neve, shared_api):
    """The routes, without a server; a defect fails the test."""
    return shared_api


@pytest.fixture
def store(neve):
    """Where jobs are, as a worker sees it."""
    return neve._services.store


@contextmanager
def served(neve, settings=None):
    """A server of its own on a free port; gives its address."""
    app = create_app(neve, settings=settings or ApiSettings(poll_seconds=0.02))
    server = uvicorn.Server(server_config(app, "127.0.0.1", 0, log_level="error"))
    started = threading.Event()
    startup = server.startup

    async def startup_and_tell(*arguments, **more):
        await startup(*arguments, **more)
        started.set()

    server.startup = startup_and_tell
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(20)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture
def address(neve):
    with served(neve) as url:
        yield url


@pytest.fixture
def events(neve):
    """The table that the tests are about."""
    return neve.table("analytics.events")


@pytest.fixture
def run_next(store):
    """Do what a worker does with the next job: end it so."""

    def run(status=Status.SUCCEEDED, seconds=42.0):
        lease = store.claim_next(60)
        outcome = Outcome(
            lease.job_id,
            lease.table,
            store.job(lease.job_id).operation,
            status,
            "6 files became 1.",
            started_at=NOW,
            finished_at=NOW + timedelta(seconds=seconds),
            stats=CompactionStats(files_before=6, files_after=1, files_compacted=6),
            bytes_rewritten=6 * MB,
        )
        store.finish(lease, outcome)
        store.release(lease)
        return store.job(lease.job_id)

    return run


@pytest.fixture
def queued(store, events):
    """A job in the queue, without a catalog having been asked."""

    def submit(job_id="j1", **more):
        more.setdefault("max_attempts", 1)
        return store.submit(job_id, JobRequest(events, "rewrite_data_files", **more))

    return submit
