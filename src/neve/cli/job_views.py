"""A job as commands show it: the same for the local state and a server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from neve.documents import from_document
from neve.model.job import JobState, Progress
from neve.model.outcome import Outcome
from neve.model.told_job import ToldJob


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView(ToldJob):
    """A job with what came of it."""

    state: JobState
    outcome: Outcome | None


def job_view(told: Any) -> JobView:
    """What the state or a client tells of a job: the same names, with types of their own."""
    values = {item.name: getattr(told, item.name) for item in fields(JobView)}
    made = {
        "table": str(told.table),
        "state": JobState(told.state),
        "progress": told.progress or Progress(),
        "outcome": _outcome(told.outcome),
    }
    return JobView(**{**values, **made})


def _outcome(told: str | Mapping[str, Any] | None) -> Outcome | None:
    if not told:
        return None
    try:
        return from_document(Outcome, json.loads(told) if isinstance(told, str) else told)
    except (ValueError, TypeError, KeyError):
        # A Neve of another version wrote it.
        return None
