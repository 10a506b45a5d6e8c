from __future__ import annotations

import asyncio

import pytest
from neve_provider.triggers.neve import NeveJobTrigger
from scripted import job_document, problem

BUSY = (503, problem("Busy.", "busy", 503))


def trigger(*job_ids, patience_seconds=60.0):
    return NeveJobTrigger("neve_default", job_ids, 0.0, patience_seconds)


def fired(made):
    async def collect():
        return [event.payload async for event in made.run()]

    return asyncio.run(collect())


def test_it_fires_once_when_all_jobs_are_over(server):
    server.job("a", "queued", "running", "failed")
    server.job("b", "running", "succeeded")

    assert fired(trigger("a", "b")) == [{"job_ids": ["a", "b"], "problem": None}]


def test_another_triggerer_goes_on_with_it():
    path, arguments = trigger("a").serialize()

    assert path == "neve_provider.triggers.neve.NeveJobTrigger"
    assert NeveJobTrigger(**arguments).serialize() == (path, arguments)


def test_a_server_may_be_away_for_a_while(server):
    server.tell("GET", "/jobs/a", BUSY, (200, b"<html>"), BUSY, job_document("a", "succeeded"))

    assert fired(trigger("a"))[0]["problem"] is None


def test_one_that_stays_away_is_told(server):
    server.tell("GET", "/jobs/a", BUSY)

    assert fired(trigger("a", patience_seconds=0.0)) == [{"job_ids": ["a"], "problem": "Busy."}]


def test_a_refusal_is_told_at_once(server):
    assert fired(trigger("nope"))[0]["problem"] == "There is no such thing."
    assert len(server.seen) == 1


def test_a_task_that_is_killed_cancels_its_jobs(server):
    server.job("a", "running")

    asyncio.run(trigger("gone", "a").on_kill())

    assert server.asked("DELETE") == ["/api/v1/jobs/gone", "/api/v1/jobs/a"]


@pytest.mark.parametrize("status", ["queued", "running"])
def test_being_moved_to_another_triggerer_cancels_no_job(server, status):
    server.job("a", status)

    async def stopped():
        running = asyncio.ensure_future(anext(trigger("a").run()))
        while not server.seen:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(stopped())

    assert server.asked("DELETE") == []
