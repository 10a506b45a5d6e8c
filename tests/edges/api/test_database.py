"""POST /database: the documented bodies and answers, and what is refused with no side effect."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager

import httpx2
import pytest
from starlette.testclient import TestClient
from tests.edges.api.conftest import served
from tests.edges.database.lake import FIELDS, open_neve

from neve.api.app import create_app

PLACE = {"tenant_id": "test-tenant", "namespace": "default", "table": "users"}
WRITE = {"operation": "WRITE", **PLACE, "records": [{"name": "Alice", "age": 30}]}
CREATE = {"operation": "CREATE_TABLE", **PLACE, "schema": {"fields": FIELDS}}


@contextmanager
def posting(neve):
    with TestClient(create_app(neve)) as client:

        def post(body, **headers):
            content = body if isinstance(body, str) else json.dumps(body)
            kind = {"Content-Type": "application/json"}
            return client.post("/api/v1/database", content=content, headers={**kind, **headers})

        yield post


@pytest.fixture
def opened(tmp_path):
    with open_neve(tmp_path, compact_wait_seconds=0) as neve:
        yield neve


@pytest.fixture
def post(opened):
    with posting(opened) as post:
        yield post


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """One table that nothing may change."""
    with open_neve(tmp_path_factory.mktemp("untouched")) as neve, posting(neve) as post:
        post(CREATE)
        yield neve, post


def test_the_documented_write_gets_the_documented_answer(post):
    post({**CREATE, "if_not_exists": True})
    answers = [post(WRITE) for _ in range(5)]

    assert {answer.status_code for answer in answers} == {200}
    assert [answer.json()["compaction_recommended"] for answer in answers] == [False] * 4 + [True]
    assert answers[-1].json() == {
        "success": True,
        "records_written": 1,
        "compaction_recommended": True,
        "small_files_count": 5,
        "repeated": False,
    }
    query = post({"operation": "QUERY", **PLACE, "sql": "SELECT count(*) AS n FROM users"})
    assert query.json()["records"] == [{"n": 5}]


def test_the_documented_compaction_waits_for_its_jobs_so_long(post, opened):
    post(CREATE)
    for _ in range(3):
        post(WRITE)
    response = post({"operation": "COMPACT", **PLACE, "expire_snapshots": True})

    assert response.status_code == 202
    body = response.json()
    assert (body["success"], body["compacted"], body["stats"]) == (True, False, None)
    jobs = {job.job_id: job.operation for job in opened.history()}
    assert jobs == {
        body["job_id"]: "rewrite_data_files",
        body["expire_job_id"]: "expire_snapshots",
    }


def test_a_server_that_ends_answers_with_the_jobs_that_still_run(tmp_path):
    found = []
    with open_neve(tmp_path, compact_wait_seconds=60) as neve:
        with posting(neve) as post:
            post(CREATE)
            for _ in range(3):
                post(WRITE)
        body = {"operation": "COMPACT", **PLACE, "force": True}
        with served(neve) as address:
            asking = threading.Thread(
                target=lambda: found.append(httpx2.post(f"{address}/api/v1/database", json=body))
            )
            asking.start()
            while not neve.history():
                time.sleep(0.02)
        asking.join(20)
    assert [answer.status_code for answer in found] == [202]
    assert found[0].json()["reason"] == "Its jobs still run."


@pytest.mark.parametrize("where", ["header", "body"])
def test_a_key_in_header_or_body_makes_a_write_count_once(post, where):
    post(CREATE)
    body = {**WRITE, "idempotency_key": "k"} if where == "body" else WRITE
    headers = {"Idempotency-Key": "k"} if where == "header" else {}
    answers = [post(body, **headers).json() for _ in range(2)]

    assert [answer["repeated"] for answer in answers] == [False, True]
    other = post({**body, "records": [{"name": "Bob"}]}, **headers)
    assert other.json()["type"] == "urn:neve:problem:idempotency-key-reused"


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({**WRITE, "operation": "DROP"}, 422, "validation"),
        ({**WRITE, "operation": "write"}, 422, "validation"),
        (PLACE, 422, "validation"),
        ({**WRITE, "extra": 1}, 422, "validation"),
        ({**WRITE, "records": []}, 422, "validation"),
        ({**WRITE, "records": [1]}, 422, "validation"),
        ({**WRITE, "records": [{"name": "a"}] * 10_001}, 422, "validation"),
        ({**WRITE, "tenant_id": ""}, 422, "validation"),
        ({**WRITE, "tenant_id": "a\u200b"}, 422, "input"),
        ({**WRITE, "namespace": "a.b"}, 422, "input"),
        ({**WRITE, "table": "t'); DROP TABLE x--"}, 422, "input"),
        ({**WRITE, "table": "users.files"}, 422, "input"),
        ({**WRITE, "table": "\ud800"}, 422, "validation"),
        ({**WRITE, "table": "nobodys"}, 404, "table-not-found"),
        ({**WRITE, "tenant_id": "other"}, 404, "table-not-found"),
        ({**WRITE, "records": [{"name": 1}]}, 422, "records"),
        ({**WRITE, "records": [{"name": float("nan")}]}, 422, "records"),
        (CREATE, 409, "table-exists"),
        ({**CREATE, "table": "x", "schema": {"fields": {}}}, 422, "validation"),
        ({**CREATE, "table": "x", "schema": {"fields": {"a": {"type": "x"}}}}, 422, "input"),
        ({"operation": "QUERY", **PLACE, "sql": "DROP TABLE users"}, 422, "query"),
        ({"operation": "QUERY", **PLACE, "limit": 0}, 422, "validation"),
        ({"operation": "COMPACT", **PLACE, "max_files": 1}, 422, "validation"),
        ({"operation": "COMPACT", **PLACE, "target_file_size_mb": -1}, 422, "validation"),
        ({"operation": "COMPACT", **PLACE, "snapshot_retention_hours": 0}, 422, "validation"),
        ({"operation": "COMPACT", **PLACE, "force": True, "partition_filter": "x"}, 422, "filter"),
        ("[" * 200_000, 400, "body-too-deep"),
        ('{"operation": ' + "[" * 5000 + "]" * 5000 + "}", 400, "body-too-deep"),
        ("{", 400, "not-json"),
        (json.dumps(WRITE).replace('"name"', '"name": "b", "name"'), 400, "key-twice"),
        (json.dumps(WRITE)[:-1] + ', "tenant_id": "other"}', 400, "key-twice"),
    ],
)
@pytest.mark.promise(46)
def test_what_is_refused_has_changed_nothing(untouched, body, status, kind):
    opened, post = untouched
    response = post(body)

    problem = response.json()
    assert (response.status_code, problem["type"]) == (status, f"urn:neve:problem:{kind}"), problem
    assert problem["detail"]
    assert opened.history() == []
    assert [str(table) for table in opened.tables()] == ["lake.t_test_2dtenant__default.users"]
    assert opened.survey(opened.tables()[0]).snapshot_id is None


def test_every_bad_field_has_its_sentence(post):
    post(CREATE)
    problem = post({**WRITE, "records": [{"nam": "a", "age": "x"}]}).json()

    assert [item["location"] for item in problem["errors"]] == [
        ["records", 0, "nam"],
        ["records", 0, "age"],
        ["records", 0, "name"],
    ]
    assert problem["errors"][1]["message"] == "Record 1, field age: a whole number is wanted."


def test_the_document_describes_every_operation(post, opened):
    schemas = create_app(opened).openapi()["components"]["schemas"]
    for name in ("CreateTable", "Write", "Query", "Compact"):
        assert "operation" in schemas[name]["properties"]
        assert schemas[name]["additionalProperties"] is False
    assert schemas["Compact"]["properties"]["snapshot_retention_hours"]["default"] == 168
