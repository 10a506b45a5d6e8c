"""The client against a live server: values, errors of the tree, pages, and streams that break."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import httpx2
import pytest

from neve.client import NeveClient
from neve.client.http import Connection
from neve.model.errors import (
    FilterError,
    InputError,
    PlanStale,
    ServerError,
    ServerRefused,
    StoreError,
    TableNotFound,
    TooMuch,
)
from neve.model.job import JobState, Progress
from neve.model.outcome import Status

TABLE = "production.analytics.events"


def test_it_brings_nothing_of_a_server():
    code = (
        "import sys, neve.client; heavy = {'fastapi', 'starlette', 'uvicorn', 'pyspark', "
        "'pyiceberg', 'pyarrow', 'pydantic', 'neve.neve'} & set(sys.modules); "
        "raise SystemExit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_compaction_is_queued_and_shown(client, store):
    queued = client.compact(TABLE, strategy="small_files", target_file_size="1GB", tenant="ads")
    assert queued.status == "queued"
    assert isinstance(queued.created_at, datetime)
    job = client.job(queued.job_id)
    assert (job.table, job.status, job.tenant) == (TABLE, "queued", "ads")
    assert job.created_at == queued.created_at == store.job(queued.job_id).created_at


def test_what_is_verified_can_be_said(client, store):
    job = store.job(client.compact(TABLE, verify="off").job_id)
    assert job.arguments["overrides"] == {"rewrite_data_files.verify": "off"}


def test_the_default_catalog_need_not_be_named(client, store):
    assert str(store.job(client.compact("analytics.events").job_id).table) == TABLE


def test_jobs_come_over_all_pages(client, queued):
    for number in range(5):
        queued(f"j{number}")
    assert [job.job_id for job in client.jobs(page=2)] == ["j4", "j3", "j2", "j1", "j0"]
    assert list(client.jobs(status="failed")) == []


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda c: c.compact("analytics.nope"), TableNotFound),
        (lambda c: c.compact("other.a.b"), InputError),
        (lambda c: c.compact("a..b"), InputError),
        (lambda c: c.compact(TABLE, partition_filter="id ="), FilterError),
        (lambda c: c.compact(TABLE, colour="red"), ServerRefused),
        (lambda c: c.job("nope"), ServerRefused),
        (lambda c: list(c.events("nope")), ServerRefused),
        (lambda c: c.health("analytics.nope"), TableNotFound),
        (lambda c: c.rollback(TABLE), ServerRefused),
    ],
)
def test_a_refusal_is_the_error_that_the_server_met(client, store, call, error):
    with pytest.raises(error) as raised:
        call(client)
    assert type(raised.value) is error
    assert store.jobs() == []


def test_a_refusal_says_what_to_do(client):
    with pytest.raises(ServerRefused) as raised:
        client.job("nope")
    assert (raised.value.status, raised.value.kind) == (404, "job-not-found")
    assert raised.value.next_step == "GET /api/v1/jobs lists them."


def test_plans_are_made_approved_and_applied(client, store):
    plan = client.make_plan(TABLE, target_file_size="1GB")
    assert plan.has_work
    assert client.approve_plan(plan.plan_id, "bob").approved_by == "bob"
    job = client.apply_plan(plan.plan_id)
    assert client.plan(plan.plan_id).job_id == job.job_id
    assert store.job(job.job_id).arguments["plan"] == plan.plan


def test_a_stale_plan_is_told_as_such(client, neve, monkeypatch):
    plan = client.make_plan(TABLE)

    def stale(*_, **__):
        raise PlanStale("It has moved on.", next_step="Plan again.")

    monkeypatch.setattr("neve.keeping.submit_kept", stale)
    with pytest.raises(PlanStale) as raised:
        client.apply_plan(plan.plan_id)
    assert raised.value.next_step == "Plan again."


def test_tables_and_what_is_known_of_them(client):
    assert list(client.tables(page=1)) == ["production.analytics.empty", TABLE]
    assert client.table(TABLE)["data_files"] == 6
    assert client.health(TABLE)["score"] < 100
    assert client.policy(TABLE)["schedule"] == "0 2 * * *"


def test_maintenance(client, store):
    assert client.expire(TABLE)["job"] is None
    assert client.maintain(TABLE, ["rewrite_manifests"], dry_run=True)["jobs"] == []
    assert store.jobs() == []
    assert client.orphans(TABLE).status == "queued"
    assert client.expire(TABLE, apply=True, older_than="2d")["job"]["status"] == "queued"
    turn = client.maintain(TABLE, ["rewrite_manifests"])
    assert len(turn["jobs"]) == 1
    assert client.job(turn["jobs"][0]["job_id"]).turn_id == turn["turn_id"]
    # It has changed nothing yet that could be undone.
    for undo in (client.rollback_turn, lambda turn_id: client.rollback(TABLE, turn_id=turn_id)):
        with pytest.raises(InputError, match=r"has left nothing in the history"):
            undo(turn["turn_id"])
    with pytest.raises(ServerRefused, match="There is no turn nobody"):
        client.rollback_turn("nobody")
    time = datetime.now(tz=UTC)
    with pytest.raises((InputError, ServerRefused)):
        client.rollback(TABLE, time=time, job_id="j1")


def test_tables_are_put_back(client, neve):
    neve.set_aside(TABLE, "It keeps failing.")
    assert client.set_aside_tables()[0]["reason"] == "It keeps failing."
    client.put_back(TABLE)
    assert client.set_aside_tables() == []


def test_jobs_are_cancelled_and_tried_again(client, queued):
    queued()
    assert client.cancel("j1").status == "cancelled"
    assert client.retry("j1").status == "queued"


def test_a_job_is_followed_to_its_end(client, queued, run_next, store):
    queued()
    store.append_event("j1", JobState.QUEUED, "soon", Progress(files_processed=3))
    threading.Timer(0.1, run_next).start()
    events = list(client.events("j1"))
    assert [event.state for event in events][-1] == "succeeded"
    assert events[1].progress.files_processed == 3
    assert client.wait("j1").status == "succeeded"


def test_a_stream_that_breaks_is_taken_up_where_it_ended(client, queued, run_next, monkeypatch):
    queued()
    run_next()
    whole = list(client.events("j1"))
    opened, stream = [], Connection._stream

    def breaking(self, path, after):
        opened.append(after)
        for told in stream(self, path, after):
            yield told
            if len(opened) < len(whole):
                raise ServerError("The line is dead.")

    monkeypatch.setattr(Connection, "_stream", breaking)

    assert list(client.events("j1")) == whole
    assert opened == [0, *(event.number for event in whole[:-1])]


def test_a_server_that_stays_away_ends_a_stream(client, queued, monkeypatch):
    queued()

    def dead(*_):
        raise ServerError("The line is dead.")
        yield

    monkeypatch.setattr(Connection, "_stream", dead)
    with pytest.raises(ServerError, match="dead"):
        list(client.events("j1"))


def test_a_job_that_takes_too_long_is_said_in_time(client, queued):
    """Nobody runs it, so that the server says nothing about it."""
    queued()
    begun = time.monotonic()
    with pytest.raises(ServerError, match=r"queued after 0\.2 seconds"):
        client.wait("j1", timeout_seconds=0.2)
    assert time.monotonic() - begun < 5


NOT_NOW = {"type": "urn:neve:problem:store", "detail": "Gone."}


def test_a_server_whose_state_is_away_for_a_while_is_waited_for(client, queued, run_next):
    queued()
    run_next()
    lost = [httpx2.ReadError("lost"), httpx2.Response(503, json=NOT_NOW), httpx2.Response(502)]
    flaky(client, lost * 4)
    assert client.wait("j1").status == "succeeded"


def test_a_stream_goes_on_after_the_state_was_away(client, queued, run_next, monkeypatch):
    queued()
    run_next()
    stream, troubles = Connection._stream, [StoreError("Gone."), TooMuch("Slowly.")]

    def troubled(self, path, after):
        if troubles:
            raise troubles.pop()
        yield from stream(self, path, after)

    monkeypatch.setattr(Connection, "_stream", troubled)
    assert list(client.events("j1"))[-1].state == "succeeded"


@pytest.mark.parametrize("wait", [NeveClient.wait, lambda *a: list(NeveClient.events(*a))])
def test_a_job_that_there_is_not_is_not_waited_for(client, wait):
    with pytest.raises(ServerRefused) as raised:
        wait(client, "nope")
    assert raised.value.status == 404


STRANGE = [b"{}", b"[]", b"null", b"1", b'"neve"', b'{"jobs": 1}', b'{"created_at": "soon"}']
ASKED = {
    "job": lambda client: client.job("j1"),
    "jobs": lambda client: list(client.jobs()),
    "plan": lambda client: client.plan("p1"),
    "compact": lambda client: client.compact(TABLE),
    "tables": lambda client: list(client.tables()),
    "policies": lambda client: client.policies(),
    "set aside": lambda client: client.set_aside_tables(),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("content", STRANGE)
def test_an_answer_of_something_else_is_one_sentence(asked, content):
    with NeveClient("http://127.0.0.1:9", sleep=lambda seconds: None) as client:
        flaky(client, [httpx2.Response(200, content=content)] * 9)
        with pytest.raises(ServerError) as raised:
            ASKED[asked](client)
    assert "address" in raised.value.next_step


def test_a_server_that_wants_to_know_is_told_who_asks():
    with NeveClient("http://127.0.0.1:9", api_key="neve_abc") as client:
        assert client._http.headers["Authorization"] == "Bearer neve_abc"


@pytest.mark.parametrize("key", ["a b", "a\nb", "\u00e9", "\r"])
def test_a_key_that_cannot_be_one_is_not_quoted(key):
    with pytest.raises(InputError) as raised:
        NeveClient("http://127.0.0.1:9", api_key=key)
    assert key not in raised.value.message


def test_figures_of_a_server_that_is_away(monkeypatch):
    with (
        NeveClient("http://127.0.0.1:9", sleep=lambda seconds: None) as nobody,
        pytest.raises(ServerError),
    ):
        nobody.metrics()


def flaky(client, answers):
    """Let answers come before those of the server; tells what was sent."""
    sent, send = [], client._http.request

    def request(method, path, **more):
        sent.append(more.get("headers", {}).get("Idempotency-Key"))
        if answers:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        return send(method, path, **more)

    client._http.request = request
    return sent


def test_a_lost_answer_is_asked_for_again_with_the_same_key(client, store):
    sent = flaky(client, [httpx2.ReadError("lost"), httpx2.Response(503)])
    client.compact(TABLE)
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert sent[0]
    assert len(store.jobs()) == 1


def test_what_has_no_key_is_sent_once(client):
    sent = flaky(client, [httpx2.ReadError("lost")])
    with pytest.raises(ServerError):
        client.make_plan(TABLE)
    assert len(sent) == 1


def test_a_refusal_is_not_sent_again(client):
    sent = flaky(client, [])
    with pytest.raises(TableNotFound):
        client.compact("analytics.nope")
    assert len(sent) == 1


def test_trouble_of_the_server_is_its_own_error(client):
    problem = {"type": "urn:neve:problem:store", "detail": "Gone.", "next_step": "Wait."}
    flaky(client, [httpx2.Response(503, json=problem)] * 9)
    with pytest.raises(StoreError):
        client.job("j1")


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"null", b""])
def test_an_answer_that_is_no_problem_document(client, content):
    flaky(client, [httpx2.Response(418, content=content)])
    with pytest.raises(ServerRefused) as raised:
        client.job("j1")
    assert raised.value.status == 418


def test_nobody_there():
    with NeveClient("http://127.0.0.1:9", sleep=lambda seconds: None) as nobody:
        assert not nobody.is_alive()
        with pytest.raises(ServerError) as raised:
            nobody.job("j1")
    assert "neve serve" in raised.value.next_step


def test_the_server_is_alive_and_counts(client, queued, run_next):
    queued()
    run_next(Status.FAILED)
    assert client.is_alive()
    assert 'compaction_jobs_total{status="failed"} 1.0' in client.metrics()
