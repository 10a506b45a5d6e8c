"""Every error is a problem document with a stable type and the next step."""

from __future__ import annotations

import inspect

import pytest
from starlette.testclient import TestClient

from neve.model import errors
from neve.model.problem_kinds import BY_NAME, KINDS, kind_of

TREE = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.NeveError)
]


def test_every_error_of_the_tree_has_a_kind_of_its_own():
    assert set(TREE) == set(KINDS)
    assert len(BY_NAME) == len(KINDS)


@pytest.mark.promise(46)
def test_types_are_stable():
    """Programs decide by them: a change here breaks clients."""
    assert {name: status for status, name in KINDS.values()} == {
        "error": 500, "configuration": 500, "environment": 503, "input": 422, "filter": 422,
        "plan": 422, "catalog": 424, "table-not-found": 404, "table-unreadable": 422,
        "table-damaged": 409, "compaction-failed": 409, "interrupted": 503,
        "store": 503, "server": 502, "notification": 502, "server-refused": 502, "job-refused": 409,
        "plan-stale": 409, "table-busy": 409, "engine-needed": 409, "lease-lost": 409,
        "job-cancelled": 409, "execution": 500, "commit-conflict": 409, "commit-unknown": 500,
        "engine-died": 500, "ref-lost": 500, "proof-failed": 500, "parquet": 422,
        "parquet-corrupt": 422, "parquet-unsupported": 422, "rows": 422, "rows-corrupt": 422,
        "rows-unsupported": 422, "idempotency-key-reused": 422, "query": 422, "query-limit": 422,
        "records": 422, "table-exists": 409, "not-written-down": 500,
        "access": 403, "not-authenticated": 401, "access-denied": 403,
        "too-much": 429, "approval-needed": 409, "approval-gone": 409,
    }  # fmt: skip


def test_an_error_that_is_not_named_is_like_its_parent():
    class Locked(errors.TableBusy):
        pass

    assert kind_of(Locked("x")) == (409, "table-busy")


@pytest.mark.parametrize("kind", sorted(set(TREE) - {errors.ServerRefused}, key=str))
def test_an_error_is_told_whole(api, kind, monkeypatch):
    def refuse(*_):
        raise kind("It is so.", next_step="Do that.")

    monkeypatch.setattr("neve.neve.Neve.job", refuse)
    response = api.get("/api/v1/jobs/j1")

    status, name = KINDS[kind]
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert ("retry-after" in response.headers) == (status in (429, 503))
    assert response.json() == {
        "type": f"urn:neve:problem:{name}",
        "title": name.replace("-", " ").capitalize(),
        "status": status,
        "detail": "It is so.",
        "instance": "/api/v1/jobs/j1",
        "next_step": "Do that.",
    }


def test_a_filter_says_where_it_is_wrong(api):
    body = {"namespace": "analytics", "table": "events", "options": {"partition_filter": "id ="}}
    problem = api.post("/api/v1/compact", json=body).json()
    assert problem["position"] is not None


def test_a_defect_tells_nothing_of_itself(api, monkeypatch):
    monkeypatch.setattr("neve.neve.Neve.job", lambda *_: {}["secret"])
    response = TestClient(api.app, raise_server_exceptions=False).get("/api/v1/jobs/j1")
    assert response.status_code == 500
    assert response.json()["type"] == "urn:neve:problem:defect"
    assert "secret" not in response.text


@pytest.mark.parametrize(
    ("content", "content_type", "status", "name"),
    [
        (b"{", "application/json", 400, "not-json"),
        (b'{"table": "\xe9"}', "application/json", 400, "not-json"),
        (b"\xff\xfe\xff", "application/json", 400, "not-json"),
        (b'{"priority": ' + b"9" * 5000 + b"}", "application/json", 400, "not-json"),
        (b"\xff", "application/json", 400, "not-json"),
        (b"[" * 100_000, "application/json", 400, "body-too-deep"),
        (b"{}", "text/plain", 422, "validation"),
        (b"", "application/json", 422, "validation"),
        (b"[]", "application/json", 422, "validation"),
        (b'"x"', "application/json", 422, "validation"),
        (b"{}", "application/json", 422, "validation"),
    ],
)
def test_a_body_that_is_none(api, content, content_type, status, name):
    headers = {"Content-Type": content_type}
    response = api.post("/api/v1/compact", content=content, headers=headers)
    assert (response.status_code, response.json()["type"]) == (status, f"urn:neve:problem:{name}")


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", None])
def test_a_body_that_does_not_say_that_it_is_json_is_told_how(api, kind):
    """As a tool sends it that was told the body and nothing else."""
    headers = {"Content-Type": kind} if kind else {}
    body = b'{"namespace": "analytics", "table": "events"}'
    problem = api.post("/api/v1/compact", content=body, headers=headers).json()
    assert (problem["status"], problem["type"]) == (422, "urn:neve:problem:validation")
    assert problem["next_step"] == "Send it with the header Content-Type: application/json."


def test_validation_says_where_and_does_not_repeat_what_was_sent(api):
    body = {"namespace": "analytics", "table": "events", "password": "hunter2"}
    response = api.post("/api/v1/compact", json=body)
    assert response.json()["errors"][0]["location"] == ["body", "password"]
    assert "hunter2" not in response.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nope", 404), ("PUT", "/api/v1/compact", 405), ("GET", "/api/v1/../etc", 404)],
)
def test_a_route_that_is_none(api, method, path, status):
    response = api.request(method, path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
