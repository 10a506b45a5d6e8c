"""What came of one operation on one table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Operation(StrEnum):
    OPTIMIZE = "optimize"
    EXPIRE_SNAPSHOTS = "expire_snapshots"
    REMOVE_ORPHAN_FILES = "remove_orphan_files"


class Status(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Counts:
    """A table's size; None where Trino could not tell."""

    snapshots: int | None = None
    files: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row of the maintenance log, whether or not it could be written there.

    `log_problem` says why it could not; None if it is in the log.
    """

    table: str
    operation: Operation
    status: Status
    details: str
    before: Counts
    after: Counts
    executed_at: datetime
    log_problem: str | None = None
