"""`NeveClient`: a method for each thing that a server can be asked."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from neve.client.http import API, Connection, event_data, may_pass, part
from neve.client.values import Event, Job, Plan, QueuedJob, list_of, read
from neve.model.errors import NeveError, ServerError
from neve.model.table import quote_part, split_name

#: Pauses before a stream is opened again, each twice as long as the one before.
RECONNECT_SECONDS = 0.5
LONGEST_RECONNECT_SECONDS = 5.0
#: Pauses between two looks at a job that is waited for; they grow.
FIRST_LOOK_SECONDS = 0.2
LONGEST_LOOK_SECONDS = 2.0
#: Connections in a row that end without a word of news: a server may take a minute to come back.
MAX_SILENT_CONNECTIONS = 18


class NeveClient(Connection):
    """A server. Tables are named `catalog.namespace.table`, or without the default catalog.

    Refusals raise the error that the server met, with its next step. What changes something is
    sent with a key, so that a lost answer can be asked for again.
    """

    # Jobs

    def compact(
        self,
        table: str,
        *,
        strategy: str | None = None,
        target_file_size: str | int | None = None,
        max_cost: float | None = None,
        partition_filter: str | None = None,
        sort_columns: Sequence[str] = (),
        verify: str | None = None,
        engine: str | None = None,
        idempotency_key: str | None = None,
        **asking: object,
    ) -> QueuedJob:
        """Queue a compaction; `requested_by`, `tenant` and `priority` may be said, too."""
        options = _given(
            target_file_size=target_file_size,
            max_cost=max_cost,
            partition_filter=partition_filter,
            sort_columns=list(sort_columns) or None,
            verify=verify,
            engine=engine,
        )
        body = {**_named(table), **_given(strategy=strategy), "options": options, **asking}
        return self._queue(f"{API}/compact", body, idempotency_key)

    def database(self, request: Mapping[str, Any], *, key: str | None = None) -> dict[str, Any]:
        """CREATE_TABLE, WRITE, QUERY or COMPACT, by its body; a WRITE is sent again with a key."""
        answer: dict[str, Any] = self._post(f"{API}/database", request, key=key)
        return answer

    def job(self, job_id: str) -> Job:
        """One job, with its outcome once there is one."""
        return Job.of(self._get(f"{API}/jobs/{part(job_id)}"))

    def jobs(
        self,
        *,
        table: str | None = None,
        status: str | None = None,
        operation: str | None = None,
        tenant: str | None = None,
        dead: bool | None = None,
        page: int = 100,
    ) -> Iterator[Job]:
        """Jobs, newest first; pages are fetched as they are needed."""
        chosen = {"table": table, "status": status, "operation": operation, "tenant": tenant}
        for document in self._pages(f"{API}/jobs", "jobs", limit=page, dead=dead, **chosen):
            yield Job.of(document)

    def cancel(self, job_id: str) -> Job:
        """Stop a job: at once where it is queued, at its next boundary where it runs."""
        return Job.of(self._send("DELETE", f"{API}/jobs/{part(job_id)}"))

    def retry(self, job_id: str) -> Job:
        """Queue what a dead job asked for once more, as a new job."""
        return Job.of(self._post(f"{API}/jobs/{part(job_id)}/retry"))

    def events(self, job_id: str, after: int = 0) -> Iterator[Event]:
        """What a job says, from a number on, until its end; connections that break are renewed."""
        silent = 0
        while True:
            try:
                for told in self._stream(f"{API}/jobs/{part(job_id)}/events", after):
                    silent = 0
                    if told.event == "end":
                        return
                    after = int(told.id)
                    yield Event.of(after, event_data(told))
            except NeveError as error:
                if not may_pass(error) or silent >= MAX_SILENT_CONNECTIONS:
                    raise
            self._sleep(min(RECONNECT_SECONDS * 2.0**silent, LONGEST_RECONNECT_SECONDS))
            silent += 1

    def wait(self, job_id: str, timeout_seconds: float = 3600.0) -> Job:
        """The job at its end; ServerError where that takes longer, or the server stays away."""
        deadline = time.monotonic() + timeout_seconds
        pause, silent = FIRST_LOOK_SECONDS, 0
        while True:
            try:
                job = self.job(job_id)
                silent = 0
            except NeveError as error:
                silent += 1
                is_over = time.monotonic() >= deadline or silent > MAX_SILENT_CONNECTIONS
                if is_over or not may_pass(error):
                    raise
            else:
                if job.is_over:
                    return job
                if time.monotonic() >= deadline:
                    raise ServerError(
                        f"Job {job_id} is {job.state} after {timeout_seconds:g} seconds.",
                        next_step="Wait longer, or cancel it.",
                    )
            self._sleep(min(pause, max(deadline - time.monotonic(), 0.0)))
            pause = min(pause * 1.5, LONGEST_LOOK_SECONDS)

    # Plans

    def make_plan(self, table: str, *, strategy: str | None = None, **options: object) -> Plan:
        """Plan a compaction; options are those of `compact`. Nothing is changed."""
        body = {**_named(table), **_given(strategy=strategy), "options": _given(**options)}
        return read(Plan, self._post(f"{API}/plans", body))

    def plan(self, plan_id: str) -> Plan:
        """A plan that was made."""
        return read(Plan, self._get(f"{API}/plans/{part(plan_id)}"))

    def approve_plan(self, plan_id: str, approved_by: str) -> Plan:
        """Agree to a plan."""
        path = f"{API}/plans/{part(plan_id)}/approve"
        return read(Plan, self._post(path, {"approved_by": approved_by}))

    def apply_plan(self, plan_id: str, **asking: object) -> QueuedJob:
        """Queue exactly this plan; PlanStale where the table has moved on."""
        # A plan becomes one job, so that the request is its own key.
        path = f"{API}/plans/{part(plan_id)}/apply"
        return self._queue(path, asking, plan_id)

    # Tables

    def tables(self, pattern: str = "*", page: int = 500) -> Iterator[str]:
        """Names of tables that a pattern is for."""
        yield from self._pages(f"{API}/tables", "tables", pattern=pattern, limit=page)

    def table(self, table: str) -> dict[str, Any]:
        """A table in figures."""
        return self._about(table, "")

    def health(self, table: str) -> dict[str, Any]:
        """How well a table is, and why."""
        return self._about(table, "/health")

    def policy(self, table: str) -> dict[str, Any]:
        """A table's effective policy."""
        return self._about(table, "/policy")

    def maintain(
        self,
        table: str,
        operations: Sequence[str] = (),
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **asking: object,
    ) -> dict[str, Any]:
        """Queue jobs for operations, or for all that the policy enables.

        `apply`, `only_due` and `any_time` may be said, too, and what `compact` takes of a request.
        """
        body = {"operations": list(operations), "dry_run": dry_run, **asking}
        path = f"{API}/tables/{part(table)}/maintain"
        answer: dict[str, Any] = self._post(path, body, key=idempotency_key or _new_key())
        return answer

    def expire(
        self,
        table: str,
        *,
        apply: bool = False,
        idempotency_key: str | None = None,
        **rules: object,
    ) -> dict[str, Any]:
        """Say which snapshots would go; with `apply`, queue letting them go."""
        path = f"{API}/tables/{part(table)}/expire"
        body = {"apply": apply, **rules}
        answer: dict[str, Any] = self._post(path, body, key=idempotency_key or _new_key())
        return answer

    def orphans(
        self,
        table: str,
        action: str = "look",
        *,
        idempotency_key: str | None = None,
        **rules: object,
    ) -> QueuedJob:
        """Queue a sweep: look, quarantine, purge or restore."""
        path = f"{API}/tables/{part(table)}/orphans"
        return self._queue(path, {"action": action, **rules}, idempotency_key)

    def rollback(
        self,
        table: str,
        *,
        snapshot_id: int | None = None,
        time: datetime | None = None,
        job_id: str | None = None,
        turn_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> QueuedJob:
        """Queue going back to an earlier snapshot; one of the four says to which."""
        at = time.isoformat() if time else None
        body = _given(snapshot_id=snapshot_id, time=at, job_id=job_id, turn_id=turn_id)
        return self._queue(f"{API}/tables/{part(table)}/rollback", body, idempotency_key)

    def rollback_turn(
        self, turn_id: str, *, idempotency_key: str | None = None, **asking: object
    ) -> dict[str, Any]:
        """Queue undoing a turn: for each of its tables a job, or the problem with it."""
        path = f"{API}/turns/{part(turn_id)}/rollback"
        answer: dict[str, Any] = self._post(path, asking, key=idempotency_key or _new_key())
        return answer

    def policies(self) -> list[dict[str, Any]]:
        """All policies, those of the configuration first."""
        return list_of(self._get(f"{API}/policies"), "policies")

    def set_policy(
        self, name: str, document: Mapping[str, Any], *, tag: str | None = None
    ) -> tuple[dict[str, Any], str]:
        """Set a policy: a new one, or in the place of the one with this tag; with its tag."""
        said = {"If-None-Match": "*"} if tag is None else {"If-Match": tag}
        # A second one of a lost answer would be refused, and not set twice.
        response = self._response(
            "PUT", f"{API}/policies/{part(name)}", json=dict(document), headers=said
        )
        return response.json(), response.headers["ETag"]

    def policy_and_tag(self, name: str) -> tuple[dict[str, Any], str]:
        """One policy, and the tag that a change of it is sent with."""
        response = self._response("GET", f"{API}/policies/{part(name)}")
        return response.json(), response.headers["ETag"]

    def remove_policy(self, name: str, tag: str) -> None:
        """Forget a policy that was set, if it is the one with this tag."""
        path = f"{API}/policies/{part(name)}"
        self._send("DELETE", path, again=False, headers={"If-Match": tag})

    def set_aside_tables(self) -> list[dict[str, Any]]:
        """Tables that workers leave alone."""
        return list_of(self._get(f"{API}/set-aside"), "tables")

    def put_back(self, table: str) -> None:
        """Let workers take a table's jobs again."""
        self._send("DELETE", f"{API}/set-aside/{part(table)}")

    # The server

    def is_alive(self) -> bool:
        """Whether the server answers at all."""
        try:
            self._answer("GET", "/health")
        except ServerError:
            return False
        return True

    def metrics(self) -> str:
        """The server's figures in the text format of Prometheus."""
        return self._response("GET", "/metrics").text

    def _about(self, table: str, what: str) -> dict[str, Any]:
        answer: dict[str, Any] = self._get(f"{API}/tables/{part(table)}{what}")
        return answer

    def _queue(self, path: str, body: Mapping[str, Any], key: str | None) -> QueuedJob:
        return read(QueuedJob, self._post(path, body, key=key or _new_key()))

    def _pages(self, path: str, name: str, **parameters: object) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._get(path, cursor=cursor, **parameters)
            yield from list_of(page, name)
            cursor = page.get("next_cursor")
            if cursor is None:
                return


def _new_key() -> str:
    return str(uuid.uuid4())


def _given(**values: object) -> dict[str, object]:
    return {key: value for key, value in values.items() if value is not None}


def _named(table: str) -> dict[str, str]:
    """The parts of a name, as requests want them."""
    *before, name = split_name(table)
    catalog = {"catalog": before.pop(0)} if len(before) > 1 else {}
    namespace = {"namespace": ".".join(map(quote_part, before))} if before else {}
    return {**catalog, **namespace, "table": name}
