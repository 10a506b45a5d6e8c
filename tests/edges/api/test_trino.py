"""A deployment whose engine is Trino, through the API."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from starlette.testclient import TestClient
from tests.edges.cli.test_maintain_trino import OPERATIONS, SALES, executed, trino

from neve import Neve
from neve.api.app import create_app
from neve.model.job import ENGINE, TRINO, JobState
from neve.service.worker import Worker, WorkerSettings
from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

__all__ = ["trino"]
pytestmark = pytest.mark.promise(31)

API = "/api/v1"
TABLE = "iceberg.lakehouse.sales"


@pytest.fixture
def neve(trino):
    with Neve.open() as opened:
        yield opened


@pytest.fixture
def api(neve):
    with TestClient(create_app(neve)) as client:
        yield client


def run_all(neve):
    worker: Worker = neve.worker(WorkerSettings(), lambda text: None)
    while worker.take():
        assert worker.wait_for_jobs(20)
    worker.announce()


@pytest.mark.parametrize("path", [f"tables/{TABLE}/maintain", f"schedules/{TABLE}/trigger"])
def test_a_turn_is_queued_for_trino_and_run_by_it(api, neve, trino, path):
    answer = api.post(f"{API}/{path}", json={})
    assert answer.status_code == 202
    jobs = [neve.job(item["job_id"]) for item in answer.json()["jobs"]]
    assert [job.operation for job in jobs] == OPERATIONS
    assert {(job.table, job.arguments[ENGINE]) for job in jobs} == {(SALES, TRINO)}

    run_all(neve)

    assert {neve.job(job.job_id).state for job in jobs} == {JobState.SUCCEEDED}
    assert len(executed(trino)) == 3
    (state,) = neve.schedule_states()
    assert state.table == SALES


def test_one_operation_is_asked_for(api, neve, trino):
    body = {"catalog": "iceberg", "namespace": "lakehouse", "table": "sales"}
    queued = [
        api.post(f"{API}/compact", json=body),
        api.post(f"{API}/tables/{TABLE}/maintain", json={"operations": ["expire_snapshots"]}),
        api.post(f"{API}/tables/{TABLE}/expire", json={"apply": True}),
    ]
    assert [answer.status_code for answer in queued] == [202, 202, 202]
    run_all(neve)
    assert {job.state for job in neve.history()} == {JobState.SUCCEEDED}
    assert [("optimize" in text) for text in executed(trino)] == [True, False, False]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"tables/{TABLE}/maintain", {"only_due": True}),
        (f"tables/{TABLE}/maintain", {"apply": True}),
        (f"tables/{TABLE}/maintain", {"overrides": {"undo_window": "1h"}}),
        (f"tables/{TABLE}/maintain", {"operations": ["rewrite_manifests"]}),
        (f"tables/{TABLE}/expire", {"apply": True, "retain_last": 3}),
        (f"tables/{TABLE}/orphans", {}),
        (f"tables/{TABLE}/rollback", {"snapshot_id": 1}),
        ("compact", {"namespace": "lakehouse", "table": "sales", "strategy": "small_files"}),
    ],
)
def test_what_trino_cannot_honour_is_refused(api, neve, trino, path, body):
    answer = api.post(f"{API}/{path}", json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"]
    assert neve.history() == []
    assert executed(trino) == []


def test_tables_and_policies_are_told(api, neve):
    assert api.get(f"{API}/tables").json()["tables"] == [
        "iceberg.lakehouse.events",
        "iceberg.lakehouse.sales",
    ]
    put = api.put(
        f"{API}/policies/hourly", json={"schedule": "0 * * * *"}, headers={"If-None-Match": "*"}
    )
    assert put.status_code == 201
    assert api.get(f"{API}/tables/{TABLE}/policy").json()["schedule"] == "0 * * * *"
    assert api.get(f"{API}/schedules/{TABLE}").json()["schedule"] == "0 * * * *"
    assert api.post(f"{API}/schedules/{TABLE}/pause").json()["is_paused"]
    assert api.put(f"{API}/set-aside/{TABLE}", json={"reason": "x"}).status_code == 204


NOT_THERE = ["iceberg.lakehouse.nope", "iceberg.lakehouse.`sale*`", "iceberg.lakehouse.`s?les`"]


@pytest.mark.parametrize("name", NOT_THERE)
def test_a_table_that_trino_does_not_have_is_refused(api, neve, trino, name):
    """Nor is one that a pattern would find."""
    last, name = name.rpartition(".")[2].strip("`"), quote(name)
    body = {"catalog": "iceberg", "namespace": "lakehouse", "table": last}
    answers = [
        api.post(f"{API}/schedules/{name}/pause"),
        api.post(f"{API}/schedules/{name}/trigger", json={}),
        api.post(f"{API}/tables/{name}/maintain", json={}),
        api.post(f"{API}/tables/{name}/maintain", json={"operations": ["expire_snapshots"]}),
        api.post(f"{API}/tables/{name}/expire", json={"apply": True}),
        api.post(f"{API}/compact", json=body),
        api.put(f"{API}/set-aside/{name}", json={"reason": "x"}),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert (neve.history(), neve.schedule_states(), executed(trino)) == ([], [], [])


def test_names_in_capitals_are_those_of_trino(api, neve):
    answer = api.post(f"{API}/tables/iceberg.lakehouse.SALES/maintain", json={})
    assert (answer.status_code, answer.json()["table"]) == (202, TABLE)


LOOKS = [
    ("GET", f"tables/{TABLE}", None),
    ("GET", f"tables/{TABLE}/health", None),
    ("GET", f"tables/{TABLE}/files", None),
    ("GET", f"tables/{TABLE}/snapshots", None),
    ("GET", f"tables/{TABLE}/quarantine", None),
    ("POST", f"tables/{TABLE}/expire", {}),
    ("POST", f"tables/{TABLE}/maintain", {"dry_run": True}),
    ("POST", "plans", {"catalog": "iceberg", "namespace": "lakehouse", "table": "sales"}),
]


@pytest.mark.parametrize(("method", "path", "body"), LOOKS)
def test_what_needs_a_catalog_is_refused_without_one(api, method, path, body):
    answer = api.request(method, f"{API}/{path}", json=body)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:neve:problem:input")
    assert "catalogs" in answer.json()["next_step"]


@pytest.fixture
def with_catalog(trino, tmp_path):
    """The same tables, in a catalog that Neve reads itself, under Trino's name for it."""
    lake = LocalLake(tmp_path / "lake", name="iceberg")
    schema = Schema(NestedField(1, "id", LongType(), required=False))
    files = [FileEntry(f"file:///f{i}", (), size_bytes=MB) for i in range(5)]
    lake.commit(lake.create("lakehouse.sales", schema), Manifest(files))
    file = tmp_path / "neve.yaml"
    file.write_text(f"{file.read_text()}catalogs: {json.dumps({'iceberg': lake.properties})}\n")


@pytest.mark.parametrize(("method", "path", "body"), LOOKS)
def test_with_a_catalog_of_that_name_it_can_be_looked_at(
    with_catalog, neve, trino, method, path, body
):
    with TestClient(create_app(neve)) as api:
        answer = api.request(method, f"{API}/{path}", json=body)
    assert answer.status_code in (200, 201, 202)
    assert neve.history() == []
    assert executed(trino) == []


def test_with_a_catalog_a_turn_is_still_trinos(with_catalog, neve, trino):
    with TestClient(create_app(neve)) as api:
        assert api.post(f"{API}/tables/{TABLE}/maintain", json={}).status_code == 202
    run_all(neve)
    assert {job.state for job in neve.history()} == {JobState.SUCCEEDED}
    assert len(executed(trino)) == 3


def test_it_is_ready_with_a_worker(api, neve):
    assert api.get("/ready").status_code == 503
    run_all(neve)
    ready = api.get("/ready")
    assert ready.status_code == 200
    assert [check["name"] for check in ready.json()["checks"]] == ["store", "trino"]
