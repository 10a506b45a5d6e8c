"""Quotas of tenants are exact over several servers, and what is refused has used nothing up."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient
from tests.edges.access.conftest import OWN, opened

from neve import Neve
from neve.api.app import create_app

COMPACT = {"table": OWN}
TURN = {"operations": ["rewrite_data_files", "rewrite_manifests"]}


@pytest.fixture
def servers(lake, tmp_path):
    """Two servers on one state, and the first one's world."""
    with ExitStack() as stack:
        quotas = {"acme": {"max_open_jobs": 3}}
        world = stack.enter_context(opened(lake, tmp_path / "w", quotas=quotas))
        other = stack.enter_context(Neve.open(tmp_path / "w" / "neve.yaml"))
        second = stack.enter_context(TestClient(create_app(other)))
        yield world, [world.client, second]


def at_once(calls):
    """What each of the calls answers, all of them begun together."""
    begin, answers = threading.Barrier(len(calls)), []

    def run(call):
        begin.wait()
        answers.append(call())

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.promise(60)
def test_two_servers_give_no_room_twice(servers):
    world, clients = servers
    headers = world.key()
    calls = [
        lambda client=client: client.post("/api/v1/compact", json=COMPACT, headers=headers)
        for client in clients * 4
    ]
    statuses = sorted(answer.status_code for answer in at_once(calls))
    assert statuses == [202] * 3 + [429] * 5
    assert len(world.store.jobs()) == 3


@pytest.mark.promise(60, 46)
def test_several_jobs_get_room_together_or_none(servers):
    world, clients = servers
    headers, path = world.key(), f"/api/v1/tables/{OWN}/maintain"
    calls = [
        lambda client=client: client.post(path, json=TURN, headers=headers) for client in clients
    ]
    answers = at_once(calls)
    assert sorted(answer.status_code for answer in answers) == [202, 429]
    assert len(world.store.jobs()) == 2


@pytest.mark.promise(47)
def test_a_repeated_request_needs_no_room(servers):
    world, (client, other) = servers
    headers, path = world.key() | {"Idempotency-Key": "k"}, f"/api/v1/tables/{OWN}/maintain"
    first = client.post(path, json=TURN, headers=headers)
    assert client.post("/api/v1/compact", json=COMPACT, headers=world.key()).status_code == 202
    assert client.post("/api/v1/compact", json=COMPACT, headers=world.key()).status_code == 429
    again = other.post(path, json=TURN, headers=headers)
    assert (again.status_code, again.json()["jobs"]) == (202, first.json()["jobs"])


@pytest.mark.promise(47, 60)
@pytest.mark.parametrize(("path", "body"), [("compact", COMPACT), (f"tables/{OWN}/maintain", TURN)])
def test_a_request_that_is_sent_twice_at_once_is_one_job(servers, path, body):
    """Also where its jobs are all that its tenant may have."""
    world, clients = servers
    free = 3 - len(body.get("operations", [1]))
    for _ in range(free):
        world.client.post("/api/v1/compact", json=COMPACT, headers=world.key())
    headers = world.key() | {"Idempotency-Key": "k"}
    calls = [
        lambda client=client: client.post(f"/api/v1/{path}", json=body, headers=headers)
        for client in clients * 4
    ]
    answers = at_once(calls)
    assert {answer.status_code for answer in answers} == {202}, [a.text for a in answers]
    assert len(world.store.jobs()) == 3


@pytest.mark.promise(59, 46)
def test_an_approval_is_used_up_by_what_is_queued_alone(make_world, monkeypatch):
    world = make_world(approval=["rollback"])
    ann = world.key("admin", owner="ann", name="ann")
    bob = world.key("admin", owner="bob", name="bob")
    body, path = {"snapshot_id": 99}, f"/api/v1/tables/{OWN}/rollback"
    with monkeypatch.context() as patch:
        patch.setattr("neve.service.operations.rollback.RollbackHandler.prepare", lambda *_: None)
        asked = world.client.post(path, json=body, headers=ann)
    approval = f"/api/v1/approvals/{asked.json()['approval_id']}"
    assert world.client.post(f"{approval}/approve", headers=bob).status_code == 200
    refused = world.client.post(path, json=body, headers=ann)
    assert refused.status_code == 422, refused.text
    assert world.client.get(approval, headers=ann).json()["state"] == "approved"
    assert world.store.jobs() == []


@pytest.mark.promise(59)
def test_nobody_is_asked_to_agree_to_what_is_refused_anyway(make_world):
    world = make_world(approval=["rollback"])
    path, ann = f"/api/v1/tables/{OWN}/rollback", world.key("admin", owner="ann")
    refused = world.client.post(path, json={"snapshot_id": 99}, headers=ann)
    assert (refused.status_code, "not in the history" in refused.json()["detail"]) == (422, True)
    assert world.client.get("/api/v1/approvals", headers=ann).json()["approvals"] == []
