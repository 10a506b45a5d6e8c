from __future__ import annotations

import asyncio
import json

import pytest
from airflow.sdk import Connection
from neve_provider import routes
from neve_provider.errors import NeveRefused, NeveUnreachable
from neve_provider.hooks.neve import NeveHook, server_of
from scripted import job_document, problem

COMPACT = routes.maintenance("t", "rewrite_data_files")
BUSY = (503, problem("Busy.", "busy", 503))
QUEUED = {"jobs": [{"job_id": "j1"}]}


def connection(**said):
    return Connection(conn_id="c", conn_type="neve", **said)


@pytest.fixture
def conn(server):
    return NeveHook().get_conn()


def test_a_refusal_says_what_is_wrong_and_what_to_do(server, conn):
    told = problem("No table t.", "table-not-found", 404, next_step="neve tables lists them.")
    server.tell("GET", "/tables/t/health", (404, told))

    with pytest.raises(NeveRefused, match=r"^No table t\. neve tables lists them\.$") as caught:
        conn.send(routes.health("t"))

    assert (caught.value.status, caught.value.kind) == (404, "table-not-found")
    assert len(server.seen) == 1


def test_a_refused_body_says_which_part(server, conn):
    wrong = [{"location": ["body", "operations", 0], "message": "No such operation"}]
    server.tell("POST", "/tables/t/maintain", (422, problem("No.", "body", 422, errors=wrong)))

    with pytest.raises(NeveRefused, match=r"No\. body\.operations\.0: No such operation\."):
        conn.send(COMPACT.with_key("k"))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_pass_is_asked_again(server, conn, status):
    server.tell("GET", "/jobs/j1", (status, b"<html>"), job_document("j1", "running"))

    assert conn.send(routes.job("j1"))["status"] == "running"


def test_a_request_with_a_key_is_sent_again_with_that_key(server, conn):
    server.tell("POST", "/tables/t/maintain", BUSY, BUSY, BUSY, (202, QUEUED))

    assert conn.send(COMPACT.with_key("k")) == QUEUED
    assert server.keys() == ["k"] * 4


def test_a_request_without_a_key_is_sent_once(server, conn):
    server.tell("POST", "/tables/t/maintain", BUSY)

    with pytest.raises(NeveRefused):
        conn.send(COMPACT)

    assert server.keys() == [None]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_server_that_is_away_is_named(is_async):
    away = server_of(connection(host="127.0.0.1", port=9))

    with pytest.raises(NeveUnreachable, match=r"http://127\.0\.0\.1:9 did not answer"):
        asyncio.run(away.asend(COMPACT)) if is_async else away.send(COMPACT)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_answer_that_is_no_json_is_none(server, conn, is_async):
    server.tell("GET", "/jobs/j1", (200, b"<html>"))

    with pytest.raises(NeveUnreachable, match="did not answer as it should"):
        asyncio.run(conn.asend(routes.job("j1"))) if is_async else conn.send(routes.job("j1"))


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ({"host": "neve", "port": 99}, "http://neve:99"),
        ({"host": "neve"}, "http://neve:8080"),
        ({"host": "neve", "schema": "https", "port": 443}, "https://neve:443"),
        ({"host": "https://neve.example.com/"}, "https://neve.example.com"),
        ({}, "http://localhost:8080"),
    ],
)
def test_a_connection_says_where_the_server_is(said, address):
    assert server_of(connection(**said)).address == address


def test_the_password_is_the_key_and_extra_is_read(server):
    extra = {"timeout_seconds": 5, "verify": False, "job_page": "/ui/jobs/{job_id}"}
    made = server_of(connection(host=server.address, password="neve_key", extra=json.dumps(extra)))
    server.job("j1", "running")
    made.send(routes.job("j1"))

    assert server.headers[0]["Authorization"] == "Bearer neve_key"
    assert (made.timeout_seconds, made.verify) == (5, False)
    assert made.page_of("j1") == f"{server.address}/ui/jobs/j1"


def test_an_extra_that_nobody_reads_is_refused():
    with pytest.raises(ValueError, match="says timeout in its extra"):
        server_of(connection(host="h", extra='{"timeout": 5}'))


def test_the_hook_asks_for_health_snapshots_and_jobs(server):
    server.tell("GET", "/tables/t/health", {"tier": "healthy"})
    server.tell("GET", "/tables/t/snapshots?limit=1", {"snapshots": [{"snapshot_id": 5}]})
    server.tell("GET", "/tables/new/snapshots?limit=1", {"snapshots": []})
    server.job("j1", "running")
    hook = NeveHook()

    assert hook.health("t") == {"tier": "healthy"}
    assert hook.newest_snapshot("t") == {"snapshot_id": 5}
    assert hook.newest_snapshot("new") is None
    assert hook.job("j1")["status"] == "running"
    hook.cancel("j1")
    assert server.asked("DELETE") == ["/api/v1/jobs/j1"]


def test_a_connection_is_tried_with_what_needs_a_key(server):
    assert NeveHook().test_connection() == (False, "There is no such thing.")

    server.tell("GET", "/jobs?limit=1", {"jobs": []})

    assert NeveHook().test_connection() == (True, "The server answers.")
