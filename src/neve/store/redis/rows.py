"""Jobs as the server keeps them: texts by name, times in microseconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from neve.documents import from_text
from neve.model.facts import EPOCH
from neve.model.job import Job, JobRequest, JobState, Progress, Trigger
from neve.store.values import table_of

MICROSECOND = timedelta(microseconds=1)


def microseconds(seconds: float) -> str:
    return str(round(seconds * 1_000_000))


def microseconds_of(moment: datetime) -> str:
    return str((moment - EPOCH) // MICROSECOND)


def moment_of(text: str) -> datetime:
    return EPOCH + int(text) * MICROSECOND


def pairs(flat: Sequence[Any]) -> dict[str, Any]:
    """Names and values that come in turn."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def named(request: JobRequest) -> tuple[str, ...]:
    """What a script needs to know of a request before its fields."""
    return str(request.table), request.idempotency_key or ""


def fields_of(request: JobRequest) -> list[str]:
    """Names and values of the request, in turn."""
    not_before = microseconds_of(request.not_before) if request.not_before else "0"
    values = {
        "operation": request.operation,
        "arguments": json.dumps(dict(request.arguments), sort_keys=True),
        "requested_by": request.requested_by,
        "trigger": str(request.trigger),
        "priority": str(request.priority),
        "tenant": request.tenant,
        "not_before": not_before,
        "max_attempts": str(request.max_attempts),
        "estimated_seconds": "" if (told := request.estimated_seconds) is None else repr(told),
    }
    if request.room:
        values["room"] = request.room
    return [part for pair in values.items() for part in pair]


def job_of(flat: Sequence[Any]) -> Job:
    """The job; the same object as long as nothing about it has changed."""
    return _job(tuple(flat))


@lru_cache(maxsize=4096)
def _job(flat: tuple[Any, ...]) -> Job:
    row = pairs(flat)
    return Job(
        job_id=row["job_id"],
        table=table_of(row["table"]),
        operation=row["operation"],
        state=JobState(row["state"]),
        epoch=int(row["epoch"]),
        created_at=moment_of(row["created_at"]),
        updated_at=moment_of(row["updated_at"]),
        reason=row["reason"],
        outcome=row.get("outcome"),
        arguments=json.loads(row["arguments"]),
        requested_by=row["requested_by"],
        trigger=Trigger(row["trigger"]),
        priority=int(row["priority"]),
        cancel_requested=row["cancel_requested"] == "1",
        tenant=row["tenant"],
        not_before=moment_of(row["not_before"]) if row["not_before"] != "0" else None,
        attempts=int(row["attempts"]),
        max_attempts=int(row["max_attempts"]),
        is_dead=row["is_dead"] == "1",
        position=int(row["seq"]),
        started_at=moment_of(row["started_at"]) if row.get("started_at") else None,
        progress=from_text(Progress, row["progress"]) if row.get("progress") else None,
        estimated_seconds=float(row["estimated_seconds"]) if row.get("estimated_seconds") else None,
    )
