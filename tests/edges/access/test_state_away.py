"""A server whose state is away: it still says that it lives, and ends what it cannot go on with."""

from __future__ import annotations

import logging

import httpx2
import pytest
from tests.edges.access.conftest import OWN, opened
from tests.edges.api.conftest import served

from neve.accessing import Access
from neve.model.job import JobRequest
from neve.model.table import TableRef
from neve.testing.redis_server import RedisProcess


@pytest.fixture
def redis(tmp_path):
    with RedisProcess(tmp_path / "redis", is_durable=True) as server:
        yield server


@pytest.fixture
def world(lake, tmp_path, redis):
    with opened(lake, tmp_path / "world", more={"state": {"url": redis.url}}) as world:
        # So long it is waited for.
        world.store._server._patience_seconds = 0.2
        yield world


@pytest.mark.promise(41)
def test_what_is_open_to_all_is_answered_without_the_state(world, redis):
    key = world.key()
    redis.kill()

    for headers in (key, {}):
        alive, ready = (world.client.get(path, headers=headers) for path in ("/health", "/ready"))

        assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
        assert ready.status_code == 503
        assert [(c["name"], c["is_ready"]) for c in ready.json()["checks"]] == [("service", False)]


@pytest.mark.promise(41)
def test_who_cannot_be_known_is_refused_without_a_second_wait(world, redis, monkeypatch):
    key, rows = world.key(), []
    redis.kill()
    monkeypatch.setattr(Access, "record", lambda *said, **more: rows.append(said))

    answer = world.client.get("/api/v1/jobs", headers=key)

    assert (answer.status_code, answer.json()["type"]) == (503, "urn:neve:problem:store")
    assert rows == []


@pytest.mark.promise(41)
def test_a_stream_ends_in_good_order_with_its_state_and_goes_on_when_that_is_back(
    world, redis, caplog
):
    catalog, namespace, name = OWN.split(".")
    request = JobRequest(TableRef(catalog, (namespace,), name), "rewrite_data_files", tenant="acme")
    world.store.submit("j1", request)
    key = world.key()
    with served(world.neve) as address:
        # The server's own set-up takes other handlers off.
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        path = f"{address}/api/v1/jobs/j1/events"
        with httpx2.stream("GET", path, headers=key, timeout=20) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("event: state")
            redis.kill()
            rest = [line for line in lines if line and not line.startswith(":")]
        redis.start()
        world.store.cancel("j1")
        number = next(line for line in rest if line.startswith("id: ")).removeprefix("id: ")
        again = httpx2.get(path, headers={**key, "Last-Event-ID": number}, timeout=20).text
    logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert caplog.messages == []
    assert "event: end" not in rest
    events = [line for line in again.splitlines() if line.startswith("event: ")]
    assert events == ["event: state", "event: end"]


@pytest.mark.promise(53, 62)
def test_what_was_done_and_not_written_down_is_not_told_as_not_done(world, redis, monkeypatch):
    """Whoever is told 503 sends it again, and would have it twice."""
    key = world.key()
    submit = world.store.submit

    def submit_and_fall(*said):
        job = submit(*said)
        redis.kill()
        return job

    monkeypatch.setattr(world.store, "submit", submit_and_fall)
    body = {"namespace": "acme", "table": "events", "strategy": "small_files"}

    answer = world.client.post("/api/v1/compact", json=body, headers=key)

    assert (answer.status_code, answer.json()["type"]) == (500, "urn:neve:problem:not-written-down")
    assert "Retry-After" not in answer.headers
    redis.start()
    assert len(world.store.jobs(limit=10)) == 1
