"""One operation on one table, run by a Neve server."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, conf

from neve_provider import routes
from neve_provider.errors import NeveError, NeveJobFailed, NeveRefused
from neve_provider.following import PATIENCE_SECONDS, Job, follow, is_lost
from neve_provider.hooks.neve import NeveHook
from neve_provider.links import PAGE, NeveJobLink
from neve_provider.triggers.neve import NeveJobTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context

    from neve_provider.server import NeveServer

#: Under which a task keeps what it asked for, from before the request until its good end.
REQUEST = "neve_request"


class NeveOperator(BaseOperator):
    """Asks a Neve server for maintenance of a table, and waits for its jobs.

    What is asked for is kept with the task before it is sent, under a key that the server knows
    again: a task whose worker died goes on with the jobs of the try before. Only jobs that failed
    or were cancelled are asked for anew.

    :param table: `catalog.namespace.table`, or without the server's default catalog.
    :param operation: one of Iceberg's procedures, such as `rewrite_data_files`; None for all that
        the table's policy enables.
    :param where: for `rewrite_data_files`: only files that may hold matching rows.
    :param options: options of the procedure, by Iceberg's names; for `expire_snapshots` and
        `remove_orphan_files` what their routes take (`older_than`, `action` …).
    :param overrides: keys of the table's policy for this request.
    :param dry_run: only say what would be done.
    :param wait: whether to wait for the end; otherwise the jobs are returned as they were queued.
    :param deferrable: wait in a triggerer; as `[operators] default_deferrable` says by default.
    """

    template_fields: Sequence[str] = ("table", "operation", "where", "options", "overrides")
    operator_extra_links = (NeveJobLink(),)
    ui_color = "#dff1f7"

    def __init__(
        self,
        *,
        table: str,
        operation: str | None = routes.REWRITE,
        where: str | None = None,
        options: Mapping[str, Any] | None = None,
        overrides: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        wait: bool = True,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        neve_conn_id: str = NeveHook.default_conn_name,
        priority: int = 0,
        tenant: str = "",
        poll_seconds: float = 10.0,
        patience_seconds: float = PATIENCE_SECONDS,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.operation = operation
        self.where = where
        self.options = options
        self.overrides = overrides
        # BaseOperator has a method of this name.
        self.only_look = dry_run
        self.wait = wait
        self.deferrable = deferrable
        self.neve_conn_id = neve_conn_id
        self.priority = priority
        self.tenant = tenant
        self.poll_seconds = poll_seconds
        self.patience_seconds = patience_seconds
        self._job_ids: list[str] = []

    @property
    def hook(self) -> NeveHook:
        return NeveHook(self.neve_conn_id)

    def execute(self, context: Context) -> Any:
        server, request = self.hook.get_conn(), self._request(context)
        # A look at orphans is a job, too; other looks are answered at once.
        if self.only_look and self.operation != routes.ORPHANS:
            return server.send(request)
        self._job_ids = job_ids = self._queued(context, server, request)
        if not job_ids:
            return self._finish(context, [])
        context["ti"].xcom_push(key=PAGE, value=server.page_of(job_ids[0]))
        if not self.wait:
            return {"table": self.table, "jobs": [{"job_id": job_id} for job_id in job_ids]}
        if self.deferrable:
            self.defer(trigger=self._trigger(job_ids), method_name=self.execute_complete.__name__)
        asyncio.run(
            follow(
                server,
                job_ids,
                poll_seconds=self.poll_seconds,
                patience_seconds=self.patience_seconds,
            )
        )
        return self._end(context, server, job_ids)

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Any:
        """Go on after the trigger has fired."""
        if event.get("problem"):
            raise NeveError(event["problem"])
        return self._end(context, self.hook.get_conn(), event["job_ids"])

    def on_kill(self) -> None:
        """Somebody ended the task: its jobs stop at their next boundary."""
        for job_id in self._job_ids:
            try:
                self.hook.cancel(job_id)
            except NeveError as error:
                self.log.warning("Job %s was not cancelled: %s", job_id, error)

    def _trigger(self, job_ids: Sequence[str]) -> NeveJobTrigger:
        return NeveJobTrigger(self.neve_conn_id, job_ids, self.poll_seconds, self.patience_seconds)

    def _request(self, context: Context) -> routes.Request:
        ti = context["ti"]
        return routes.maintenance(
            self.table,
            self.operation,
            where=self.where,
            options=self.options,
            overrides=self.overrides,
            dry_run=self.only_look,
            requested_by=f"airflow {ti.dag_id}.{ti.task_id}"[:256],
            priority=self.priority,
            tenant=self.tenant,
        )

    def _queued(self, context: Context, server: NeveServer, request: routes.Request) -> list[str]:
        """The jobs of this task: those of the try before, or new ones."""
        store = context.get("task_state_store")
        kept = store.get(REQUEST) if store else None
        if kept and kept["asked"] == request.fingerprint():
            jobs = _found(server, request, kept)
            if jobs and not any(is_lost(job) for job in jobs):
                self.log.info("Going on with the jobs of the try before.")
                return [str(job["job_id"]) for job in jobs]
        asked = {"asked": request.fingerprint(), "key": str(uuid.uuid4())}
        if store:
            # Before it is sent: whoever dies now finds by the key whether it was heard.
            store.set(REQUEST, asked)
        answer = server.send(request.with_key(asked["key"]))
        if answer.get("skipped"):
            self.log.info("%s is left alone: %s", self.table, answer["skipped"])
        job_ids = routes.queued(answer)
        if store:
            store.set(REQUEST, {**asked, "job_ids": job_ids})
        return job_ids

    def _end(self, context: Context, server: NeveServer, job_ids: Sequence[str]) -> Any:
        jobs = [server.send(routes.job(job_id)) for job_id in job_ids]
        context["ti"].xcom_push(key=PAGE, value=server.page_of(job_ids[0]))
        if lost := [job for job in jobs if is_lost(job)]:
            raise NeveJobFailed(
                " ".join(
                    f"{job['operation']} of {job['table']} {job['status']}: {job['reason']} "
                    f"See {server.page_of(job['job_id'])}."
                    for job in lost
                )
            )
        return self._finish(context, jobs)

    def _finish(self, context: Context, jobs: Sequence[Job]) -> dict[str, Any]:
        result = {"table": self.table, "jobs": [summary(job) for job in jobs]}
        for outlet in self.outlets:
            context["outlet_events"][outlet].extra.update(result)
        if store := context.get("task_state_store"):
            # Whoever clears the task wants it done again.
            store.delete(REQUEST)
        return result


def summary(job: Job) -> dict[str, Any]:
    """What other tasks may want to know of a job that is over."""
    outcome = job.get("outcome") or {}
    return {
        "job_id": job["job_id"],
        "table": job["table"],
        "operation": job["operation"],
        "status": job["status"],
        "reason": job["reason"],
        "snapshot_before": outcome.get("snapshot_before"),
        "snapshot_after": outcome.get("snapshot_after"),
        **(outcome.get("stats") or {}),
    }


def _found(server: NeveServer, request: routes.Request, kept: Mapping[str, Any]) -> list[Job]:
    """The jobs of a try before; none where the server has forgotten them."""
    try:
        if "job_ids" not in kept:
            kept = {"job_ids": routes.queued(server.send(request.with_key(kept["key"])))}
        return [server.send(routes.job(job_id)) for job_id in kept["job_ids"]]
    except NeveRefused as error:
        if error.status in (404, 422):
            return []
        raise
