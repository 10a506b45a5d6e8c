"""Jobs: listed, shown, followed, stopped, tried again. Nothing in here asks a catalog."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

from neve.access.credentials import bearer_of
from neve.access.rights import Right
from neve.api.access import TheNeve, TheSettings, guarded, needs
from neve.api.bodies import (
    JobBody,
    Jobs,
    JobStatus,
    JobTexts,
    job_body,
    progress_body,
    states_of,
)
from neve.api.problems import Refusal, not_found
from neve.api.submitting import job_path
from neve.api.values import (
    LARGEST_LONG,
    PathPart,
    make_cursor,
    read_cursor,
)
from neve.guarding import Guarded
from neve.model.errors import NeveError, NotAuthenticated
from neve.model.events import RecordedEvent
from neve.model.job import Job, JobState
from neve.neve import Neve

router = APIRouter(prefix="/jobs", tags=["jobs"])

BATCH = 500
TEXTS = JobTexts()
#: Named in the stream after the last event: nothing more will come.
END = "end"


class JobsQuery(BaseModel):
    """Which jobs are listed. One model, because a parameter by itself is validated by itself."""

    table: str | None = Field(default=None, max_length=1024, description="Only of this table.")
    status: JobStatus | None = None
    operation: str | None = Field(default=None, max_length=64)
    tenant: str | None = Field(default=None, max_length=256)
    dead: bool | None = Field(
        default=None, description="Those that failed as often as they may, or the others."
    )
    limit: int = Field(default=50, ge=1, le=1000, description="How many at most.")
    cursor: str | None = Field(
        default=None, max_length=2048, description="`next_cursor` of the page before."
    )


@router.get("", response_model=Jobs, dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def jobs(neve: TheNeve, asked: Annotated[JobsQuery, Query()]) -> Response:
    """Jobs, newest first, a page at a time."""
    states = states_of(asked.status) if asked.status else ()
    chosen = {"states": states, "operation": asked.operation, "tenant": asked.tenant}
    return page_of(neve, asked.table, asked.limit, asked.cursor, **chosen, is_dead=asked.dead)


@router.get(
    "/{job_id}", response_model=JobBody, dependencies=[needs(Right.VIEW, asks_catalogs=False)]
)
def job(job_id: PathPart, neve: TheNeve) -> Response:
    """One job: where it stands, how far it is, and what came of it."""
    # Written here, because FastAPI would send its model through another thread for that.
    text = job_body(_job(neve, job_id), neve.now()).model_dump_json()
    return Response(text, media_type="application/json")


@router.delete(
    "/{job_id}", status_code=202, dependencies=[needs(Right.OPERATE, asks_catalogs=False)]
)
def cancel(job_id: PathPart, neve: TheNeve) -> JobBody:
    """Stop a job: one that is queued ends at once, one that runs at its next boundary."""
    found = neve.cancel(job_id)
    if found is None:
        raise _no_job(job_id)
    if not (found.cancel_requested or found.state is JobState.CANCELLED):
        raise Refusal(409, "job-ended", f"Job {job_id} is over: {found.state}.")
    return job_body(found, neve.now())


@router.post("/{job_id}/retry", status_code=202, dependencies=[needs(Right.OPERATE)])
def retry(job_id: PathPart, neve: TheNeve, response: Response) -> JobBody:
    """Queue what a failed or cancelled job asked for once more, as a job of its own."""
    found = _job(neve, job_id)
    if found.state not in (JobState.FAILED, JobState.CANCELLED):
        raise Refusal(
            409,
            "job-not-failed",
            f"Job {job_id} is {found.state}: only what failed or was cancelled is queued again.",
            "Wait for its end, or ask for another job.",
        )
    again = neve.requeue(job_id)
    response.headers["Location"] = job_path(again.job_id)
    return job_body(again, neve.now())


async def _followed(
    job_id: PathPart, request: Request, settings: TheSettings
) -> AsyncIterator[Job]:
    """The job to follow; asked before the stream begins, so that there is a status to answer.

    The stream is counted before anything is waited for: others that are opened meanwhile see it.
    """
    neve, streams = guarded(request), request.app.state.streams
    share = neve.caller.share
    if streams.total() >= settings.max_streams:
        raise _too_many(settings.max_streams, "are open")
    if neve.caller.is_known and streams[share] >= settings.max_streams_of_tenant:
        raise _too_many(settings.max_streams_of_tenant, "of yours are open")
    streams[share] += 1
    try:
        yield await run_in_threadpool(_job, neve, job_id)
    finally:
        streams.subtract((share,))
        if not streams[share]:
            del streams[share]


def _too_many(limit: int, which: str) -> Refusal:
    return Refusal(
        503,
        "too-many-streams",
        f"{limit} streams of events {which}.",
        "Try again later, or ask for the job now and then.",
        {"Retry-After": "10"},
    )


LastEvent = Annotated[
    int,
    Header(
        alias="Last-Event-ID",
        ge=0,
        le=LARGEST_LONG,
        description="The number of the last event that was seen.",
    ),
]


@router.get(
    "/{job_id}/events",
    response_class=EventSourceResponse,
    dependencies=[needs(Right.VIEW, asks_catalogs=False)],
)
async def events(
    job: Annotated[Job, Depends(_followed)],
    request: Request,
    settings: TheSettings,
    last_event_id: LastEvent = 0,
) -> AsyncIterator[ServerSentEvent]:
    """What a job says, from a number on, until its end: `event: end` is the last one."""
    neve, seen = guarded(request), last_event_id
    try:
        while await run_in_threadpool(_is_still_let_in, neve, request):
            # The state first: what is told after it is read in the next turn.
            now = await run_in_threadpool(neve.job, job.job_id)
            found = await run_in_threadpool(neve.job_events, job.job_id, after=seen, limit=BATCH)
            for event in found:
                seen = event.number
                yield _event(event)
            if len(found) == BATCH:
                continue
            if now is None or now.state.is_final:
                yield ServerSentEvent(event=END, id=str(seen), data={"job_id": job.job_id})
                return
            if request.app.state.is_ending:
                return
            await asyncio.sleep(settings.poll_seconds)
    except NeveError:
        # The state or the issuer is away: who follows comes again, from the last number on.
        return


def _is_still_let_in(neve: Guarded, request: Request) -> bool:
    """A stream may outlive the key or token that it was asked for with."""
    if not neve.caller.is_known:
        return True
    try:
        sent = bearer_of(request.headers.getlist("authorization"))
        return neve.access.authenticate(sent) == neve.caller
    except NotAuthenticated:
        return False


def page_of(
    neve: Neve, table: str | None, limit: int, cursor: str | None, **chosen: Any
) -> Response:
    before = read_cursor(cursor, int)[0] if cursor else None
    page = neve.job_page(table, limit=limit, before=before, **chosen)
    next_cursor = make_cursor(page.before) if page.before is not None else None
    text = TEXTS.page(page.jobs, next_cursor, neve.now())
    return Response(text, media_type="application/json")


def _event(event: RecordedEvent) -> ServerSentEvent:
    progress = None if event.progress is None else progress_body(event.progress).model_dump()
    data = {
        "job_id": event.job_id,
        "at": event.at.isoformat().replace("+00:00", "Z"),
        "state": str(event.phase),
        "message": event.message,
        "progress": progress,
    }
    return ServerSentEvent(event="state", id=str(event.number), data=data)


def _job(neve: Neve, job_id: str) -> Job:
    found = neve.job(job_id)
    if found is None:
        raise _no_job(job_id)
    return found


def _no_job(job_id: str) -> Refusal:
    return not_found("job", job_id, "GET /api/v1/jobs lists them.")
