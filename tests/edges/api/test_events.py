"""Events of a job as a stream, from a number on, until its end."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from neve.api.app import create_app
from neve.api.settings import ApiSettings
from neve.model.job import JobState, Progress

EVENTS = "/api/v1/jobs/j1/events"


def told(api, after=None):
    headers = {"Last-Event-ID": str(after)} if after is not None else {}
    response = api.get(EVENTS, headers=headers)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    # A line that begins with a colon only keeps the connection awake.
    blocks = [b for b in response.text.split("\n\n") if b.strip() and not b.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]


@pytest.fixture
def ended(queued, run_next, store):
    queued()
    store.append_event("j1", JobState.QUEUED, "two\nlines", Progress(1, 2, 3, 4, 5))
    return run_next()


def test_a_stream_tells_all_events_and_then_the_end(api, ended):
    events = told(api)

    assert [event["event"] for event in events] == ["state"] * (len(events) - 1) + ["end"]
    states = [json.loads(event["data"])["state"] for event in events[:-1]]
    assert (states[0], states[-1]) == ("queued", "succeeded")
    numbers = [int(event["id"]) for event in events[:-1]]
    assert numbers == sorted(set(numbers))
    said = json.loads(events[1]["data"])
    assert said["message"] == "two\nlines"
    assert said["progress"]["bytes_written"] == 5


def test_a_stream_goes_on_after_the_last_event_that_was_seen(api, ended):
    events = told(api)
    rest = told(api, after=events[1]["id"])
    assert rest == events[2:]


@pytest.mark.parametrize("number", ["x", "-1", str(2**64), "1.5"])
def test_a_number_that_is_none_is_refused(api, ended, number):
    response = api.get(EVENTS, headers={"Last-Event-ID": number})
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"


def test_streams_are_counted_and_bounded(neve, ended):
    with TestClient(create_app(neve, settings=ApiSettings(max_streams=1))) as api:
        told(api)
        assert not api.app.state.streams

        api.app.state.streams["somebody"] = 1
        response = api.get(EVENTS)

    assert response.status_code == 503
    assert response.headers["retry-after"]
