"""An API process that ends while clients ask it: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
import yaml
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from neve.client import NeveClient
from neve.model.job import JobRequest, JobState, Progress
from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore
from neve.testing.local_lake import LocalLake

pytestmark = [pytest.mark.promise(42, 44, 47), pytest.mark.timeout(900)]

SIGNALS = pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
COMMAND = "from neve.cli.start import run; run()"
MAINTAIN = "/api/v1/tables/lake.db.events/maintain"
WAIT_SECONDS = 300
#: The states of a job that somebody is at.
HELD = [JobState.PLANNING, JobState.REWRITING, JobState.COMMITTING, JobState.VERIFYING]
ENDED = [JobState.UNKNOWN, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED]


class Server:
    """`neve serve --role api`, which is started again on the same port."""

    def __init__(self, folder):
        self._folder, self._port = folder, "0"
        self.start()

    def start(self):
        words = ["serve", "--role", "api", "--port", self._port, "--config", "neve.yaml"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words],
            cwd=self._folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self._process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert found, line + self._process.stderr.read()
        self._port, self.url = found[1], found[0]

    def end(self, number=signal.SIGKILL):
        self._process.send_signal(number)
        assert self._process.wait(WAIT_SECONDS) == (0 if number is signal.SIGTERM else -number)
        self._process.stderr.close()


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = LocalLake(tmp_path_factory.mktemp("lake"), name="lake")
    lake.create("db.events", Schema(NestedField(1, "id", LongType(), required=False)))
    return lake


@pytest.fixture
def server(lake, tmp_path):
    state = {"url": f"sqlite:///{tmp_path}/state.db"}
    settings = {"catalogs": {"lake": lake.properties}, "state": state}
    (tmp_path / "neve.yaml").write_text(yaml.safe_dump(settings))
    made = Server(tmp_path)
    yield made
    made.end()


@pytest.fixture
def store(tmp_path):
    return SqliteStore(tmp_path / "state.db")


def ask(http, key):
    """Ask until there is an answer, as a client that lost one does; the id of the job."""
    body = {"operations": ["rewrite_manifests"]}
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            headers = {"Idempotency-Key": key}
            answer = http.post(MAINTAIN, json=body, headers=headers)
        except httpx2.HTTPError:
            time.sleep(0.3)
            continue
        if answer.status_code == 202:
            return answer.json()["jobs"][0]["job_id"]
        assert answer.status_code == 503, answer.text
    raise AssertionError("there was no answer")


@SIGNALS
def test_every_request_becomes_one_job_however_often_the_api_ends(server, store, number):
    keys = [f"k{n}" for n in range(40)]
    with httpx2.Client(base_url=server.url, timeout=20) as http, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, http, key) for key in keys]
        for wanted in (8, 20):
            while len(store.jobs(limit=100)) < wanted:
                time.sleep(0.01)
            server.end(number)
            server.start()
        ids = [job.result() for job in asked]
        # Whoever asks once more gets what it got before.
        assert [ask(http, key) for key in keys[:5]] == ids[:5]

    assert len(set(ids)) == len(keys)
    assert {job.job_id for job in store.jobs(limit=100)} == set(ids)


@pytest.fixture
def patient(monkeypatch):
    """A busy machine takes its time to start a server."""
    monkeypatch.setattr("neve.client.client.MAX_SILENT_CONNECTIONS", 1000)


@SIGNALS
@pytest.mark.usefixtures("patient")
def test_jobs_do_not_notice_that_the_api_ended_and_followers_miss_nothing(server, store, number):
    """A job in every state: those that are held, those that ended, and one that waits."""
    leases = {state: begun(store, state) for state in (*HELD, *ENDED)}
    for state in HELD:
        store.set_state(leases[state], state)
    for state in ENDED:
        store.end(leases[state], state, "so")
    store.submit("waits", JobRequest(table("queued"), "rewrite_data_files"))
    before = {job.job_id: job for job in store.jobs()}
    with NeveClient(server.url) as client, ThreadPoolExecutor(len(HELD)) as pool:
        followed = {state: pool.submit(lambda s: list(client.events(s)), state) for state in HELD}
        server.end(number)
        for state in HELD:
            store.append_event(state, state, "meanwhile", Progress(partitions_completed=1))
        server.start()

        shown = {job.job_id: job for job in client.jobs()}
        assert {name: job.state for name, job in shown.items()} == {
            name: str(job.state) for name, job in before.items()
        }
        for state in HELD:
            assert store.renew(leases[state], 600).epoch == leases[state].epoch
            store.end(leases[state], JobState.SUCCEEDED, "done")
        seen = {state: future.result(WAIT_SECONDS) for state, future in followed.items()}

    for state in HELD:
        told = [event.number for event in store.events_after(state)]
        assert [event.number for event in seen[state]] == told
        assert "meanwhile" in [event.message for event in seen[state]]
    for name in (*ENDED, "waits"):
        assert store.job(name) == before[name]


def table(name):
    return TableRef("lake", ("db",), name)


def begun(store, state):
    """A job that is named like the state that it is to have, and somebody's claim on it."""
    store.submit(str(state), JobRequest(table(str(state)), "rewrite_data_files"))
    return store.claim_next(600)
