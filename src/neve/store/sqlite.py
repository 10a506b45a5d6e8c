"""The job store in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache

from neve.documents import from_text, to_text
from neve.model.errors import LeaseLost, TableBusy
from neve.model.job import Job, JobState, Lease
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.store.consumers import ConsumerStore
from neve.store.database import NOW, Database, moment, table_of
from neve.store.quarantine import SqliteQuarantine

FINAL_STATES = {
    Status.SUCCEEDED: JobState.SUCCEEDED,
    Status.NOTHING_TO_DO: JobState.SUCCEEDED,
    Status.FAILED: JobState.FAILED,
    Status.UNKNOWN: JobState.UNKNOWN,
}


class SqliteStore(Database):
    """Jobs, leases and leftovers."""

    def claim(self, job_id: str, table: TableRef, operation: str, seconds: float) -> Lease:
        with self._write() as db:
            holder = db.execute(
                f"SELECT job_id FROM claims WHERE table_name = ? AND expires_at > {NOW}",
                (str(table),),
            ).fetchone()
            if holder is not None:
                raise TableBusy(
                    f"Job {holder['job_id']} is working on table {table}.",
                    next_step="Wait for it to end: neve history shows it.",
                )
            row = db.execute(
                "INSERT INTO claims (table_name, job_id, epoch, expires_at) "
                f"VALUES (?, ?, 1, {NOW} + ?) ON CONFLICT (table_name) DO UPDATE SET "
                "job_id = excluded.job_id, epoch = claims.epoch + 1, "
                "expires_at = excluded.expires_at RETURNING epoch, expires_at",
                (str(table), job_id, seconds),
            ).fetchone()
            db.execute(
                "INSERT INTO jobs (job_id, table_name, operation, state, epoch, created_at, "
                f"updated_at) VALUES (?, ?, ?, ?, ?, {NOW}, {NOW})",
                (job_id, str(table), operation, JobState.PLANNING, row["epoch"]),
            )
            return Lease(job_id, table, row["epoch"], moment(row["expires_at"]))

    def renew(self, lease: Lease, seconds: float) -> Lease:
        with self._write() as db:
            row = db.execute(
                f"UPDATE claims SET expires_at = {NOW} + ? WHERE table_name = ? AND job_id = ? "
                f"AND epoch = ? AND expires_at > {NOW} RETURNING expires_at",
                (seconds, str(lease.table), lease.job_id, lease.epoch),
            ).fetchone()
        if row is None:
            raise _lost(lease)
        return Lease(lease.job_id, lease.table, lease.epoch, moment(row["expires_at"]))

    def set_state(self, lease: Lease, state: JobState, reason: str = "") -> None:
        with self._write() as db:
            changed = db.execute(
                f"UPDATE jobs SET state = ?, reason = ?, updated_at = {NOW} WHERE job_id = ? "
                "AND EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id "
                f"AND claims.epoch = ? AND claims.expires_at > {NOW})",
                (state, reason, lease.job_id, lease.epoch),
            ).rowcount
        if not changed:
            raise _lost(lease)

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        with self._write() as db:
            db.execute(
                f"UPDATE jobs SET state = ?, reason = ?, outcome = ?, updated_at = {NOW} "
                "WHERE job_id = ?",
                (
                    FINAL_STATES[outcome.status],
                    outcome.reason,
                    to_text(outcome),
                    lease.job_id,
                ),
            )

    def record(self, outcomes: Sequence[Outcome]) -> None:
        with self._write() as db:
            db.executemany(
                "INSERT OR IGNORE INTO jobs (job_id, table_name, operation, state, epoch, "
                f"created_at, updated_at, reason, outcome) VALUES (?, ?, ?, ?, 0, {NOW}, {NOW}, "
                "?, ?)",
                [
                    (
                        o.job_id,
                        str(o.table),
                        o.operation,
                        FINAL_STATES[o.status],
                        o.reason,
                        to_text(o),
                    )
                    for o in outcomes
                ],
            )

    def release(self, lease: Lease) -> None:
        with self._write() as db:
            # The row stays, so that the epoch goes on growing.
            db.execute(
                "UPDATE claims SET expires_at = 0 WHERE job_id = ? AND epoch = ?",
                (lease.job_id, lease.epoch),
            )

    def settle(self, job_id: str, state: JobState, reason: str) -> None:
        with self._write() as db:
            db.execute(
                f"UPDATE jobs SET state = ?, reason = ?, updated_at = {NOW} WHERE job_id = ?",
                (state, reason, job_id),
            )

    def unfinished(self, table: TableRef | None = None) -> list[Job]:
        name = None if table is None else str(table)
        return self._select(
            "WHERE (? IS NULL OR table_name = ?) "
            "AND state NOT IN ('succeeded', 'failed', 'cancelled') "
            "AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id "
            f"AND claims.expires_at > {NOW}) ORDER BY created_at",
            (name, name),
        )

    def add_leftovers(self, job_id: str, table: TableRef, paths: Sequence[str]) -> None:
        with self._write() as db:
            db.executemany(
                "INSERT OR IGNORE INTO leftovers (path, table_name, job_id, recorded_at) "
                f"VALUES (?, ?, ?, {NOW})",
                [(path, str(table), job_id) for path in paths],
            )

    def leftovers(self, table: TableRef) -> list[str]:
        with self._write() as db:
            rows = db.execute(
                "SELECT path FROM leftovers WHERE table_name = ? ORDER BY recorded_at, path",
                (str(table),),
            ).fetchall()
        return [row["path"] for row in rows]

    def writers_of_leftovers(self, table: TableRef) -> dict[str, str]:
        rows = self._rows(
            "leftovers", "SELECT path, job_id FROM leftovers WHERE table_name = ?", (str(table),)
        )
        return {row["path"]: row["job_id"] for row in rows}

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

    def _select(self, clauses: str, parameters: tuple[object, ...]) -> list[Job]:
        return [
            _job(row) for row in self._rows("jobs", f"SELECT * FROM jobs {clauses}", parameters)
        ]


def _job(row: sqlite3.Row) -> Job:
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
