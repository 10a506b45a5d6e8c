"""`neve jobs` lists jobs, and gives those that were left behind an end by reading the table."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
import yaml

from neve.model.job import JobState
from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

pytestmark = pytest.mark.promise(6)

EVENTS = TableRef("lake", ("db",), "events")
OLD = datetime(2020, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture
def store(tmp_path):
    return SqliteStore(tmp_path / ".neve" / "state.db")


@pytest.fixture
def lose(store):
    """A job whose process was killed: its lease has ended, and it is at work for ever."""

    def leave(job_id="lost", table=EVENTS, operation="rewrite_data_files"):
        lease = store.claim(job_id, table, operation, 60)
        store.set_state(lease, JobState.REWRITING)
        store.release(lease)

    return leave


@pytest.fixture
def listed(run_json):
    return lambda *words: {item["job_id"]: item for item in run_json("jobs", *words)[0]}


def test_a_lost_job_without_a_snapshot_has_failed(events, lose, listed, store, no_engine):
    lose()

    job = listed()["lost"]

    assert (job["state"], job["running"]) == ("failed", False)
    assert job["reason"].startswith("It left no snapshot in the table.")
    assert store.job("lost").state is JobState.FAILED


def commit_as(lake, table, job_id):
    """What a compaction leaves: the same rows in another file."""
    files = [FileEntry("file:///new", ("click",), 5_000_000, 500)]
    files.append(FileEntry("file:///v", ("view",), 1_000_000, 100))
    summary = {"neve.job-id": job_id, "added-data-files": "2"}
    lake.commit(table, Manifest(files), keeps=False, operation="replace", summary=summary)


def test_a_lost_job_whose_rows_add_up_has_succeeded(lake, events, lose, listed, no_engine):
    lose()
    commit_as(lake, events, "lost")

    job = listed()["lost"]

    assert job["state"] == "succeeded"
    assert job["reason"] == "Its snapshot was found in the table, and its rows add up."


def test_a_job_that_only_spark_can_judge_says_so(lake, events, lose, run_json, store, no_engine):
    delete = FileEntry("file:///d", ("click",), content=1, records=1)
    lake.commit(events, Manifest([delete]), operation="delete")
    lose()
    commit_as(lake, events, "lost")

    ((job,), code) = run_json("jobs")

    assert (job["state"], code) == ("rewriting", 0)
    assert job["reason"].endswith("can be compared by Spark alone: neve compact lake.db.events")
    assert store.job("lost").state is JobState.REWRITING


def test_jobs_of_a_table_that_is_gone_have_failed(lake, events, lose, listed):
    lose(table=EVENTS.sibling("gone"))

    job = listed()["lost"]

    assert job["state"] == "failed"
    assert "it was dropped or renamed" in job["reason"]


def test_a_table_that_was_made_anew_is_told(lake, events, lose, listed, tmp_path):
    lose()
    with closing(sqlite3.connect(tmp_path / ".neve" / "state.db")) as db, db:
        db.execute("UPDATE jobs SET created_at = ?, updated_at = ?", (OLD, OLD))

    job = listed()["lost"]

    assert (job["state"], "the table was made again" in job["reason"]) == ("failed", True)


def test_a_table_that_cannot_be_read_keeps_its_job_and_others_go_on(
    lake, events, lose, run_json, tmp_path
):
    lose("unread")
    lose("gone", EVENTS.sibling("gone"))
    for file in (tmp_path / ".neve" / "warehouse").rglob("*.metadata.json"):
        file.unlink()

    documents, code = run_json("jobs")

    jobs = {item["job_id"]: item for item in documents}
    assert (code, jobs["unread"]["state"], jobs["gone"]["state"]) == (1, "rewriting", "failed")
    assert "It cannot be settled now: The metadata of table" in jobs["unread"]["reason"]


def test_a_catalog_that_is_down_keeps_its_jobs(events, lake, lose, run, tmp_path):
    lose()
    lose("other", TableRef("down", ("db",), "t"))
    lose("more", TableRef("down", ("db",), "u"))
    lose("removed", TableRef("removed", ("db",), "t"))
    settings = {
        "catalogs": {
            "lake": lake.properties,
            "down": {"type": "rest", "uri": "http://127.0.0.1:1"},
        },
        "state": {"url": f"sqlite:///{tmp_path / '.neve' / 'state.db'}"},
    }
    (tmp_path / "neve.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    result = run("jobs")

    assert result.exit_code == 1
    assert result.stderr.count("Catalog down cannot be reached") == 1
    assert "Catalog removed is not configured any more." in result.stderr
    (lost,) = [line for line in result.stdout.splitlines() if line.split()[:1] == ["lost"]]
    assert "failed" in lost


def test_a_running_job_is_left_alone(events, store, listed):
    lease = store.claim("now", EVENTS, "rewrite_data_files", 60)
    store.set_state(lease, JobState.REWRITING)

    job = listed("--running")["now"]

    assert (job["state"], job["running"], job["reason"]) == ("rewriting", True, "")


def test_globs_and_limits_choose(events, lose, listed, store):
    lose("a")
    lose("b", EVENTS.sibling("gone"))
    lose("c")

    assert list(listed("db.ev*")) == ["c", "a"]
    assert list(listed("lake.db.gone")) == ["b"]
    assert list(listed("--limit", "2")) == ["c", "b"]
    assert listed("--running") == {}
    assert listed("nothing.*") == {}


def test_only_jobs_that_the_glob_is_for_are_settled(events, lose, listed, store):
    lose("a")
    lose("b", EVENTS.sibling("gone"))

    listed("lake.db.gone")

    assert (store.job("a").state, store.job("b").state) == (JobState.REWRITING, JobState.FAILED)


def test_a_lost_rollback_is_judged_by_its_tag(lake, events, lose, listed):
    lose("early", operation="rollback")
    lose("done", operation="rollback")
    first = events.refresh().current_snapshot().snapshot_id
    lake.commit(events, Manifest([FileEntry("file:///late", ("view",))]))
    last = events.refresh().current_snapshot().snapshot_id
    events.manage_snapshots().create_tag(last, "neve-undo-done").commit()
    events.refresh().manage_snapshots().rollback_to_snapshot(first).commit()

    jobs = listed()

    assert (jobs["early"]["state"], jobs["done"]["state"]) == ("failed", "succeeded")
    assert str(first) in jobs["done"]["reason"]


@pytest.mark.parametrize("operation", ["expire_snapshots", "remove_orphan_files"])
def test_what_commits_no_snapshot_has_ended_early(events, lose, listed, operation):
    lose(operation=operation)

    job = listed()["lost"]

    assert (job["state"], job["reason"].startswith("It ended early.")) == ("failed", True)


def test_no_jobs_are_no_trouble(run, lake):
    result = run("jobs")

    assert (result.exit_code, result.stdout.strip()) == (0, "No jobs.")


def test_people_see_who_is_running(events, store, run):
    store.claim("now", EVENTS, "rewrite_data_files", 60)

    assert "planning (running)" in run("jobs").stdout


def test_the_lake_is_only_read(lake: LocalLake, events, lose, listed):
    lose()
    before = events.metadata_location

    listed()

    assert events.refresh().metadata_location == before
