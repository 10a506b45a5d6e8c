"""The job store in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from types import MappingProxyType

from neve.documents import to_text
from neve.model.figures import counted
from neve.model.job import (
    ALL_JOBS,
    Job,
    JobFilter,
    JobRequest,
    JobState,
    Lease,
    Trigger,
)
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.store import statements as sql
from neve.store.access import SqliteApiKeys, SqliteApprovals, SqliteAudit
from neve.store.consumers import ConsumerStore
from neve.store.events import EventRows, progress_of
from neve.store.marks import SqliteMarks
from neve.store.plans import SqlitePlans
from neve.store.quarantine import SqliteQuarantine
from neve.store.rooms import SqliteRooms, use_room
from neve.store.schedules import ScheduleRows
from neve.store.set_aside import SetAsideRows
from neve.store.stored_policies import SqlitePolicies
from neve.store.totals import TotalRows, add_totals
from neve.store.values import (
    CANCELLED_BEFORE,
    has_begun,
    lease_lost,
    moment,
    no_job,
    outcome_of,
    table_busy,
    table_of,
)
from neve.store.workers import SqliteWorkers
from neve.store.writes import SqliteWrites


class SqliteStore(EventRows, ScheduleRows, TotalRows, SetAsideRows):
    """Jobs, leases, outcomes and uncommitted files; events and schedules by inheritance."""

    def submit(self, job_id: str, request: JobRequest) -> Job:
        """Queue a job; a second one with the same id or idempotency key is the first one."""
        with self._write() as db:
            return _job(_submit(db, job_id, request))

    def submit_all(self, requests: Mapping[str, JobRequest]) -> list[Job]:
        """The same for many, all or none."""
        with self._write() as db:
            return [_job(_submit(db, job_id, request)) for job_id, request in requests.items()]

    def begin(self, job_id: str, request: JobRequest, seconds: float) -> Lease:
        """Submit a job and begin it at once; nothing is left of it where the table is busy."""
        with self._write() as db:
            _refuse_if_held(db, request.table)
            # Whoever begins it is waiting for it, and asks again.
            row = _submit(db, job_id, replace(request, max_attempts=1))
            if row["job_id"] != job_id:
                raise has_begun(row["job_id"])
            return _begin(db, job_id, request.table, seconds)

    def claim(self, job_id: str, table: TableRef, operation: str, seconds: float) -> Lease:
        """The same for a job without arguments."""
        return self.begin(job_id, JobRequest(table, operation), seconds)

    def claim_job(self, job_id: str, seconds: float) -> Lease:
        """Begin a queued job as the only writer of its table, or raise TableBusy."""
        with self._write() as db:
            row = db.execute(sql.JOB, (job_id,)).fetchone()
            if row is None:
                raise no_job(job_id)
            table = table_of(row["table_name"])
            _refuse_if_held(db, table)
            return _begin(db, job_id, table, seconds)

    def claim_next(self, seconds: float) -> Lease | None:
        """Begin the queued job whose turn it is; None where no table is free for one."""
        with self._write() as db:
            for (tenant,) in db.execute(sql.WAITING_TENANTS).fetchall():
                row = db.execute(sql.NEXT_QUEUED, (tenant,)).fetchone()
                if row is not None:
                    db.execute(sql.TAKE_TURN, (tenant,))
                    return _begin(db, row["job_id"], table_of(row["table_name"]), seconds)
        return None

    def renew(self, lease: Lease, seconds: float) -> Lease:
        with self._write() as db:
            row = db.execute(
                sql.RENEW, (seconds, str(lease.table), lease.job_id, lease.epoch)
            ).fetchone()
        if row is None:
            raise lease_lost(lease)
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
        state = outcome.status.job_state
        values = (state, outcome.reason, to_text(outcome))
        self._end(sql.FINISH, lease, state, values, counted(outcome))

    def end(
        self, lease: Lease, state: JobState, reason: str, *, is_tables_fault: bool = True
    ) -> None:
        """End a job that has no outcome, or leave it to be resolved by reading the table."""
        self._end(sql.END, lease, state, (state, reason), is_counted=is_tables_fault)

    def retry(self, lease: Lease, reason: str, delay_seconds: float = 0.0) -> Job:
        """Queue the job again after a failed attempt, and release the table."""
        return self._give_back(sql.RETRY_HELD, lease, (reason, delay_seconds), has_failed=True)

    def hand_back(self, lease: Lease, reason: str) -> Job:
        """Queue the job again as if it had not begun, and release the table."""
        return self._give_back(sql.HAND_BACK, lease, (reason,), has_failed=False)

    def release(self, lease: Lease) -> None:
        with self._write() as db:
            db.execute(sql.RELEASE, (lease.job_id, lease.epoch))

    def settle(self, job: Job, state: JobState, reason: str) -> bool:
        """Give a job that nobody runs the state that its table shows; False where it moved on."""
        with self._write() as db:
            changed = db.execute(sql.SETTLE, (state, reason, job.job_id, job.epoch)).rowcount
            if changed:
                db.execute(sql.END_EPOCH, (job.job_id, job.epoch))
                _count(db, job.table, state)
        return bool(changed)

    def requeue(self, job: Job, reason: str, delay_seconds: float = 0.0) -> bool:
        """Queue a job that nobody runs again, if its table shows nothing of it."""
        values = (reason, delay_seconds, job.job_id, job.epoch)
        with self._write() as db:
            changed = db.execute(sql.RETRY_LEFT, values).rowcount
            if changed:
                db.execute(sql.END_EPOCH, (job.job_id, job.epoch))
                _count(db, job.table, JobState.FAILED)
        return bool(changed)

    def dead_jobs(self, limit: int = 100) -> list[Job]:
        """Jobs that failed as often as they may, the last one first."""
        return self._select(sql.DEAD, (limit,))

    def dismiss(self, job_id: str) -> bool:
        """Take a dead job off that list; it stays failed."""
        with self._write() as db:
            return db.execute(sql.DISMISS, (job_id,)).rowcount > 0

    def cancel(self, job_id: str) -> Job | None:
        """A queued job ends at once, a running one at its next boundary."""
        with self._write() as db:
            if not db.execute(sql.CANCEL_QUEUED, (CANCELLED_BEFORE, job_id)).rowcount:
                db.execute(sql.CANCEL_RUNNING, (job_id,))
        return self.job(job_id)

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

    @cached_property
    def quarantine(self) -> SqliteQuarantine:
        return SqliteQuarantine(self._path)

    @cached_property
    def api_keys(self) -> SqliteApiKeys:
        return SqliteApiKeys(self._path)

    @cached_property
    def audit(self) -> SqliteAudit:
        return SqliteAudit(self._path)

    @cached_property
    def approvals(self) -> SqliteApprovals:
        return SqliteApprovals(self._path)

    @cached_property
    def rooms(self) -> SqliteRooms:
        return SqliteRooms(self._path)

    @cached_property
    def marks(self) -> SqliteMarks:
        return SqliteMarks(self._path)

    @cached_property
    def writes(self) -> SqliteWrites:
        return SqliteWrites(self._path)

    @cached_property
    def plans(self) -> SqlitePlans:
        return SqlitePlans(self._path)

    @cached_property
    def consumers(self) -> ConsumerStore:
        return ConsumerStore(self._path)

    @cached_property
    def policies(self) -> SqlitePolicies:
        return SqlitePolicies(self._path)

    @cached_property
    def workers(self) -> SqliteWorkers:
        return SqliteWorkers(self._path)

    def jobs(
        self,
        table: TableRef | None = None,
        limit: int = 100,
        *,
        chosen: JobFilter = ALL_JOBS,
        before: int | None = None,
    ) -> list[Job]:
        """Jobs, newest first; with `before`, those that were asked for before that position."""
        wanted: dict[str, object] = {
            "table_name = ?": None if table is None else str(table),
            "rowid < ?": before,
            "operation = ?": chosen.operation,
            "tenant = ?": chosen.tenant,
            "is_dead = ?": chosen.is_dead,
        }
        said = {clause: value for clause, value in wanted.items() if value is not None}
        states = f"state IN ({', '.join('?' for _ in chosen.states)})"
        clauses = " AND ".join([*said, *([states] if chosen.states else [])])
        where = f"WHERE {clauses} " if clauses else ""
        values = (*said.values(), *chosen.states, limit)
        return self._select(f"{where}ORDER BY rowid DESC LIMIT ?", values)

    def active_tables(self, tables: Collection[TableRef]) -> set[TableRef]:
        """Of the tables, those with a job that waits or has no end."""
        found = {row["table_name"] for row in self._rows("jobs", sql.ACTIVE, ())}
        return {table for table in tables if str(table) in found}

    def job(self, job_id: str) -> Job | None:
        found = self._select("WHERE job_id = ?", (job_id,))
        return found[0] if found else None

    def job_of_key(self, idempotency_key: str) -> Job | None:
        """The job that was asked for with this key."""
        found = self._select("WHERE idempotency_key = ?", (idempotency_key,))
        return found[0] if found else None

    def outcomes(self, limit: int = 200) -> list[Outcome]:
        rows = self._select(
            "WHERE outcome IS NOT NULL ORDER BY updated_at DESC, rowid DESC LIMIT ?", (limit,)
        )
        return [outcome for job in rows if (outcome := outcome_of(job)) is not None]

    def _end(
        self,
        statement: str,
        lease: Lease,
        state: JobState,
        values: tuple[object, ...],
        added: Mapping[str, float] = MappingProxyType({}),
        *,
        is_counted: bool = True,
    ) -> None:
        with self._write() as db:
            if not db.execute(statement, (*values, lease.job_id, lease.epoch)).rowcount:
                raise lease_lost(lease)
            if is_counted:
                _count(db, lease.table, state)
            add_totals(db, added)

    def _give_back(
        self, statement: str, lease: Lease, values: tuple[object, ...], *, has_failed: bool
    ) -> Job:
        with self._write() as db:
            if not db.execute(statement, (*values, lease.job_id, lease.epoch)).rowcount:
                raise lease_lost(lease)
            db.execute(sql.END_EPOCH, (lease.job_id, lease.epoch))
            if has_failed:
                _count(db, lease.table, JobState.FAILED)
            row = db.execute(sql.JOB, (lease.job_id,)).fetchone()
        return _job(row)

    def _fenced(self, statement: str, lease: Lease, values: tuple[object, ...]) -> None:
        """A change that only the holder of the newest epoch may make."""
        with self._write() as db:
            changed = db.execute(statement, (*values, lease.job_id, lease.epoch)).rowcount
        if not changed:
            raise lease_lost(lease)

    def _select(self, clauses: str, parameters: tuple[object, ...]) -> list[Job]:
        return [_job(row) for row in self._rows("jobs", f"{sql.JOBS} {clauses}", parameters)]


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
        request.tenant,
        request.not_before.timestamp() if request.not_before else 0.0,
        request.max_attempts,
        request.estimated_seconds,
    )


def _submit(db: sqlite3.Connection, job_id: str, request: JobRequest) -> sqlite3.Row:
    if db.execute(sql.SUBMIT, _row(job_id, request)).rowcount:
        use_room(db, request)
    names = (job_id, request.idempotency_key, job_id)
    row: sqlite3.Row = db.execute(sql.SUBMITTED, names).fetchone()
    return row


def _refuse_if_held(db: sqlite3.Connection, table: TableRef) -> None:
    holder = db.execute(sql.HOLDER, (str(table),)).fetchone()
    if holder is not None:
        raise table_busy(holder["job_id"], table)


def _begin(db: sqlite3.Connection, job_id: str, table: TableRef, seconds: float) -> Lease:
    row = db.execute(sql.CLAIM_TABLE, (str(table), job_id, seconds)).fetchone()
    if not db.execute(sql.BEGIN_JOB, (row["epoch"], job_id)).rowcount:
        raise has_begun(job_id)
    db.execute(sql.BEGIN_TRY, (str(table),))
    return Lease(job_id, table, row["epoch"], moment(row["expires_at"]))


def _count(db: sqlite3.Connection, table: TableRef, state: JobState) -> None:
    """Count failures of the table since its last success."""
    if state is JobState.FAILED:
        db.execute(sql.COUNT_FAILURE, (str(table),))
    elif state is JobState.SUCCEEDED:
        db.execute(sql.FORGET_FAILURES, (str(table),))


# Lists show the same jobs again and again; a row that differs in anything is another one.
@lru_cache(maxsize=4096)
def _job(row: sqlite3.Row) -> Job:
    # A file of an older version that may not be written has fewer columns.
    values = dict(row)
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
        tenant=values.get("tenant", ""),
        not_before=moment(values["not_before"]) if values.get("not_before") else None,
        attempts=values.get("attempts", 0),
        max_attempts=values.get("max_attempts", 3),
        is_dead=bool(values.get("is_dead", 0)),
        position=row["position"],
        started_at=moment(values["started_at"]) if values.get("started_at") else None,
        progress=progress_of(values.get("progress")),
        estimated_seconds=values.get("estimated_seconds"),
    )
