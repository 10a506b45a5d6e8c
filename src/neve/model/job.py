"""A job: one run of one operation on one table, from claim to end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from neve.model.table import TableRef


class JobState(StrEnum):
    """Where a job stands. The last four are final; `unknown` waits to be resolved by reading."""

    QUEUED = "queued"
    PLANNING = "planning"
    REWRITING = "rewriting"
    COMMITTING = "committing"
    VERIFYING = "verifying"
    UNKNOWN = "unknown"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to one table until `expires_at`, on the store's clock."""

    job_id: str
    table: TableRef
    #: Grows with every claim of the table, so that a late worker is recognised.
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Job:
    """One row of the job store."""

    job_id: str
    table: TableRef
    operation: str
    state: JobState
    epoch: int
    created_at: datetime
    updated_at: datetime
    reason: str = ""
    #: The outcome as JSON text, once there is one.
    outcome: str | None = None
