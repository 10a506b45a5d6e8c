"""What a server answers, as values. Fields that a newer server adds are passed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self, TypeVar

from neve.model.errors import ServerError
from neve.model.job import Progress
from neve.model.told_job import ToldEvent, ToldJob

Value = TypeVar("Value")


def read(kind: type[Value], document: Any) -> Value:
    """The value of this kind in a document; ServerError where it holds none."""
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    try:
        values = {name: value for name, value in document.items() if name in known}
        return kind(**{name: _moment(name, value) for name, value in values.items()})
    except (AttributeError, TypeError, ValueError) as error:
        raise strange(kind.__name__) from error


def list_of(document: Any, name: str) -> list[Any]:
    """The list in an answer; ServerError where there is none."""
    found = document.get(name) if isinstance(document, Mapping) else None
    if not isinstance(found, list):
        raise strange(name)
    return found


def strange(what: str) -> ServerError:
    return ServerError(
        f"The answer is not that of a Neve server: it holds no {what}.",
        next_step="Check the address: neve serve says where it listens.",
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(ToldJob):
    """A job as it stands; lists leave its outcome out."""

    status: str
    estimated_duration_seconds: int | None = None
    estimated_completion: datetime | None = None
    trigger: str = ""
    tenant: str = ""
    priority: int = 0
    is_dead: bool = False
    outcome: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, document: Any) -> Self:
        if not isinstance(document, Mapping):
            raise strange(cls.__name__)
        progress = read(Progress, document.get("progress") or {})
        return read(cls, {**document, "progress": progress})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(ToldEvent):
    """What a job said, and when."""

    job_id: str
    at: datetime

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
