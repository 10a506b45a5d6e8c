"""The job store on a Redis server. What is atomic there is one script; see `scripts/`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import Any

from neve.access.quotas import Usage, room_lost
from neve.documents import to_text
from neve.model.figures import StoreTotals, counted
from neve.model.job import (
    ALL_JOBS,
    Job,
    JobFilter,
    JobRequest,
    JobState,
    Lease,
    SetAsideTable,
)
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.store.redis.access import RedisApiKeys, RedisApprovals, RedisAudit
from neve.store.redis.consumers import RedisConsumers
from neve.store.redis.events import RedisEvents
from neve.store.redis.marks import RedisMarks
from neve.store.redis.plans import RedisPlans
from neve.store.redis.quarantine import RedisQuarantine
from neve.store.redis.rooms import RedisRooms, day_number, usage_of
from neve.store.redis.rows import fields_of, job_of, microseconds, moment_of, named, pairs
from neve.store.redis.schedules import RedisSchedules
from neve.store.redis.server import BATCH, PATIENCE_SECONDS, RedisServer, batches
from neve.store.redis.stored_policies import RedisPolicies
from neve.store.redis.workers import RedisWorkers
from neve.store.redis.writes import RedisWrites
from neve.store.values import (
    CANCELLED_BEFORE,
    has_begun,
    lease_lost,
    no_job,
    outcome_of,
    table_busy,
    table_of,
)

#: So many jobs that have ended are remembered.
HISTORY_JOBS = 20_000
#: Bytes and dollars of a job without an outcome.
NONE = ("0", "0")


class RedisStore(RedisEvents, RedisSchedules):
    """Jobs, leases, outcomes and uncommitted files; events and schedules by inheritance."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "neve",
        history_jobs: int = HISTORY_JOBS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._server = RedisServer(url, prefix=prefix, patience_seconds=patience_seconds)
        self._history = str(max(history_jobs, 1))

    @property
    def address(self) -> str:
        """Where the server is, without user and password."""
        return self._server.address

    def check(self) -> None:
        """Raise StoreError where the server cannot be reached or would forget what it is told."""
        self._server.check()

    def close(self) -> None:
        self._server.close()

    @property
    def quarantine(self) -> RedisQuarantine:
        return RedisQuarantine(self._server)

    @property
    def api_keys(self) -> RedisApiKeys:
        return RedisApiKeys(self._server)

    @property
    def audit(self) -> RedisAudit:
        return RedisAudit(self._server)

    @property
    def approvals(self) -> RedisApprovals:
        return RedisApprovals(self._server)

    @property
    def marks(self) -> RedisMarks:
        return RedisMarks(self._server)

    @property
    def writes(self) -> RedisWrites:
        return RedisWrites(self._server)

    @property
    def plans(self) -> RedisPlans:
        return RedisPlans(self._server)

    @property
    def policies(self) -> RedisPolicies:
        return RedisPolicies(self._server)

    @property
    def workers(self) -> RedisWorkers:
        return RedisWorkers(self._server)

    @property
    def totals(self) -> StoreTotals:
        """What was counted, and how many jobs wait."""
        _, counters, queued, begun, dead = self._server.read("totals")
        amounts = {name: float(amount) for name, amount in pairs(counters).items()}
        return StoreTotals(amounts, int(queued), int(begun), int(dead))

    def usage(self, tenant: str, day: date) -> Usage:
        """What a tenant has and had, by counters: no job is looked at."""
        _, *found = self._server.read("usage", tenant, day_number(day))
        return usage_of(found)

    @property
    def rooms(self) -> RedisRooms:
        return RedisRooms(self._server)

    @property
    def consumers(self) -> RedisConsumers:
        return RedisConsumers(self._server)

    def submit(self, job_id: str, request: JobRequest) -> Job:
        """Queue a job; a second one with the same id or idempotency key is the first one."""
        return _submitted(
            self._server.change("submit", job_id, *named(request), *fields_of(request))
        )

    def submit_all(self, requests: Mapping[str, JobRequest]) -> list[Job]:
        """The same for many, each on its own."""
        sent = [
            (job_id, *named(request), *fields_of(request)) for job_id, request in requests.items()
        ]
        answers = (
            answer
            for start in range(0, len(sent), BATCH)
            for answer in self._server.change_all("submit", sent[start : start + BATCH])
        )
        return [_submitted(answer) for answer in answers]

    def begin(self, job_id: str, request: JobRequest, seconds: float) -> Lease:
        """Submit a job and begin it at once; nothing is left of it where the table is busy."""
        # Whoever begins it is waiting for it, and asks again.
        request = replace(request, max_attempts=1)
        sent = (microseconds(seconds), job_id, *named(request), *fields_of(request))
        return _claimed(self._server.change("begin", *sent), job_id, request.table)

    def claim(self, job_id: str, table: TableRef, operation: str, seconds: float) -> Lease:
        """The same for a job without arguments."""
        return self.begin(job_id, JobRequest(table, operation), seconds)

    def claim_job(self, job_id: str, seconds: float) -> Lease:
        """Begin a queued job as the only writer of its table, or raise TableBusy."""
        return _claimed(self._server.change("claim_job", microseconds(seconds), job_id), job_id)

    def claim_next(self, seconds: float) -> Lease | None:
        """Begin the queued job whose turn it is; None where no table is free for one."""
        answer = self._server.change("claim_next", microseconds(seconds))
        return None if answer[0] == "none" else _claimed(answer, answer[1])

    def renew(self, lease: Lease, seconds: float) -> Lease:
        names = (lease.job_id, str(lease.table), str(lease.epoch))
        answer = self._fenced("renew", lease, microseconds(seconds), *names)
        return Lease(lease.job_id, lease.table, lease.epoch, moment_of(answer[1]), answer[2] == "1")

    def set_state(self, lease: Lease, state: JobState, reason: str = "") -> None:
        self._fenced("set_state", lease, *_claim(lease), state, reason, self._history)

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        state, text = outcome.status.job_state, to_text(outcome)
        told = (state, outcome.reason, text, self._history, json.dumps(counted(outcome)))
        spent = (str(outcome.bytes_rewritten), f"{outcome.actual_usd or 0.0:.17g}")
        self._fenced("finish", lease, *_claim(lease), *told, *spent, "1")

    def end(
        self, lease: Lease, state: JobState, reason: str, *, is_tables_fault: bool = True
    ) -> None:
        """End a job that has no outcome, or leave it to be resolved by reading the table."""
        said = (state, reason, "", self._history, "{}", *NONE, str(int(is_tables_fault)))
        self._fenced("finish", lease, *_claim(lease), *said)

    def retry(self, lease: Lease, reason: str, delay_seconds: float = 0.0) -> Job:
        """Queue the job again after a failed attempt, and release the table."""
        return self._give_back(lease, reason, microseconds(delay_seconds))

    def hand_back(self, lease: Lease, reason: str) -> Job:
        """Queue the job again as if it had not begun, and release the table."""
        return self._give_back(lease, reason, "")

    def release(self, lease: Lease) -> None:
        self._server.change("release", lease.job_id, str(lease.table), str(lease.epoch))

    def settle(self, job: Job, state: JobState, reason: str) -> bool:
        """Give a job that nobody runs the state that its table shows; False where it moved on."""
        sent = (job.job_id, str(job.epoch), state, reason, self._history)
        return bool(self._server.change("settle", *sent)[0] == "ok")

    def requeue(self, job: Job, reason: str, delay_seconds: float = 0.0) -> bool:
        """Queue a job that nobody runs again, if its table shows nothing of it."""
        wait = microseconds(delay_seconds)
        sent = (job.job_id, str(job.epoch), reason, wait, self._history)
        return bool(self._server.change("requeue", *sent)[0] == "ok")

    def cancel(self, job_id: str) -> Job | None:
        """A queued job ends at once, a running one at its next boundary."""
        answer = self._server.change("cancel", job_id, CANCELLED_BEFORE, self._history)
        return None if answer[0] == "missing" else job_of(answer[1])

    def unfinished(self, table: TableRef | None = None) -> list[Job]:
        _, found = self._server.read("unfinished", "open" if table is None else f"open_of:{table}")
        return self._read(found)

    def jobs(
        self,
        table: TableRef | None = None,
        limit: int = 100,
        *,
        chosen: JobFilter = ALL_JOBS,
        before: int | None = None,
    ) -> list[Job]:
        """Jobs, newest first; with `before`, those that were asked for before that position."""
        name = "jobs" if table is None else f"jobs_of:{table}"
        if chosen == ALL_JOBS:
            return self._newest(name, limit, before)
        found = (job for job in self._all_of(name, before) if chosen.takes(job))
        return list(islice(found, max(limit, 0)))

    def active_tables(self, tables: Collection[TableRef]) -> set[TableRef]:
        """Of the tables, those with a job that waits or has no end."""
        found: set[str] = set()
        for some in batches([str(table) for table in tables]):
            found |= set(self._server.read("active_tables", *some)[1])
        return {table for table in tables if str(table) in found}

    def job(self, job_id: str) -> Job | None:
        found = self._read([job_id])
        return found[0] if found else None

    def job_of_key(self, idempotency_key: str) -> Job | None:
        """The job that was asked for with this key."""
        job_id = self._server.read("job_of_key", idempotency_key)[1]
        return self.job(job_id) if job_id else None

    def dead_jobs(self, limit: int = 100) -> list[Job]:
        """Jobs that failed as often as they may, the last one first."""
        return self._newest("dead", limit)

    def dismiss(self, job_id: str) -> bool:
        """Take a dead job off that list; it stays failed."""
        return bool(self._server.change("dismiss", job_id)[0] == "ok")

    def outcomes(self, limit: int = 200) -> list[Outcome]:
        jobs = self._newest("outcomes", limit)
        return [outcome for job in jobs if (outcome := outcome_of(job)) is not None]

    def failures_in_a_row(self, table: TableRef) -> int:
        return int(self._server.read("failures", str(table))[1])

    def set_aside(self, table: TableRef, reason: str, retry_seconds: float | None = None) -> None:
        """Let workers leave the table alone; its jobs stay queued."""
        wait = "" if retry_seconds is None else microseconds(retry_seconds)
        self._server.change("set_aside", str(table), reason, wait)

    def put_back(self, table: TableRef) -> bool:
        """Let workers take its jobs again, and count again."""
        return bool(self._server.change("put_back", str(table))[0] == "ok")

    def set_aside_tables(self) -> list[SetAsideTable]:
        _, found = self._server.read("set_aside_tables")
        tables = [
            SetAsideTable(
                table_of(name),
                moment_of(since),
                reason,
                int(failures),
                moment_of(retry_at) if retry_at else None,
            )
            for name, since, reason, failures, retry_at in found
        ]
        return sorted(tables, key=lambda aside: (aside.since, aside.table))

    def add_uncommitted_files(self, job_id: str, table: TableRef, paths: Sequence[str]) -> None:
        for some in batches(paths):
            self._server.change("add_uncommitted_files", str(table), job_id, *some)

    def uncommitted_files(self, table: TableRef) -> list[str]:
        return list(self.writers_of_uncommitted_files(table))

    def writers_of_uncommitted_files(self, table: TableRef) -> dict[str, str]:
        found: dict[str, str] = {}
        start, size = 0, 1000
        while True:
            sent = (str(table), str(start), str(start + size - 1))
            _, some = self._server.read("uncommitted_files", *sent)
            found.update((path, job_id) for path, job_id in some)
            if len(some) < size:
                return found
            start += size

    def _newest(self, name: str, limit: int, before: int | None = None) -> list[Job]:
        if limit < 1:
            return []
        below = "" if before is None else str(before)
        _, found = self._server.read("newest_ids", name, str(limit), below)
        return self._read(found)

    def _all_of(self, name: str, before: int | None) -> Iterator[Job]:
        """The server answers others between two pages."""
        while page := self._newest(name, BATCH, before):
            yield from page
            before = page[-1].position

    def _read(self, job_ids: Sequence[str]) -> list[Job]:
        """The jobs that are there, in this order."""
        found: list[Job] = []
        for some in batches(job_ids):
            found += [job_of(row) for row in self._server.read("read_jobs", *some)[1]]
        return found

    def _give_back(self, lease: Lease, reason: str, wait: str) -> Job:
        answer = self._fenced("give_back", lease, *_claim(lease), reason, wait, self._history)
        return job_of(answer[1])

    def _fenced(self, script: str, lease: Lease, *arguments: str) -> list[str]:
        """A change that only the holder of the newest epoch may make."""
        answer = self._server.change(script, *arguments)
        if answer[0] == "lost":
            raise lease_lost(lease)
        return answer


def _claim(lease: Lease) -> tuple[str, str]:
    return lease.job_id, str(lease.epoch)


def _submitted(answer: Sequence[Any]) -> Job:
    if answer[0] == "no room":
        raise room_lost()
    return job_of(answer[1])


def _claimed(answer: Sequence[str], job_id: str, table: TableRef | None = None) -> Lease:
    match answer[0]:
        case "missing":
            raise no_job(job_id)
        case "no room":
            raise room_lost()
        case "begun":
            raise has_begun(answer[1])
        case "busy":
            raise table_busy(answer[1], table or table_of(answer[2]))
    _, claimed, name, epoch, expires_at = answer
    return Lease(claimed, table_of(name), int(epoch), moment_of(expires_at))
