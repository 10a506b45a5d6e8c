"""The job store in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from neve.documents import from_text, to_text
from neve.model.errors import InputError, LeaseLost, StoreError, TableBusy
from neve.model.job import Job, JobState, Lease
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef, split_name

BUSY_TIMEOUT_SECONDS = 10.0
SCHEMA_VERSION = 1
#: The store's own clock, in seconds since the epoch.
NOW = "((julianday('now') - 2440587.5) * 86400.0)"
FINAL_STATES = {
    Status.SUCCEEDED: JobState.SUCCEEDED,
    Status.NOTHING_TO_DO: JobState.SUCCEEDED,
    Status.FAILED: JobState.FAILED,
    Status.UNKNOWN: JobState.UNKNOWN,
}


class SqliteStore:
    """Jobs and leases in a file; several processes on one machine may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ready = False

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
            return Lease(job_id, table, row["epoch"], _moment(row["expires_at"]))

    def renew(self, lease: Lease, seconds: float) -> Lease:
        with self._write() as db:
            row = db.execute(
                f"UPDATE claims SET expires_at = {NOW} + ? WHERE table_name = ? AND job_id = ? "
                f"AND epoch = ? AND expires_at > {NOW} RETURNING expires_at",
                (seconds, str(lease.table), lease.job_id, lease.epoch),
            ).fetchone()
        if row is None:
            raise _lost(lease)
        return Lease(lease.job_id, lease.table, lease.epoch, _moment(row["expires_at"]))

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

    def unfinished(self, table: TableRef) -> list[Job]:
        return self._select(
            "WHERE table_name = ? AND state NOT IN ('succeeded', 'failed', 'cancelled') AND NOT "
            "EXISTS (SELECT 1 FROM claims WHERE claims.job_id = jobs.job_id "
            f"AND claims.expires_at > {NOW}) ORDER BY created_at",
            (str(table),),
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
        with self._errors():
            if not self._path.exists():
                return []
        with self._errors(), closing(self._connect()) as db:
            # Reading must work on a store that this process may not write.
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'jobs'").fetchone():
                return []
            rows = db.execute(f"SELECT * FROM jobs {clauses}", parameters).fetchall()
        return [_job(row) for row in rows]

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._errors():
            if not self._ready:
                self._create()
            with closing(self._connect()) as db:
                db.execute("BEGIN IMMEDIATE")
                with db:
                    yield db

    def _create(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        schema = files("neve.store").joinpath("schema.sql").read_text(encoding="utf-8")
        with closing(self._connect()) as db:
            db.execute("PRAGMA journal_mode = WAL")
            found = db.execute("PRAGMA user_version").fetchone()[0]
            if found > SCHEMA_VERSION:
                raise StoreError(
                    f"The state database {self._path} was made by a newer Neve.",
                    next_step="Upgrade Neve, or set state.url to another file.",
                )
            db.executescript(schema)
        self._ready = True

    def _connect(self) -> sqlite3.Connection:
        # A connection for each call: the heartbeat runs in a thread of its own.
        db = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA synchronous = FULL")
        return db

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The state database {self._path} cannot be used: {error}.",
                next_step="Check that its folder exists and can be written, or set state.url.",
            ) from error


def _job(row: sqlite3.Row) -> Job:
    catalog, *namespace, name = _parts(row["table_name"])
    return Job(
        job_id=row["job_id"],
        table=TableRef(catalog, tuple(namespace), name),
        operation=row["operation"],
        state=JobState(row["state"]),
        epoch=row["epoch"],
        created_at=_moment(row["created_at"]),
        updated_at=_moment(row["updated_at"]),
        reason=row["reason"],
        outcome=row["outcome"],
    )


def _outcome(job: Job) -> Outcome | None:
    """The job's outcome; one of another version of Neve is not learned from."""
    try:
        return from_text(Outcome, job.outcome or "")
    except ValueError:
        return None


def _parts(name: str) -> list[str]:
    """A stored name; one that this version would not accept must not hide all the others."""
    try:
        return split_name(name)
    except InputError:
        return ["?", name]


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(
        f"Job {lease.job_id} lost its claim on table {lease.table} and must not commit.",
        next_step="Run the command again.",
    )
