"""`neve job` and `neve cancel` on the local state."""

from __future__ import annotations

import threading

import pytest

from neve.cli import places
from neve.model.job import JobRequest, JobState, Progress
from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore

TABLE = TableRef("lake", ("db",), "events")
REWRITE = JobRequest(TABLE, "rewrite_data_files", requested_by="ann")


@pytest.fixture
def store(tmp_path, no_engine):
    return SqliteStore(tmp_path / ".neve" / "state.db")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(places, "POLL_SECONDS", 0.005)


def test_a_job_is_shown(store, run, run_json):
    store.submit("j1", REWRITE)

    document, code = run_json("job", "j1")

    assert code == 0
    assert (document["job_id"], document["state"]) == ("j1", "queued")
    assert (document["table"], document["requested_by"]) == ("lake.db.events", "ann")
    assert "lake.db.events" in run("job", "j1").stdout


@pytest.mark.parametrize("words", [("job", "nothing"), ("cancel", "nothing")])
def test_a_job_that_is_not_there_is_an_error(store, run_json, words):
    document, code = run_json(*words)

    assert code == 1
    assert document["error"]["message"] == "There is no job nothing."


def test_following_tells_every_state_until_the_end(store, run, monkeypatch):
    store.submit("j1", REWRITE)
    lease = store.claim_job("j1", 60)

    def work(_):
        store.set_state(lease, JobState.REWRITING)
        progress = Progress(partitions_completed=1, partitions_total=2, files_processed=7)
        store.append_event("j1", JobState.REWRITING, "Copying …", progress)
        store.end(lease, JobState.FAILED, "No space.")

    # What the job does, it does while nobody looks.
    monkeypatch.setattr(
        places.LocalJobs, "_sleep", property(lambda self: work, lambda *_: None), raising=False
    )
    result = run("job", "j1", "--follow")

    told = result.stderr.splitlines()
    assert result.exit_code == 1
    assert [line for line in told if not line.startswith(" ")] == [
        "queued",
        "planning",
        "rewriting",
        "rewriting: Copying …",
        "failed: No space.",
    ]
    assert "  1 of 2 partitions, 7 files" in told
    assert "No space." in result.stdout


def test_following_a_job_in_another_thread_ends_with_it(store, run_json):
    store.submit("j1", REWRITE)
    lease = store.claim_job("j1", 60)
    timer = threading.Timer(0.05, store.end, (lease, JobState.SUCCEEDED, "Done."))
    timer.start()

    document, code = run_json("job", "j1", "--follow")

    timer.join()
    assert (document["state"], code) == ("succeeded", 0)


def test_following_a_job_whose_process_was_killed_ends(store, events, run_json, monkeypatch):
    monkeypatch.setattr(places, "QUIET_LOOKS", 1)
    lease = store.claim("lost", TABLE, "rewrite_data_files", 60)
    store.set_state(lease, JobState.REWRITING)
    store.release(lease)

    document, code = run_json("job", "lost", "--follow")

    assert (document["state"], code) == ("failed", 1)


def test_a_queued_job_is_cancelled_at_once(store, run_json):
    store.submit("j1", REWRITE)

    document, code = run_json("cancel", "j1")

    assert document == {"job_id": "j1", "state": "cancelled", "cancelled": True}
    assert code == 0
    assert run_json("cancel", "j1") == (document, 0)


def test_a_running_job_is_asked_to_end(store, run_json, run):
    lease = store.begin("j1", REWRITE, 60)

    document, code = run_json("cancel", "j1")

    assert (document["state"], document["cancelled"], code) == ("planning", True, 0)
    assert store.renew(lease, 60).cancel_requested
    assert "(to be cancelled)" in run("job", "j1").stdout


def test_a_job_that_is_over_cannot_be_cancelled(store, run_json, run):
    lease = store.begin("j1", REWRITE, 60)
    store.end(lease, JobState.SUCCEEDED, "Done.")

    document, code = run_json("cancel", "j1")

    assert (document["state"], document["cancelled"], code) == ("succeeded", False, 1)
    assert "is over already" in run("cancel", "j1").stdout
