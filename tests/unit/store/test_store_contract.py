"""One contract for every store: the file and its twin in memory."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from neve.model.errors import LeaseLost, StoreError, TableBusy
from neve.model.job import JobState
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore
from neve.testing.facts import NOW
from neve.testing.store import MemoryStore

TABLE = TableRef("lake", ("db",), "odd `name`")
OTHER = TableRef("lake", ("db",), "other")


@pytest.fixture(params=["sqlite", "memory"])
def store(request):
    if request.param == "sqlite":
        return SqliteStore(Path("state") / "state.db")
    return MemoryStore(lambda: datetime.now(tz=UTC))


def outcome(job_id, status=Status.SUCCEEDED, table=TABLE):
    return Outcome(
        job_id, table, "rewrite_data_files", status, "why", NOW, NOW, stats=CompactionStats(5, 1)
    )


def test_a_claim_makes_a_job(store):
    lease = store.claim("j1", TABLE, "rollback", 60)

    job = store.job("j1")
    assert (lease.job_id, lease.table, lease.epoch) == ("j1", TABLE, 1)
    assert (job.table, job.operation, job.state, job.epoch) == (
        TABLE,
        "rollback",
        JobState.PLANNING,
        1,
    )


def test_one_job_holds_a_table(store):
    store.claim("j1", TABLE, "rollback", 60)

    with pytest.raises(TableBusy, match="j1"):
        store.claim("j2", TABLE, "rollback", 60)
    assert store.claim("j3", OTHER, "rollback", 60).epoch == 1


def test_the_epoch_grows_with_every_claim(store):
    for epoch in (1, 2, 3):
        lease = store.claim(f"j{epoch}", TABLE, "rollback", 60)
        assert lease.epoch == epoch
        store.release(lease)


def test_a_late_worker_is_recognised(store):
    late = store.claim("j1", TABLE, "rollback", 0.05)
    time.sleep(0.1)
    store.claim("j2", TABLE, "rollback", 60)

    with pytest.raises(LeaseLost):
        store.renew(late, 60)
    with pytest.raises(LeaseLost):
        store.set_state(late, JobState.COMMITTING)


def test_an_expired_lease_cannot_be_renewed(store):
    lease = store.claim("j1", TABLE, "rollback", 0.05)
    time.sleep(0.1)

    with pytest.raises(LeaseLost):
        store.renew(lease, 60)


def test_renewing_holds_for_longer(store):
    lease = store.claim("j1", TABLE, "rollback", 30)

    assert store.renew(lease, 300).expires_at > lease.expires_at


def test_giving_back_an_old_lease_does_not_free_a_new_one(store):
    old = store.claim("j1", TABLE, "rollback", 60)
    store.release(old)
    store.claim("j2", TABLE, "rollback", 60)

    store.release(old)

    with pytest.raises(TableBusy):
        store.claim("j3", TABLE, "rollback", 60)


def test_an_outcome_without_a_claim_is_remembered_once(store):
    looked = outcome("j1", Status.NOTHING_TO_DO)
    store.record([looked, outcome("j2", Status.FAILED, OTHER)])
    store.record([looked])

    (job,) = store.jobs(TABLE)
    assert (job.job_id, job.state, job.reason) == ("j1", JobState.SUCCEEDED, "why")
    assert store.job("j2").state is JobState.FAILED
    assert {o.job_id for o in store.outcomes()} == {"j1", "j2"}
    assert store.claim("j3", TABLE, "rollback", 60).epoch == 1


def test_an_outcome_is_remembered(store):
    lease = store.claim("j1", TABLE, "rewrite_data_files", 60)
    store.set_state(lease, JobState.REWRITING)
    store.finish(lease, outcome("j1"))
    store.release(lease)

    assert store.outcomes() == [outcome("j1")]
    assert (store.job("j1").state, store.job("j1").reason) == (JobState.SUCCEEDED, "why")


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (Status.NOTHING_TO_DO, JobState.SUCCEEDED),
        (Status.FAILED, JobState.FAILED),
        (Status.UNKNOWN, JobState.UNKNOWN),
    ],
)
def test_the_end_of_a_job(store, status, state):
    store.finish(store.claim("j1", TABLE, "rollback", 60), outcome("j1", status))

    assert store.job("j1").state is state


def test_jobs_left_behind_are_found_when_nobody_runs_them(store):
    lease = store.claim("j1", TABLE, "rollback", 60)
    assert store.unfinished(TABLE) == []

    store.release(lease)

    assert [job.job_id for job in store.unfinished(TABLE)] == ["j1"]
    store.settle("j1", JobState.FAILED, "gone")
    assert store.unfinished(TABLE) == []


def test_jobs_are_listed_newest_first(store):
    for job_id, table in (("j1", TABLE), ("j2", OTHER), ("j3", OTHER)):
        store.release(store.claim(job_id, table, "rollback", 60))

    assert [job.job_id for job in store.jobs(OTHER)] == ["j3", "j2"]
    assert [job.job_id for job in store.jobs(limit=2)] == ["j3", "j2"]
    assert store.job("nobody") is None


def test_looking_at_a_store_that_is_not_there_makes_none():
    store = SqliteStore(Path("nowhere") / "state.db")

    assert (store.jobs(), store.outcomes()) == ([], [])
    assert not Path("nowhere").exists()


def test_a_folder_that_cannot_be_made_is_explained():
    Path("file").write_text("")

    with pytest.raises(StoreError, match="cannot be used"):
        SqliteStore(Path("file") / "state.db").claim("j1", TABLE, "rollback", 60)


def test_a_damaged_database_is_explained():
    Path("state.db").write_text("this is no database" * 100)

    with pytest.raises(StoreError, match="cannot be used"):
        SqliteStore(Path("state.db")).jobs()


def test_a_database_of_a_newer_version_is_left_alone():
    with sqlite3.connect("state.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()

    with pytest.raises(StoreError, match="newer Neve"):
        SqliteStore(Path("state.db")).claim("j1", TABLE, "rollback", 60)


def test_two_processes_share_a_file():
    first, second = SqliteStore(Path("s.db")), SqliteStore(Path("s.db"))
    first.claim("j1", TABLE, "rollback", 60)

    with pytest.raises(TableBusy):
        second.claim("j2", TABLE, "rollback", 60)


def test_outcomes_of_another_version_are_passed_over():
    store = SqliteStore(Path("s.db"))
    for job_id in ("j1", "j2"):
        lease = store.claim(job_id, TABLE, "rollback", 60)
        store.finish(lease, outcome(job_id))
        store.release(lease)
    with sqlite3.connect("s.db") as db:
        db.execute("""UPDATE jobs SET outcome = '{"version": 9}' WHERE job_id = 'j1'""")
    db.close()

    assert store.outcomes() == [outcome("j2")]
