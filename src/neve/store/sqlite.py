"""The job store in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from functools import lru_cache

from neve.documents import from_text, to_text
from neve.model.errors import InputError, LeaseLost, TableBusy
from neve.model.job import Job, JobRequest, JobState, Lease, ScheduleState, Trigger
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.store import statements as sql
from neve.store.consumers import ConsumerStore
from neve.store.database import Database, moment, table_of
from neve.store.quarantine import SqliteQuarantine

CANCELLED_BEFORE = "It was cancelled before it began."


class SqliteStore(Database):
    """Jobs, leases, outcomes, schedules and uncommitted files."""

    def submit(self, job_id: str, request: JobRequest) -> Job:
        """Queue a job; a second one with the same idempotency key is the first one."""
        with self._write() as db:
            db.execute(sql.SUBMIT, _row(job_id, request))
            row = db.execute(
                "SELECT * FROM jobs WHERE job_id = ? OR idempotency_key = ?",
                (job_id, request.idempotency_key),
            ).fetchone()
        return _job(row)

    def begin(self, job_id: str, request: JobRequest, seconds: float) -> Lease:
        """Submit a job and begin it at once; nothing is left of it where the table is busy."""
        with self._write() as db:
            _refuse_if_held(db, request.table)
            db.execute(sql.SUBMIT, _row(job_id, request))
            return _begin(db, job_id, request.table, seconds)

    def claim(self, job_id: str, table: TableRef, operation: str, seconds: float) -> Lease:
        """The same for a job without arguments."""
        return self.begin(job_id, JobRequest(table, operation), seconds)

    def claim_job(self, job_id: str, seconds: float) -> Lease:
        """Begin a queued job as the only writer of its table, or raise TableBusy."""
        with self._write() as db:
            row = db.execute("SELECT * FROM jobs WHERE job_id = ?", (job_id,)).fetchone()
            if row is None:
                raise InputError(f"There is no job {job_id}.")
            table = table_of(row["table_name"])
            _refuse_if_held(db, table)
            return _begin(db, job_id, table, seconds)

    def claim_next(self, seconds: float) -> Lease | None:
        """Begin the queued job whose turn it is; None where no table is free for one."""
        with self._write() as db:
            row = db.execute(sql.NEXT_QUEUED).fetchone()
            if row is None:
                return None
            return _begin(db, row["job_id"], table_of(row["table_name"]), seconds)

    def renew(self, lease: Lease, seconds: float) -> Lease:
        with self._write() as db:
            row = db.execute(
                sql.RENEW, (seconds, str(lease.table), lease.job_id, lease.epoch)
            ).fetchone()
        if row is None:
            raise _lost(lease)
        return Lease(
            lease.job_id,
            lease.table,
            lease.epoch,
            moment(row["expires_at"]),
            bool(row["cancel_requested"]),
        )

    def set_state(self, lease: Lease, state: JobState, reason: str = "") -> None:
        self._fenced(sql.SET_STATE, lease, (state, reason))

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        self._fenced(
            sql.FINISH, lease, (outcome.status.job_state, outcome.reason, to_text(outcome))
        )

    def end(self, lease: Lease, state: JobState, reason: str) -> None:
        """End a job that has no outcome, or leave it to be resolved by reading the table."""
        self._fenced(sql.END, lease, (state, reason))

    def release(self, lease: Lease) -> None:
        with self._write() as db:
            db.execute(sql.RELEASE, (lease.job_id, lease.epoch))

    def settle(self, job: Job, state: JobState, reason: str) -> bool:
        """Give a job that nobody runs the state that its table shows; False where it moved on."""
        with self._write() as db:
            changed = db.execute(sql.SETTLE, (state, reason, job.job_id, job.epoch)).rowcount
            if changed:
                db.execute(sql.END_EPOCH, (job.job_id, job.epoch))
        return bool(changed)

    def cancel(self, job_id: str) -> Job | None:
        """A queued job ends at once, a running one at its next boundary."""
        with self._write() as db:
            if not db.execute(sql.CANCEL_QUEUED, (CANCELLED_BEFORE, job_id)).rowcount:
                db.execute(sql.CANCEL_RUNNING, (job_id,))
        return self.job(job_id)

    def record(self, outcomes: Sequence[Outcome]) -> None:
        with self._write() as db:
            db.executemany(
                sql.RECORD,
                [
                    (
                        o.job_id,
                        str(o.table),
                        o.operation,
                        o.status.job_state,
                        o.reason,
                        to_text(o),
                    )
                    for o in outcomes
                ],
            )

    def unfinished(self, table: TableRef | None = None) -> list[Job]:
        return self._select(sql.UNFINISHED, (None if table is None else str(table),))

    def add_uncommitted_files(self, job_id: str, table: TableRef, paths: Sequence[str]) -> None:
        with self._write() as db:
            db.executemany(sql.ADD_UNCOMMITTED, [(path, str(table), job_id) for path in paths])

    def uncommitted_files(self, table: TableRef) -> list[str]:
        return list(self.writers_of_uncommitted_files(table))

    def writers_of_uncommitted_files(self, table: TableRef) -> dict[str, str]:
        rows = self._rows("leftovers", sql.UNCOMMITTED, (str(table),))
        return {row["path"]: row["job_id"] for row in rows}

    def record_run(self, tables: Sequence[TableRef]) -> None:
        """Remember that the turn of the tables has come now."""
        with self._write() as db:
            db.executemany(sql.RECORD_RUN, [(str(table),) for table in tables])

    def schedule_state(self, table: TableRef) -> ScheduleState | None:
        """When the table's turn came last; None where it never did."""
        rows = self._rows("schedules", sql.LAST_RUN, (str(table),))
        return ScheduleState(table, moment(rows[0]["last_run"])) if rows else None

    @property
    def quarantine(self) -> SqliteQuarantine:
        return SqliteQuarantine(self._path)

    @property
    def consumers(self) -> ConsumerStore:
        return ConsumerStore(self._path)

    def jobs(self, table: TableRef | None = None, limit: int = 100) -> list[Job]:
        order = "ORDER BY created_at DESC, job_id LIMIT ?"
        if table is None:
            return self._select(order, (limit,))
        return self._select(f"WHERE table_name = ? {order}", (str(table), limit))

    def job(self, job_id: str) -> Job | None:
        found = self._select("WHERE job_id = ?", (job_id,))
        return found[0] if found else None

    def outcomes(self, limit: int = 200) -> list[Outcome]:
        rows = self._select(
            "WHERE outcome IS NOT NULL ORDER BY updated_at DESC, job_id LIMIT ?", (limit,)
        )
        return [outcome for job in rows if (outcome := _outcome(job)) is not None]

    def _fenced(self, statement: str, lease: Lease, values: tuple[object, ...]) -> None:
        """A change that only the holder of the newest epoch may make."""
        with self._write() as db:
            changed = db.execute(statement, (*values, lease.job_id, lease.epoch)).rowcount
        if not changed:
            raise _lost(lease)

    def _select(self, clauses: str, parameters: tuple[object, ...]) -> list[Job]:
        return [
            _job(row) for row in self._rows("jobs", f"SELECT * FROM jobs {clauses}", parameters)
        ]


