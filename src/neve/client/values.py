"""What a server answers, as values. Fields that a newer server adds are passed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self, TypeVar

Value = TypeVar("Value")
FINAL = frozenset({"succeeded", "failed", "cancelled"})


def read(kind: type[Value], document: Mapping[str, Any]) -> Value:
    """The value of this kind in a document."""
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    values = {name: value for name, value in document.items() if name in known}
    return kind(**{name: _moment(name, value) for name, value in values.items()})


def _moment(name: str, value: Any) -> Any:
    is_time = name == "at" or name.endswith("_at") or name == "estimated_completion"
    return datetime.fromisoformat(value) if is_time and isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job that was asked for."""

    job_id: str
    status: str
    created_at: datetime
    estimated_duration_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is."""

    partitions_completed: int = 0
    partitions_total: int = 0
    files_processed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stands; lists leave its outcome out."""

    job_id: str
    status: str
    state: str
    table: str
    operation: str
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    progress: Progress = field(default_factory=Progress)
    estimated_duration_seconds: int | None = None
    estimated_completion: datetime | None = None
    reason: str = ""
    requested_by: str = ""
    tenant: str = ""
    priority: int = 0
    attempts: int = 0
    max_attempts: int = 0
    is_dead: bool = False
    cancel_requested: bool = False
    outcome: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        progress = read(Progress, document.get("progress") or {})
        return read(cls, {**document, "progress": progress})

    @property
    def is_over(self) -> bool:
        return self.status in FINAL


@dataclass(frozen=True, slots=True)
class Event:
    """What a job said; `number` is where to go on from."""

    number: int
    job_id: str
    at: datetime
    state: str
    message: str = ""
    progress: Progress | None = None

    @classmethod
    def of(cls, number: int, document: Mapping[str, Any]) -> Self:
        told = document.get("progress")
        progress = read(Progress, told) if told else None
        return read(cls, {**document, "number": number, "progress": progress})


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that the server keeps."""

    plan_id: str
    table: str
    status: str
    created_at: datetime
    has_work: bool
    reason: str
    estimated_duration_seconds: float
    estimated_cost_usd: float
    snapshot_id: int | None = None
    approved_at: datetime | None = None
    approved_by: str = ""
    requested_by: str = ""
    job_id: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
