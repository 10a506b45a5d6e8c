"""What the work of a job is given by the frame that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from neve.model.errors import InputError
from neve.model.facts import TableFacts
from neve.model.job import OVERRIDES, JobRequest, JobState
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.plan import Plan
from neve.model.policies import EffectivePolicy
from neve.model.table import TableRef
from neve.service.lease import HeldLease
from neve.service.reporting import JobReporter
from neve.service.services import Services


@dataclass(frozen=True, slots=True)
class JobContext:
    """One running job: its request, its hold on the table, and the services."""

    services: Services
    job_id: str
    request: JobRequest
    held: HeldLease
    started_at: datetime
    reporter: JobReporter

    @property
    def table(self) -> TableRef:
        return self.request.table

    @property
    def operation(self) -> str:
        return self.request.operation

    def check(self) -> None:
        """Raise where the table is another's by now, or the job is to stop."""
        self.held.check()

    def enter(self, state: JobState) -> None:
        """Record where the job stands; needs the lease."""
        self.held.enter(state)
        self.reporter.tell(state, "")

    def policy(self, facts: TableFacts) -> EffectivePolicy:
        """The table's policy, with what the request says as its strongest layer."""
        return self.services.policies.effective(facts, overrides_of(self.request))


def overrides_of(request: JobRequest) -> Mapping[str, object]:
    said = request.arguments.get(OVERRIDES, {})
    if not isinstance(said, Mapping) or not all(isinstance(key, str) for key in said):
        # Passed over, they would let a job do more than was asked for.
        raise InputError(
            f"{OVERRIDES} is {said!r}, which says nothing about a policy.",
            next_step="Give keys of the policy with their values.",
        )
    return said


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan that was made before its job began, and the table as it was seen then.

    Whoever begins with it may be late: what commits asserts that its files are still there.
    """

    plan: Plan[Any]
    facts: TableFacts


def uncounted(
    job_id: str,
    request: JobRequest,
    status: Status,
    reason: str,
    *,
    started_at: datetime,
    finished_at: datetime,
) -> Outcome:
    """The outcome of a request for which nobody has counted anything."""
    return Outcome(
        job_id=job_id,
        table=request.table,
        operation=request.operation,
        status=status,
        reason=reason,
        started_at=started_at,
        finished_at=finished_at,
        stats=CompactionStats(files_before=None, files_after=None),
        snapshots_before=None,
        snapshots_after=None,
        run_id=request.run_id,
    )


Work = Callable[[JobContext], Outcome]
