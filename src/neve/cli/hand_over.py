"""Jobs for a server: one that was named, or one of the same configuration on this machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neve.cli.interrupt import EXIT_INTERRUPTED
from neve.cli.job_views import JobView
from neve.cli.output import Output
from neve.cli.places import JobPlace, LocalJobs, follow
from neve.documents import from_document
from neve.model.errors import ExecutionError, JobCancelled
from neve.model.job import RUN_ID, JobRequest, Trigger
from neve.model.maintenance import HandOver
from neve.model.operation import Operation
from neve.model.outcome import Outcome
from neve.model.plan import CompactionPlan

if TYPE_CHECKING:
    from neve.neve import Neve

RunIdOption = Annotated[
    str,
    typer.Option(
        "--run-id",
        envvar=["NEVE_RUN_ID", "AIRFLOW_CTX_DAG_RUN_ID"],
        help="The id by which you know this run; the maintenance log shows it as dag_run_id.",
    ),
]
LocalOption = Annotated[
    bool,
    typer.Option("--local", help="Run it here, whatever server there is."),
]


def run_or_hand_over(
    neve: Neve,
    output: Output,
    table: str,
    operation: Operation = Operation.REWRITE_DATA_FILES,
    *,
    overrides: Mapping[str, object] | None = None,
    local: bool = False,
    run_id: str = "",
) -> Outcome:
    """Run it here, or let the server of the same configuration run it, whose engine is warm.

    Both have the same state, so that the job is queued there and followed there.
    """
    server = None if local else neve.server()
    asked: dict[str, Any] = {"overrides": overrides, "trigger": Trigger.CLI}
    asked["arguments"] = {RUN_ID: run_id} if run_id else {}
    if server is None:
        return neve.run(table, operation, **asked)
    # Somebody is watching, and decides himself whether to try again.
    job = neve.submit(table, operation, max_attempts=1, **asked)
    output.tell(f"Handed to the server at {server.url}: job {job.job_id}")
    place = LocalJobs(neve, is_served=lambda: neve.server() is not None)
    return outcome_of(follow_to_end(place, output, job.job_id))


def handing_over(neve: Neve, output: Output, *, local: bool) -> HandOver | None:
    """What lets the server of the same configuration run many jobs; None where there is none."""
    server = None if local else neve.server()
    if server is None:
        return None
    output.tell(f"Jobs are handed to the server at {server.url}")

    def sleep(seconds: float) -> None:
        if neve.is_stopping:
            raise JobCancelled("Nobody follows it any more; the server goes on with it.")
        time.sleep(seconds)

    place = LocalJobs(neve, sleep, is_served=lambda: neve.server() is not None)

    def hand_over(request: JobRequest) -> Outcome:
        job = neve.submit(
            request.table,
            request.operation,
            arguments=request.arguments,
            trigger=request.trigger,
            max_attempts=1,
        )
        for _ in place.events(job.job_id):
            pass
        return outcome_of(place.job(job.job_id))

    return hand_over


def follow_to_end(place: JobPlace, output: Output, job_id: str) -> JobView:
    """Follow the job; whoever stops following does not stop it."""
    try:
        return follow(place, output, job_id)
    except KeyboardInterrupt:
        output.warn(f"Job {job_id} goes on: neve job {job_id} --follow, or neve cancel {job_id}")
        sys.exit(EXIT_INTERRUPTED)


def outcome_of(job: JobView) -> Outcome:
    """What came of it, or the error that ended it."""
    if job.outcome is None:
        raise ExecutionError(
            f"Job {job.job_id} is {job.state}: {job.reason or 'no reason was given.'}",
            next_step=f"Look at it: neve job {job.job_id}",
        )
    return job.outcome


def compact_at_server(
    client: Any, table: str, *, engine: str | None, sort_by: str | None, **options: Any
) -> str:
    """Queue a compaction at a server that was named; returns the job's id."""
    return str(client.compact(table, **_asked(engine, sort_by), **options).job_id)


def plan_at_server(
    client: Any, table: str, *, engine: str | None, sort_by: str | None, **options: Any
) -> CompactionPlan:
    """What a server that was named would do, by its own policies. Nothing is queued."""
    made = client.make_plan(table, **_asked(engine, sort_by), **options)
    return from_document(CompactionPlan, made.plan)


def _asked(engine: str | None, sort_by: str | None) -> dict[str, Any]:
    columns = [part.strip() for part in (sort_by or "").split(",") if part.strip()]
    return {"engine": engine and str(engine), "sort_columns": columns}
