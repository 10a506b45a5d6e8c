from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta

import pytest

from neve.cli.commands import COMMANDS

pytestmark = pytest.mark.usefixtures("no_engine")


def test_there_are_none_at_first(run, run_json, events):
    assert run_json("consumers") == ([], 0)
    assert run("consumers").stdout == "No consumers are registered.\n"


def test_a_consumer_is_added_listed_and_removed(run, run_json, events):
    added, code = run_json("consumers", "add", "stream", "db.events", "--snapshot", "1")

    assert code == 0
    assert (added["name"], added["table"], added["snapshot_id"]) == (
        "stream",
        "lake.db.events",
        "1",
    )
    until = datetime.fromisoformat(added["leased_until"])
    assert timedelta(days=6.9) < until - datetime.now(tz=UTC) <= timedelta(days=7)
    assert run_json("consumers") == ([added], 0)
    assert "live" in run("consumers").stdout

    removed, code = run_json("consumers", "remove", "stream", "db.events")
    assert (removed["removed"], code) == (True, 0)
    assert run_json("consumers") == ([], 0)


def test_a_consumer_may_read_from_a_moment_on(run_json, events):
    words = ("add", "stream", "db.events", "--at", "2026-01-02T03:04:05+01:00", "--lease", "36h")
    added, _ = run_json("consumers", *words)

    assert (added["snapshot_id"], added["at"]) == ("1", "2026-01-02T02:04:05Z")


def test_the_example_of_the_command_adds_one(run_json, events):
    example = COMMANDS["consumers"].example.replace("sales.orders", "db.events")
    added, code = run_json(*shlex.split(example)[1:])

    assert (added["name"], code) == ("nightly", 0)


def test_expiry_waits_for_a_live_consumer(run_json, lake, events, monkeypatch):
    lake.commit(events)
    then = datetime.now(tz=UTC) + timedelta(days=30)
    monkeypatch.setattr("neve.app.utc_now", lambda: then)
    assert len(run_json("expire", "db.events")[0]["expired"]) == 1

    run_json("consumers", "add", "stream", "db.events", "--snapshot", "1")

    document, _ = run_json("expire", "db.events")
    assert document["expired"] == []
    assert document["kept"][-1]["reason"] == "consumer stream still has to read it"


@pytest.mark.parametrize("place", [("--snapshot", "1"), ("--at", "2026-01-02")])
def test_expiry_waits_for_a_consumer_of_a_table_that_was_renamed(
    run_json, lake, events, monkeypatch, place
):
    """Another table by the old name has nothing to do with it."""
    lake.commit(events)
    run_json("consumers", "add", "stream", "db.events", *place)
    then = datetime.now(tz=UTC) + timedelta(days=6)
    monkeypatch.setattr("neve.app.utc_now", lambda: then)
    lake.catalog.rename_table("db.events", "db.moved")
    lake.create("db.events", events.schema())

    document, _ = run_json("expire", "db.moved", "--older-than", "1d")

    assert document["expired"] == []
    assert document["kept"][-1]["reason"] == "consumer stream still has to read it"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "s", "db.events"), "in one way"),
        (("add", "s", "db.events", "--snapshot", "1", "--at", "2026-01-01"), "in one way"),
        (("add", "s", "db.events", "--snapshot", "7"), "no snapshot 7"),
        (("add", "s", "db.events", "--at", "soon"), "not a time"),
        (("add", "s", "db.events", "--at", "9999-12-31T23:59:59-14:00"), "not a time"),
        (("add", "s", "db.events", "--snapshot", "1", "--lease", "7"), "duration"),
        (("add", " ", "db.events", "--snapshot", "1"), "printable"),
        (("add", "s", "db.nothing", "--snapshot", "1"), "no table"),
        (("remove", "s", "db.events"), "No consumer named 's'"),
    ],
)
def test_what_cannot_be_is_refused(run_json, events, words, message):
    document, code = run_json("consumers", *words)

    assert code == 1
    assert message in document["error"]["message"]
