from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from neve.cli.render_expiry import render_expiry
from neve.model.expiry import ExpiredSnapshot, KeptSnapshot
from neve.model.steps import ExpireSnapshots
from neve.testing.facts import TABLE, snapshot
from neve.testing.local_lake import FileEntry, Manifest

pytestmark = pytest.mark.promise(13)


@pytest.fixture
def later(monkeypatch):
    """Thirty days from now, when everything that tests write is old."""
    then = datetime.now(tz=UTC) + timedelta(days=30)
    monkeypatch.setattr("neve.app.utc_now", lambda: then)


@pytest.fixture
def table(lake, events):
    """Three snapshots; the second has a tag, and the third replaced all files."""
    lake.commit(events, Manifest([FileEntry("file:///more", ("view",))]))
    summary = {"added-data-files": "1", "deleted-data-files": "7", "total-records": "100"}
    lake.commit(
        events,
        Manifest([FileEntry("file:///all", ("view",))]),
        keeps=False,
        operation="replace",
        summary={**summary, "neve.job-id": "j1"},
    )
    events.manage_snapshots().create_tag(2, "audit").commit()
    return events


@pytest.fixture
def expiring(engine, lake):
    """An engine that removes snapshots from metadata and files from disk."""

    def load(table):
        return lake.catalog.load_table((*table.namespace, table.name))

    def execute(table, step, properties, reporter):
        load(table).maintenance.expire_snapshots().by_ids(list(step.snapshot_ids)).commit()

    def delete_files(table, paths):
        for path in paths:
            Path(path.removeprefix("file://")).unlink(missing_ok=True)

    engine.execute, engine.delete_files = execute, delete_files
    engine.unreachable = lambda table, paths: list(paths)
    return engine


@pytest.mark.usefixtures("later", "no_engine")
def test_a_dry_run_is_the_default(run_json, table):
    document, code = run_json("expire", "db.events")

    assert code == 0
    assert document["reason"].startswith("1 snapshot older than 7d goes, and 1 file of ")
    assert [s["snapshot_id"] for s in document["expired"]] == ["1"]
    assert [(k["snapshot_id"], k["reason"]) for k in document["kept"]] == [
        ("3", "branch main points to it"),
        ("2", "tag audit points to it"),
    ]
    assert [f["kind"] for f in document["freed"]] == ["manifest_list"]
    assert document["freed_bytes"] == document["freed"][0]["size_bytes"]
    assert document["time_travel"][1:] == ["States that stay by name: audit."]
    assert "no longer works" in document["time_travel"][0]


@pytest.mark.usefixtures("later", "no_engine")
def test_a_dry_run_says_it_in_words(run, table):
    text = run("expire", "db.events").stdout

    for word in ("stays although old", "manifest list", "AS OF before", "--apply"):
        assert word in text


@pytest.mark.usefixtures("no_engine")
def test_nothing_that_is_young_goes(run_json, table):
    document, code = run_json("expire", "db.events")

    assert (code, document["expired"], document["freed"]) == (0, [], [])
    assert document["reason"] == "No snapshot older than 7d can go."


@pytest.mark.usefixtures("later")
def test_apply_does_it_and_once_is_enough(run_json, table, expiring):
    gone = table.snapshot_by_id(1).manifest_list.removeprefix("file://")
    assert Path(gone).exists()

    document, code = run_json("expire", "db.events", "--apply")

    assert (code, document["status"], document["operation"]) == (0, "succeeded", "expire_snapshots")
    assert document["figures_after"]["files_freed"] == 1
    assert not Path(gone).exists()
    table.refresh()
    assert [s.snapshot_id for s in table.metadata.snapshots] == [2, 3]
    assert run_json("expire", "db.events", "--apply")[0]["status"] == "nothing_to_do"


