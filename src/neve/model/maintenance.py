"""Maintaining tables: what was asked for, and a report for each operation, run or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from neve.model.errors import InputError
from neve.model.job import OVERRIDES, RUN_ID, TRINO, TURN, JobRequest
from neve.model.operation import Operation
from neve.model.outcome import Outcome
from neve.model.policy import Verify
from neve.model.table import TableRef

#: Lets somebody else run a job, and gives what came of it.
HandOver = Callable[[JobRequest], Outcome]


@dataclass(frozen=True, slots=True)
class MaintainRequest:
    """What was asked for all tables together."""

    dry_run: bool = False
    #: Expire and sweep also where no policy says whether to.
    apply: bool = False
    #: Only tables whose schedule has come.
    only_due: bool = False
    #: Also outside of the policies' windows.
    any_time: bool = False
    #: How compactions are verified, where it is not left to the policies.
    verify: Verify | None = None
    parallel_tables: int = 4
    #: What the jobs of this turn have in common, so that all of it can be undone.
    turn_id: str | None = None
    #: The id by which the caller knows this run, for the maintenance log.
    run_id: str = ""

    def check(self, engine: str) -> None:
        """Raise for what the engine would have to ignore."""
        if engine == TRINO and (self.only_due or self.any_time):
            raise InputError(
                "With engine: trino there are no schedules and no windows.",
                next_step="Leave --due and --now out, and let cron or a DAG call it.",
            )
        if engine == TRINO and self.verify is not None:
            raise InputError(
                "Trino commits by itself: nothing that it writes can be verified before.",
                next_step="Leave --verify out.",
            )

    @property
    def arguments(self) -> dict[str, object]:
        """What every job of the turn is told."""
        said = {TURN: self.turn_id, RUN_ID: self.run_id, OVERRIDES: self.overrides}
        return {key: value for key, value in said.items() if value}

    @property
    def overrides(self) -> dict[str, object]:
        """What was said about all tables, by the keys of a policy."""
        return {} if self.verify is None else {"rewrite_data_files.verify": str(self.verify)}


class ReportStatus(StrEnum):
    """How an operation ended, or why it did not begin."""

    SUCCEEDED = "succeeded"
    NOTHING_TO_DO = "nothing_to_do"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    #: A dry run found work.
    PLANNED = "planned"
    #: It is not enabled, or the budget is used up.
    SKIPPED = "skipped"

    @property
    def is_bad(self) -> bool:
        return self in (ReportStatus.FAILED, ReportStatus.UNKNOWN, ReportStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class OperationReport:
    """One operation on one table."""

    operation: Operation
    status: ReportStatus
    reason: str
    next_step: str | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class TableReport:
    """All operations on one table, or why it was not looked at."""

    table: TableRef
    operations: tuple[OperationReport, ...]
    #: Why the table was left alone as a whole.
    skipped: str | None = None
    #: What is wrong with the table or its policy.
    problem: str | None = None
    next_step: str | None = None
    #: Why the maintenance log has no rows about it.
    log_problem: str | None = None

    @property
    def is_good(self) -> bool:
        return self.problem is None and not any(r.status.is_bad for r in self.operations)