def _row(job_id: str, request: JobRequest) -> tuple[object, ...]:
    return (
        job_id,
        str(request.table),
        request.operation,
        json.dumps(dict(request.arguments), sort_keys=True),
        request.requested_by,
        request.trigger,
        request.priority,
        request.idempotency_key,
    )


def _refuse_if_held(db: sqlite3.Connection, table: TableRef) -> None:
    holder = db.execute(sql.HOLDER, (str(table),)).fetchone()
    if holder is not None:
        raise TableBusy(
            f"Job {holder['job_id']} is working on table {table}.",
            next_step="Wait for it to end: neve jobs shows it.",
        )


def _begin(db: sqlite3.Connection, job_id: str, table: TableRef, seconds: float) -> Lease:
    row = db.execute(sql.CLAIM_TABLE, (str(table), job_id, seconds)).fetchone()
    if not db.execute(sql.BEGIN_JOB, (row["epoch"], job_id)).rowcount:
        raise TableBusy(f"Job {job_id} has begun already, or is over.")
    return Lease(job_id, table, row["epoch"], moment(row["expires_at"]))


def _job(row: sqlite3.Row) -> Job:
    # A file of an older version that may not be written has fewer columns.
    values = {key: row[key] for key in row.keys()}  # noqa: SIM118 - a row iterates its values
    return Job(
        job_id=row["job_id"],
        table=table_of(row["table_name"]),
        operation=row["operation"],
        state=JobState(row["state"]),
        epoch=row["epoch"],
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        reason=row["reason"],
        outcome=row["outcome"],
        arguments=json.loads(values.get("arguments", "{}")),
        requested_by=values.get("requested_by", ""),
        trigger=Trigger(values.get("requested_through", Trigger.CLI)),
        priority=values.get("priority", 0),
        cancel_requested=bool(values.get("cancel_requested", 0)),
    )


def _outcome(job: Job) -> Outcome | None:
    """The job's outcome; one of another version of Neve is not learned from."""
    try:
        return _parse(job.outcome or "")
    except ValueError:
        return None


@lru_cache(maxsize=512)
def _parse(text: str) -> Outcome:
    """Every plan learns from the same past outcomes, and they never change."""
    return from_text(Outcome, text)


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(
        f"Job {lease.job_id} lost its claim on table {lease.table} and must not commit.",
        next_step="Run the command again.",
    )
