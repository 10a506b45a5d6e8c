"""Jobs and plans as answers tell them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import BaseModel, Field

from neve.api.values import Time
from neve.model.job import Job, JobState
from neve.model.job import Progress as JobProgress

JobStatus = Literal["queued", "running", "succeeded", "failed", "cancelled", "unknown"]


def status_of(state: JobState) -> JobStatus:
    """One word for what a job does; `state` says it exactly."""
    match state:
        case JobState.QUEUED:
            return "queued"
        case JobState.SUCCEEDED:
            return "succeeded"
        case JobState.FAILED:
            return "failed"
        case JobState.CANCELLED:
            return "cancelled"
        case JobState.UNKNOWN:
            return "unknown"
    return "running"


def states_of(status: JobStatus) -> frozenset[JobState]:
    return frozenset(state for state in JobState if status_of(state) == status)


class QueuedJob(BaseModel):
    """A job that was asked for."""

    job_id: str
    status: JobStatus
    created_at: Time
    estimated_duration_seconds: int | None = Field(
        description="By the plan that was made on the way; null where nobody planned."
    )


class Progress(BaseModel):
    """How far a job is, by its tasks' own accounting."""

    partitions_completed: int = 0
    partitions_total: int = 0
    files_processed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


class ListedJob(BaseModel):
    """A job in a list."""

    job_id: str
    status: JobStatus
    state: JobState
    table: str
    operation: str
    progress: Progress
    created_at: Time
    started_at: Time | None
    updated_at: Time
    estimated_duration_seconds: int | None
    estimated_completion: Time | None
    reason: str
    requested_by: str
    trigger: str
    tenant: str
    priority: int
    attempts: int
    max_attempts: int
    is_dead: bool = Field(description="It failed as often as it may: POST …/retry queues it again.")
    cancel_requested: bool
    turn_id: str | None = Field(description="The turn that it belongs to, and is undone with.")


class JobBody(ListedJob):
    """A job, with its outcome once there is one."""

    outcome: dict[str, Any] | None


class Jobs(BaseModel):
    """A page of jobs, newest first."""

    jobs: list[ListedJob]
    next_cursor: str | None = Field(description="For the next page; null after the last one.")


def queued_job(job: Job) -> QueuedJob:
    return QueuedJob(
        job_id=job.job_id,
        status=status_of(job.state),
        created_at=job.created_at,
        estimated_duration_seconds=_whole(job.estimated_seconds),
    )


def listed_job(job: Job, now: datetime) -> ListedJob:
    return ListedJob(**_fields(job, now))


class JobTexts:
    """Jobs of lists as JSON, written once for each state of a job.

    A store gives the same object again as long as nothing about the job has changed.
    """

    def __init__(self, at_most: int = 4096) -> None:
        self._at_most = at_most
        self._texts: dict[str, tuple[Job, str]] = {}

    def page(self, jobs: Iterable[Job], next_cursor: str | None, now: datetime) -> str:
        """A page as `Jobs` would be written."""
        texts = ",".join(self._text(job, now) for job in jobs)
        return f'{{"jobs":[{texts}],"next_cursor":{json.dumps(next_cursor)}}}'

    def _text(self, job: Job, now: datetime) -> str:
        known = self._texts.get(job.job_id)
        if known is not None and known[0] is job:
            return known[1]
        text = listed_job(job, now).model_dump_json()
        # When a running job should be done depends on the time.
        if status_of(job.state) != "running":
            if len(self._texts) >= self._at_most:
                self._texts.clear()
            self._texts[job.job_id] = (job, text)
        return text


def job_body(job: Job, now: datetime) -> JobBody:
    outcome = json.loads(job.outcome) if job.outcome else None
    return JobBody(**_fields(job, now), outcome=outcome)


def progress_body(progress: JobProgress | None) -> Progress:
    if progress is None:
        return Progress()
    return Progress(**{name: getattr(progress, name) for name in Progress.model_fields})


def _fields(job: Job, now: datetime) -> dict[str, Any]:
    return {
        "job_id": job.job_id,
        "status": status_of(job.state),
        "state": job.state,
        "table": str(job.table),
        "operation": job.operation,
        "progress": progress_body(job.progress),
        "created_at": job.created_at,
        "started_at": job.started_at,
        "updated_at": job.updated_at,
        "estimated_duration_seconds": _whole(job.estimated_seconds),
        "estimated_completion": _completion(job, now),
        "reason": job.reason,
        "requested_by": job.requested_by,
        "trigger": job.trigger,
        "tenant": job.tenant,
        "priority": job.priority,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "is_dead": job.is_dead,
        "cancel_requested": job.cancel_requested,
        "turn_id": job.turn_id,
    }


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds))


def _completion(job: Job, now: datetime) -> datetime | None:
    """When a running job should be done: by what it has read, or by its estimate."""
    if status_of(job.state) != "running" or job.started_at is None:
        return None
    read = job.progress.bytes_read if job.progress else 0
    total = job.progress.bytes_total if job.progress else 0
    taken = (now - job.started_at).total_seconds()
    if 0 < read <= total and taken > 0:
        return job.started_at + timedelta(seconds=taken * total / read)
    # What should have been over by now tells nothing about when it will be.
    if job.estimated_seconds is None or job.estimated_seconds < taken:
        return None
    return job.started_at + timedelta(seconds=job.estimated_seconds)
