"""What only the store in a file must do: follow the file, and take over older ones."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from neve.model.errors import StoreError
from neve.model.job import JobRequest, JobState
from neve.model.table import TableRef
from neve.store import statements as sql
from neve.store.migrate import MIGRATIONS
from neve.store.sqlite import SqliteStore

T = TableRef("lake", ("db",), "t")
REQUEST = JobRequest(T, "rewrite_data_files")


def test_a_file_that_was_removed_is_made_anew():
    store = SqliteStore(Path("state.db"))
    store.submit("j1", REQUEST)
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        Path(name).unlink(missing_ok=True)

    store.submit("j2", REQUEST)

    assert [job.job_id for job in SqliteStore(Path("state.db")).jobs()] == ["j2"]


def test_a_file_that_was_replaced_is_the_one_that_is_written():
    SqliteStore(Path("other.db")).submit("other", REQUEST)
    store = SqliteStore(Path("state.db"))
    store.submit("j1", REQUEST)
    for name in ("state.db-wal", "state.db-shm"):
        Path(name).unlink(missing_ok=True)
    os.replace("other.db", "state.db")

    assert store.claim_next(60).job_id == "other"


def test_who_makes_a_file_waits_for_another_who_makes_it():
    """SQLite itself gives up at once where a file that is being written changes its journal."""
    other = sqlite3.connect("state.db", isolation_level=None, check_same_thread=False)
    with closing(other):
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE another (x)")
        end = threading.Timer(0.3, other.rollback)
        end.start()

        SqliteStore(Path("state.db")).submit("j1", REQUEST)
        end.join()

    assert [job.job_id for job in SqliteStore(Path("state.db")).jobs()] == ["j1"]


def test_what_is_no_database_is_told_at_once():
    Path("state.db").write_bytes(b"this is no database" * 100)

    with pytest.raises(StoreError, match="file is not a database"):
        SqliteStore(Path("state.db")).submit("j1", REQUEST)


def test_a_change_that_fails_leaves_the_next_one_free():
    store = SqliteStore(Path("state.db"))
    store.submit("j1", REQUEST)
    with pytest.raises(TypeError):
        store.submit("j2", JobRequest(T, "rewrite_data_files", {"not JSON": object()}))

    assert store.claim_next(60).job_id == "j1"


def test_jobs_of_the_version_before_wait_for_their_turn():
    folder = Path(__file__).parents[3] / "src/neve/store/migrations"
    with sqlite3.connect("state.db") as db:
        for version in (2, 3):
            db.executescript((folder / MIGRATIONS[version]).read_text(encoding="utf-8"))
        db.execute("PRAGMA user_version = 3")
        db.execute(
            "INSERT INTO jobs (job_id, table_name, operation, state, epoch, created_at, "
            "updated_at, priority) VALUES ('old', 'lake.db.t', 'rollback', 'queued', 0, 1, 1, 5)"
        )
    db.close()
    store = SqliteStore(Path("state.db"))
    old = store.job("old")
    assert (old.state, old.attempts, old.tenant, old.not_before) == (JobState.QUEUED, 0, "", None)

    store.submit("new", JobRequest(T, "rollback"))

    assert store.claim_next(60).job_id == "old"
    assert (store.job("old").attempts, store.job("old").max_attempts) == (1, 3)


def test_choosing_a_job_reads_no_more_than_an_index():
    store = SqliteStore(Path("state.db"))
    store.submit("j1", REQUEST)

    with sqlite3.connect("state.db") as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN {sql.NEXT_QUEUED}", ("",)).fetchall()
        tenants = db.execute(f"EXPLAIN QUERY PLAN {sql.WAITING_TENANTS}").fetchall()
    db.close()
    steps = [row[3] for row in plan]
    assert any("jobs USING" in step and "jobs_queued (tenant=?)" in step for step in steps)
    assert any("claims USING INDEX claims_by_end" in step for step in steps)
    assert not any(step == "SCAN jobs" for step in steps + [row[3] for row in tenants])


def test_a_reader_keeps_its_connections_and_follows_the_file(tmp_path):
    """Reading needs no writing before it: an API process may never write."""
    path = tmp_path / "state.db"
    SqliteStore(path).submit("j1", REQUEST)
    reader = SqliteStore(path)
    assert reader.job("j1") is not None
    assert reader._connections.is_current()
    assert reader.job("j1") is not None

    for file in tmp_path.glob("state.db*"):
        file.unlink()
    assert reader.job("j1") is None
    SqliteStore(path).submit("j2", REQUEST)
    assert [job.job_id for job in reader.jobs()] == ["j2"]


def test_a_reader_that_keeps_its_connections_refuses_a_newer_file(tmp_path):
    path = tmp_path / "state.db"
    SqliteStore(path).submit("j1", REQUEST)
    reader = SqliteStore(path)
    assert reader.job("j1") is not None
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="newer Neve"):
        reader.job("j1")