@pytest.mark.usefixtures("later", "no_engine")
def test_rules_are_options(run_json, table):
    by_count = run_json("expire", "db.events", "--retain-last", "3")[0]
    by_age = run_json("expire", "db.events", "--older-than", "40d")[0]
    by_day = run_json("expire", "db.events", "--keep-daily", "60", "--keep-monthly", "3")[0]

    assert (by_count["expired"], by_age["expired"]) == ([], [])
    assert {tag["name"][:15] for tag in by_day["tags"]} == {"neve-gfs-daily-", "neve-gfs-monthl"}


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--older-than", "7"), "7"),
        (("--older-than", "0d"), "longer than nothing"),
        (("--retain-last", "0"), "retain-last"),
        (("--keep-daily", "-1"), "keep-daily"),
    ],
)
def test_rules_that_make_no_sense_are_refused(run_json, table, words, message):
    document, code = run_json("expire", "db.events", *words)

    assert code == 1
    assert message in document["error"]["message"]


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("words", [(), ("--apply",)])
def test_a_table_without_garbage_collection_keeps_everything(run_json, table, expiring, words):
    with table.transaction() as change:
        change.set_properties({"gc.enabled": "false"})

    document, code = run_json("expire", "db.events", *words)

    assert "gc.enabled" in (document["error"]["message"] if not words else document["reason"])
    assert code == (0 if words else 1)
    table.refresh()
    assert len(table.metadata.snapshots) == 3


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("words", [(), ("--apply",)])
def test_a_table_that_is_registered_twice_is_refused_before_anything_is_changed(
    run_json, lake, table, expiring, words
):
    lake.catalog.create_namespace("db2")
    lake.catalog.register_table("db2.twin", table.metadata_location)

    document, code = run_json("expire", "db.events", *words)

    assert code == 1
    assert "registered as lake.db2.twin, too" in document["error"]["message"]
    assert len(lake.catalog.load_table("db.events").metadata.snapshots) == 3


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("words", [(), ("--apply",)])
def test_a_table_that_cannot_be_read_stops_the_expiry_of_others(
    run_json, lake, table, expiring, words
):
    broken = lake.create("db2.broken", table.schema())
    Path(broken.metadata_location.removeprefix("file://")).unlink()

    document, code = run_json("expire", "db.events", *words)

    assert code == 1
    assert "lake.db2.broken" in document["error"]["message"]
    assert len(lake.catalog.load_table("db.events").metadata.snapshots) == 3


@pytest.mark.usefixtures("later")
def test_what_another_table_reaches_is_said_and_stays(run, run_json, lake, table, expiring):
    needed = table.snapshot_by_id(1).manifest_list
    copy = lake.create("db2.copy", table.schema())
    lake.commit(copy, Manifest([FileEntry(needed)]))
    sentence = "1 file stays, because table lake.db2.copy reaches it."

    document, _ = run_json("expire", "db.events")
    assert (document["notes"], document["freed"]) == ([sentence], [])
    assert sentence in " ".join(run("expire", "db.events").stdout.split())
    outcome, code = run_json("expire", "db.events", "--apply")

    assert (code, outcome["status"], outcome["figures_after"].get("files_freed")) == (
        0,
        "succeeded",
        None,
    )
    assert Path(needed.removeprefix("file://")).exists()


@pytest.mark.usefixtures("no_engine")
def test_snapshots_are_listed_newest_first(run_json, table):
    document, code = run_json("snapshots", "db.events")

    assert (code, document["table"], document["snapshot_id"]) == (0, "lake.db.events", "3")
    assert [s["snapshot_id"] for s in document["snapshots"]] == ["3", "2", "1"]
    newest = dict(document["snapshots"][0])
    assert datetime.fromisoformat(newest.pop("committed_at")).tzinfo is not None
    assert newest == {
        "snapshot_id": "3",
        "parent_id": "2",
        "first_row_id": None,
        "operation": "replace",
        "files_added": 1,
        "files_removed": 7,
        "records_added": None,
        "records_removed": None,
        "records": 100,
        "job_id": "j1",
        "is_current": True,
        "branches": ["main"],
        "tags": [],
    }
    assert [(ref["name"], ref["snapshot_id"]) for ref in document["branches"]] == [("main", "3")]
    [tag] = document["tags"]
    assert (tag["name"], tag["snapshot_id"], tag["max_age_ms"]) == ("audit", "2", None)
    assert isinstance(tag["age_seconds"], float)


@pytest.mark.usefixtures("no_engine")
def test_snapshots_are_shown_as_tables(run, table):
    text = run("snapshots", "db.events").stdout

    assert "3 snapshots" in text
    assert [line.split()[0] for line in text.splitlines() if " * " in line] == ["3"]
    assert "audit" in text


@pytest.mark.usefixtures("no_engine")
def test_an_empty_table_has_no_snapshots(run_json, run, lake, table):
    lake.create("db.empty", table.schema())

    document, code = run_json("snapshots", "db.empty")

    assert (code, document["snapshots"], document["branches"], document["tags"]) == (0, [], [], [])
    assert "0 snapshots" in run("snapshots", "db.empty").stdout


def test_ids_are_as_short_as_they_tell_the_tables_snapshots_apart():
    old, twin, kept = 5942030024810030495, 5942030024999999999, 1650218136120490909
    at = datetime(2026, 1, 2, tzinfo=UTC)
    step = ExpireSnapshots(
        expired=(ExpiredSnapshot(old, at, "append"),),
        kept=(KeptSnapshot(kept, at, "a tag"),),
        tags=(),
        dropped_refs=(),
        time_travel=(),
    )
    shown = Console(width=120)
    with shown.capture() as text:
        shown.print(render_expiry(TABLE, step, "", [snapshot(n) for n in (old, twin, kept)]))
    # What stays under a beginning that another one has as well would be refused when it is typed.
    ids = [line.split()[0] for line in text.get().splitlines() if "2026-01-02" in line]
    assert ids == ["59420300248", "16502181"]
