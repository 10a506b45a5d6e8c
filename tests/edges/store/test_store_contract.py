"""One contract for every store: the file, the Redis server and their twin in memory."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from neve.model.errors import InputError, LeaseLost, StoreError, TableBusy
from neve.model.job import JobRequest, JobState, Trigger
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore
from neve.testing.facts import NOW

pytestmark = pytest.mark.promise(38)

TABLE = TableRef("lake", ("db",), "odd `name`")
OTHER = TableRef("lake", ("db",), "other")


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
    late = store.claim("j1", TABLE, "rollback", -1)
    store.claim("j2", TABLE, "rollback", 60)

    with pytest.raises(LeaseLost):
        store.renew(late, 60)
    with pytest.raises(LeaseLost):
        store.set_state(late, JobState.COMMITTING)


def test_a_lease_that_is_over_is_renewed_while_nobody_has_taken_the_table(store):
    """A process that stood still, or a laptop that slept, goes on where nobody came in between."""
    lease = store.claim("j1", TABLE, "rollback", -1)

    renewed = store.renew(lease, 60)

    assert (renewed.job_id, renewed.epoch) == ("j1", lease.epoch)
    with pytest.raises(TableBusy):
        store.claim("j2", TABLE, "rollback", 60)
    store.set_state(renewed, JobState.COMMITTING)
    assert store.job("j1").state is JobState.COMMITTING


def _taken(store, lease):
    store.claim("j2", TABLE, "rollback", -1)


def _settled(store, lease):
    assert store.settle(store.job(lease.job_id), JobState.FAILED, "It did nothing.")


def _queued_again(store, lease):
    assert store.requeue(store.job(lease.job_id), "Its worker is gone.")


def _given_back(store, lease):
    store.release(lease)


@pytest.mark.parametrize("end", [_taken, _settled, _queued_again, _given_back])
def test_a_lease_that_is_over_cannot_be_renewed_after_its_epoch(store, end):
    lease = store.claim("j1", TABLE, "rollback", -1)
    end(store, lease)

    with pytest.raises(LeaseLost):
        store.renew(lease, 60)


def test_who_renews_late_is_not_settled(store):
    lease = store.claim("j1", TABLE, "rollback", -1)
    seen = store.job("j1")

    store.renew(lease, 60)

    assert not store.settle(seen, JobState.FAILED, "It did nothing.")
    assert not store.requeue(seen, "Its worker is gone.")
    assert store.unfinished(TABLE) == []


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
    assert store.settle(store.job("j1"), JobState.FAILED, "gone")
    assert store.unfinished(TABLE) == []


def test_jobs_are_listed_newest_first(store):
    for job_id, table in (("j1", TABLE), ("j2", OTHER), ("j3", OTHER)):
        store.release(store.claim(job_id, table, "rollback", 60))

    assert [job.job_id for job in store.jobs(OTHER)] == ["j3", "j2"]
    assert [job.job_id for job in store.jobs(limit=2)] == ["j3", "j2"]
    assert (store.jobs(limit=0), store.outcomes(limit=0)) == ([], [])
    assert store.job("nobody") is None


REQUEST = JobRequest(
    TABLE, "expire_snapshots", {"older_than_seconds": 60}, requested_by="ana", trigger=Trigger.API
)


def test_a_job_waits_until_it_is_claimed(store):
    job = store.submit("j1", REQUEST)

    assert (job.state, job.epoch, job.arguments) == (JobState.QUEUED, 0, REQUEST.arguments)
    assert (job.requested_by, job.trigger) == ("ana", Trigger.API)
    assert store.unfinished(TABLE) == []
    lease = store.claim_job("j1", 60)
    assert (lease.epoch, store.job("j1").state, store.job("j1").epoch) == (1, JobState.PLANNING, 1)


def test_a_job_is_claimed_once(store):
    store.submit("j1", REQUEST)
    store.release(store.claim_job("j1", 60))

    with pytest.raises(TableBusy):
        store.claim_job("j1", 60)
    with pytest.raises(InputError, match="no job j2"):
        store.claim_job("j2", 60)


def test_a_refused_claim_leaves_the_table_to_its_holder(store):
    store.submit("j1", REQUEST)
    held = store.claim("j2", TABLE, "rollback", 60)

    with pytest.raises(TableBusy, match="j2"):
        store.claim_job("j1", 60)
    assert store.renew(held, 60).epoch == 1
    assert store.job("j1").state is JobState.QUEUED


def test_the_same_key_is_the_same_job(store):
    keyed = replace(REQUEST, idempotency_key="once")
    first = store.submit("j1", keyed)

    assert store.submit("j2", keyed) == first
    assert store.job("j2") is None


def test_workers_take_jobs_by_priority_then_age_and_pass_over_busy_tables(store):
    store.submit("j1", REQUEST)
    store.submit("j2", replace(REQUEST, table=OTHER))
    store.submit("j3", replace(REQUEST, priority=5))

    claimed = [store.claim_next(60), store.claim_next(60), store.claim_next(60)]

    assert [lease and lease.job_id for lease in claimed] == ["j3", "j2", None]


def test_a_queued_job_is_cancelled_at_once(store):
    store.submit("j1", REQUEST)

    assert store.cancel("j1").state is JobState.CANCELLED
    assert store.claim_next(60) is None
    assert store.cancel("nobody") is None


def test_a_running_job_is_told_to_stop_with_its_next_heartbeat(store):
    lease = store.claim("j1", TABLE, "rollback", 60)
    assert not store.renew(lease, 60).cancel_requested

    store.cancel("j1")

    assert store.renew(lease, 60).cancel_requested
    assert store.job("j1").state is JobState.PLANNING


def test_a_late_worker_cannot_end_its_job_over_another(store):
    late = store.claim("j1", TABLE, "rollback", -1)
    store.claim("j2", TABLE, "rollback", 60)

    with pytest.raises(LeaseLost):
        store.finish(late, outcome("j1"))
    with pytest.raises(LeaseLost):
        store.end(late, JobState.FAILED, "late")
    assert store.job("j1").state is JobState.PLANNING


def test_a_late_worker_cannot_end_a_job_that_was_settled(store):
    late = store.claim("j1", TABLE, "rollback", -1)
    assert store.settle(store.job("j1"), JobState.FAILED, "left behind")

    with pytest.raises(LeaseLost):
        store.finish(late, outcome("j1"))
    assert store.job("j1").reason == "left behind"


def test_a_job_whose_lease_is_over_may_end_while_nobody_came(store):
    late = store.claim("j1", TABLE, "rollback", -1)
    store.finish(late, outcome("j1"))

    assert store.job("j1").state is JobState.SUCCEEDED


def test_only_jobs_that_nobody_runs_are_settled(store):
    store.claim("j1", TABLE, "rollback", 60)
    seen = store.job("j1")

    assert not store.settle(seen, JobState.FAILED, "gone")
    assert store.job("j1").state is JobState.PLANNING


def test_a_job_with_an_end_is_not_settled_again(store):
    lease = store.claim("j1", TABLE, "rollback", 60)
    seen = store.job("j1")
    store.finish(lease, outcome("j1"))
    store.release(lease)

    assert not store.settle(seen, JobState.FAILED, "gone")
    assert store.job("j1").state is JobState.SUCCEEDED


def test_jobs_that_were_left_behind_on_any_table(store):
    store.claim("j1", TABLE, "rollback", -1)
    store.claim("j2", OTHER, "rollback", 60)
    store.submit("j3", replace(REQUEST, table=TableRef("lake", ("db",), "third")))

    assert [job.job_id for job in store.unfinished()] == ["j1"]


def test_the_turn_of_a_table_is_remembered(store):
    assert store.schedule_state(TABLE) is None

    store.record_run([TABLE])

    assert store.schedule_state(TABLE).table == TABLE
    assert abs((store.schedule_state(TABLE).last_run - datetime.now(tz=UTC)).total_seconds()) < 60
    assert store.schedule_state(OTHER) is None
    assert store.jobs() == []


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

    store = SqliteStore(Path("state.db"))
    for use in (lambda: store.claim("j1", TABLE, "rollback", 60), store.jobs, store.outcomes):
        with pytest.raises(StoreError, match="newer Neve"):
            use()
    for use in (lambda: store.consumers.all(), lambda: store.quarantine.was_swept("u")):
        with pytest.raises(StoreError, match="newer Neve"):
            use()


def old_state(version):
    """A file as an earlier Neve left it, with a job of every kind in it."""
    with sqlite3.connect("state.db") as db:
        db.executescript((Path(__file__).parent / f"state_v{version}.sql").read_text())
    db.close()
    return SqliteStore(Path("state.db"))


@pytest.mark.parametrize("version", [1, 2])
def test_a_state_of_an_earlier_version_is_taken_over(version):
    store = old_state(version)

    assert [(job.job_id, job.state) for job in store.jobs()] == [
        ("turn", JobState.SUCCEEDED),
        ("left", JobState.REWRITING),
        ("done", JobState.SUCCEEDED),
    ]
    assert store.claim("j1", TABLE, "rollback", 60).epoch == 1
    assert [job.job_id for job in store.unfinished(OTHER)] == ["left"]
    assert store.schedule_state(OTHER).last_run == datetime(2026, 1, 3, tzinfo=UTC)
    assert store.job("left").trigger is Trigger.CLI


def test_an_old_state_that_cannot_be_written_can_be_read():
    old_state(2)
    os.chmod("state.db", 0o444)

    assert len(SqliteStore(Path("state.db")).jobs()) == 3
    with sqlite3.connect("state.db") as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
    db.close()


def test_processes_that_open_an_old_state_at_once_take_it_over_once():
    old_state(2)
    stores = [SqliteStore(Path("state.db")) for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda store: store.record_run([TABLE]), stores))

    assert len(stores[0].jobs()) == 3


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


ODD_NAMES = (
    "two\nlines",
    "nul\0 tab\t escape\x1b",
    "\u200bno width\u2028",
    "\ud7ff\U0001f9ca",
    "`",
    "a``.`b",
    '"quoted"',
    "with.dots",
    " ",
    "x" * 2000,
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_table_comes_back_by_exactly_its_name(store, name):
    odd = TableRef("lake", (name, "db"), name)
    job = store.submit("j1", JobRequest(odd, "rollback"))
    lease = store.claim_next(60)

    assert (job.table, store.job("j1").table, lease.table) == (odd, odd, odd)
    assert [found.table for found in store.jobs(odd)] == [odd]
    with pytest.raises(TableBusy):
        store.claim("j2", odd, "rollback", 60)
    store.finish(lease, outcome("j1", table=odd))
    assert store.outcomes()[0].table == odd


@pytest.mark.parametrize("name", ODD_NAMES)
def test_consumers_and_set_aside_tables_keep_their_names(store, name):
    odd = TableRef("lake", ("db",), name)
    store.consumers.add("reader", odd, snapshot_id=1, lease_seconds=60)
    store.set_aside(odd, "why")

    assert [found.table for found in store.consumers.all(odd)] == [odd]
    assert [found.table for found in store.set_aside_tables()] == [odd]


@pytest.mark.parametrize(
    "said",
    [
        {"table": TableRef("lake", ("db",), "half \ud800")},
        {"tenant": "\udfff"},
        {"requested_by": "\ud800"},
        {"idempotency_key": "\ud800"},
    ],
)
def test_halves_of_characters_are_refused_before_there_is_a_job(said):
    with pytest.raises(InputError, match="halves of characters"):
        JobRequest(**({"table": TABLE, "operation": "rollback"} | said))
