"""Ctrl-C in the command line: one sentence, a clean table, a job with an end."""

from __future__ import annotations

import os
import signal

import pytest

from neve.cli.interrupt import STOPPING


@pytest.fixture
def interrupted(engine):
    """An engine during whose work somebody presses Ctrl-C."""
    stage = engine.stage

    def press(*arguments):
        staged = stage(*arguments)
        os.kill(os.getpid(), signal.SIGINT)
        return staged

    engine.stage = press
    return engine


def test_a_running_job_stops_at_its_next_boundary(run_json, run, events, interrupted):
    outcome, code = run_json("compact", "db.events", "--engine", "spark")

    assert (code, outcome["status"]) == (1, "cancelled")
    events.refresh()
    assert [snapshot.snapshot_id for snapshot in events.metadata.snapshots] == [1]
    assert set(events.metadata.refs) == {"main"}
    (job,), _ = run_json("jobs", "db.events")
    assert job["state"] == "cancelled"


def test_the_user_is_told(run, events, interrupted):
    assert STOPPING in run("compact", "db.events", "--engine", "spark").stderr


def test_where_nothing_runs_it_ends_at_once(run, events, monkeypatch):
    def press(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("neve.catalog.surveyor.CatalogSurveyor.survey", press)
    result = run("health", "db.events")

    assert result.exit_code == 130
    assert result.stderr.startswith("Interrupted.")
