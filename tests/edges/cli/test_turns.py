"""Turns of a server: found by their jobs, and undone by their id from a terminal or by REST."""

from __future__ import annotations

import re

import pytest
import yaml
from starlette.testclient import TestClient
from tests.edges.cli.conftest import BY_KIND, SCHEMA

from neve import Neve
from neve.api.app import create_app
from neve.service.worker import WorkerSettings
from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, Manifest

pytestmark = pytest.mark.promise(8)
HOURLY = {
    "name": "hourly",
    "match": {"tables": ["*"]},
    "schedule": "0 * * * *",
    "operations": {"rewrite_data_files": {"engine": "spark"}},
}
KEY = {"Idempotency-Key": "k"}
UNDO = "/api/v1/turns/{}/rollback"


@pytest.fixture
def neve(events, engine, lake, tmp_path):
    settings = {"catalogs": {"lake": lake.properties}, "policies": [HOURLY]}
    (tmp_path / "neve.yaml").write_text(yaml.safe_dump(settings))
    with Neve.open() as opened:
        yield opened


def run_all(neve):
    worker = neve.worker(WorkerSettings(), lambda text: None)
    while worker.take():
        assert worker.wait_for_jobs(20)


def by_schedule(neve):
    turns = neve.scheduler()
    while turns.refresh():
        pass
    (turn_id,) = {job.turn_id for job in turns.tick(neve.now()).jobs}
    return turn_id


def by_hand(neve):
    (turn_id,) = {job.turn_id for job in neve.trigger("db.events")}
    return turn_id


def asked(path):
    def ask(neve):
        with TestClient(create_app(neve)) as api:
            return api.post(f"/api/v1/{path}").json()["turn_id"]

    return ask


@pytest.fixture(
    params=[
        by_schedule,
        by_hand,
        asked("schedules/db.events/trigger"),
        lambda neve: asked_to_maintain(neve),
    ],
    ids=["schedule", "python", "trigger", "maintain"],
)
def turn_id(request, neve, events):
    turn_id = request.param(neve)
    run_all(neve)
    assert head(events) != 1
    return turn_id


def asked_to_maintain(neve):
    with TestClient(create_app(neve)) as api:
        return api.post("/api/v1/tables/db.events/maintain", json={}).json()["turn_id"]


def head(events):
    return events.refresh().metadata.current_snapshot_id


def test_a_turn_of_a_server_is_undone_from_a_terminal(neve, turn_id, events, run, run_json):
    job = next(job for job in neve.history() if job.operation == "rewrite_data_files")
    shown = run("job", job.job_id[:8]).stdout
    command = re.search(r"undo: neve (rollback --turn \w+)", shown)[1]

    undone, code = run_json(*command.split())

    assert (code, len(undone["outcomes"])) == (0, 1)
    assert head(events) == 1
    assert run_json("job", job.job_id)[0]["turn_id"] == turn_id


def test_a_turn_of_a_server_is_undone_by_rest(neve, events):
    turn_id = by_schedule(neve)
    run_all(neve)
    with TestClient(create_app(neve)) as api:
        answers = [api.post(UNDO.format(turn_id), headers=KEY) for _ in "12"]
        (table,) = answers[0].json()["tables"]
        assert [answer.status_code for answer in answers] == [202, 202]
        assert answers[0].json() == answers[1].json()
        # A key is for one request.
        reused = api.post("/api/v1/tables/db.events/maintain", json={}, headers=KEY)
        assert reused.status_code == 422
        run_all(neve)
        job = api.get(f"/api/v1/jobs/{table['job']['job_id']}").json()
        again = api.post(UNDO.format(turn_id))

    assert (job["operation"], job["status"]) == ("rollback", "succeeded")
    assert head(events) == 1
    assert (again.status_code, again.json()["type"]) == (422, "urn:neve:problem:input")


def test_one_table_of_a_turn_is_undone_by_rest(neve, events, lake):
    turn_id = by_schedule(neve)
    run_all(neve)
    with TestClient(create_app(neve)) as api:
        path = "/api/v1/tables/db.events/rollback"
        assert api.post(path, json={"turn_id": turn_id[:8]}).status_code == 422
        assert api.post(path, json={"turn_id": turn_id}).status_code == 202
    run_all(neve)

    assert head(events) == 1


@pytest.mark.parametrize("said", ["nobody's", "{:.8}"])
def test_a_turn_is_asked_for_by_its_whole_id(neve, said):
    turn_id = by_schedule(neve)
    with TestClient(create_app(neve)) as api:
        answer = api.post(UNDO.format(said.format(turn_id)))

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:neve:problem:turn-not-found")


def test_a_table_with_a_writer_after_the_turn_is_told_and_the_others_are_undone(
    neve, events, lake, run_json
):
    other = lake.create("db.other", SCHEMA, BY_KIND)
    lake.commit(
        other, Manifest([FileEntry(f"file:///o{i}", ("click",), size_bytes=MB) for i in range(5)])
    )
    turn_id = run_json("maintain")[0]["turn_id"]
    lake.commit(other.refresh(), Manifest([FileEntry("file:///n", ("click",), size_bytes=MB)]))
    with TestClient(create_app(neve)) as api:
        tables = api.post(UNDO.format(turn_id)).json()["tables"]
    run_all(neve)

    found = {item["table"]: item for item in tables}
    assert found["lake.db.events"]["job"]["status"] == "queued"
    assert found["lake.db.other"]["job"] is None
    assert "commits of writers came after" in found["lake.db.other"]["problem"]["detail"]
    assert head(events) == 1
