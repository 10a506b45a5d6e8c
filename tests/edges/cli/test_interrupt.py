"""Ctrl-C in the command line: one sentence, a clean table, a job with an end."""

from __future__ import annotations

import os
import resource
import signal

import pytest
from tests.edges.cli.conftest import make_events

from neve.store.sqlite import SqliteStore

NOTHING = "Interrupted; nothing was changed.\n"


def press(number=signal.SIGINT):
    os.kill(os.getpid(), number)


@pytest.fixture
def interrupted(engine):
    """An engine during whose work somebody presses Ctrl-C."""
    stage = engine.stage

    def stage_interrupted(*arguments):
        staged = stage(*arguments)
        press()
        return staged

    engine.stage = stage_interrupted
    return engine


def test_a_running_job_stops_at_its_next_boundary(run_json, run, events, interrupted):
    document, code = run_json("compact", "db.events", "--engine", "spark")

    assert (code, document["error"]["type"]) == (130, "Interrupted")
    assert document["error"]["message"] == NOTHING.strip()
    events.refresh()
    assert [snapshot.snapshot_id for snapshot in events.metadata.snapshots] == [1]
    assert set(events.metadata.refs) == {"main"}
    (job,), _ = run_json("jobs", "db.events")
    assert job["state"] == "cancelled"


def test_the_user_is_told_in_one_sentence(run, events, interrupted):
    result = run("compact", "db.events", "--engine", "spark")

    assert (result.stdout, result.stderr) == ("", NOTHING)


@pytest.fixture
def many_open_files():
    """What is opened from here on has a number that select() refuses."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], min(4096, limits[1])), limits[1]))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    yield
    for number in opened:
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_it_is_seen_beside_many_open_files(many_open_files, run, events, interrupted):
    assert run("compact", "db.events", "--engine", "spark").stderr == NOTHING


def test_what_was_committed_before_is_told(run, events, engine):
    commit = engine.commit_staged

    def commit_interrupted(*arguments):
        commit(*arguments)
        press()

    engine.commit_staged = commit_interrupted
    result = run("compact", "db.events", "--engine", "spark")

    assert result.exit_code == 130
    assert result.stderr.startswith("Interrupted; lake.db.events: 5 files became 1.")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_where_nothing_runs_it_ends_at_once(run, events, monkeypatch, number):
    monkeypatch.setattr(
        "neve.catalog.surveyor.CatalogSurveyor.survey", lambda *_, **__: press(number)
    )
    result = run("health", "db.events")

    assert (result.exit_code, result.stderr) == (130, NOTHING)


def test_between_claim_and_hold_no_interrupt_leaves_the_table_claimed(
    run, run_json, events, engine, monkeypatch
):
    begin = SqliteStore.begin

    def begin_interrupted(store, *arguments):
        lease = begin(store, *arguments)
        press()
        return lease

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "begin", begin_interrupted)
        assert run("compact", "db.events", "--engine", "spark").stderr == NOTHING

    (job,), _ = run_json("jobs", "db.events")
    assert (job["state"], job["running"]) == ("cancelled", False)


def test_maintain_says_how_many_jobs_were_done(run, lake, engine, monkeypatch):
    with make_events(lake).transaction() as change:
        change.set_properties({"neve.rewrite_data_files.engine": "spark"})
    monkeypatch.setattr("neve.service.maintain.write_log", lambda *_, **__: press() or [])
    result = run("maintain")

    assert result.exit_code == 130
    assert "5 files became 1" in result.stderr


def test_a_demo_that_is_interrupted_says_what_may_be_left(run, events, monkeypatch):
    monkeypatch.setattr("neve.neve.tell_story", lambda *_, **__: press())
    result = run("demo")

    assert result.exit_code == 130
    assert "half made" in result.stderr


@pytest.mark.parametrize("columns", ["0", "nonsense", "-5", ""])
def test_a_width_that_is_none_is_passed_over(run, events, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)

    assert "lake.db.events" in run("tables").stdout
