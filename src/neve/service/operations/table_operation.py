"""Operations that commit to a table as a whole: plan, tag, execute, read back, check.

Compaction has its own way, because its plans are kept in files and its parts commit one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from neve.model.errors import (
    CommitConflict,
    CommitUnknown,
    EngineDied,
    ExecutionError,
    JobCancelled,
    RefLost,
)
from neve.model.expiry import TagToSet
from neve.model.facts import EPOCH_PROPERTY, JOB_ID_PROPERTY, OPERATION_PROPERTY, TableFacts
from neve.model.job import JobRequest, JobState
from neve.model.operation import Operation
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.plan import Plan
from neve.model.policies import EffectivePolicy
from neve.service.ancestry import lost_history, with_history
from neve.service.context import JobContext, Prepared, overrides_of
from neve.service.lease import HeldLease
from neve.service.policies import DELETING
from neve.service.services import Services
from neve.service.undo import (
    drop_undo_tag,
    follow_parent,
    keep_for_undo,
    state_before_in_nessie,
    take_back,
)


class TableOperation(Protocol):
    """What such an operation must say and do."""

    @property
    def operation(self) -> Operation: ...

    @property
    def undo_window_seconds(self) -> int | None:
        """How long the state before is kept under a tag; None where there is nothing to undo."""
        ...

    def plan(self, services: Services, facts: TableFacts) -> Plan[Any]:
        """What to do, from facts. Nothing is changed."""
        ...

    def execute(
        self,
        services: Services,
        plan: Plan[Any],
        held: HeldLease,
        properties: Mapping[str, str],
    ) -> Mapping[str, int] | None:
        """Do it. The lease is checked before anything that cannot be taken back.

        Figures that no survey of the table can show may be returned, such as files deleted.
        """
        ...

    def figures(self, facts: TableFacts) -> dict[str, int]:
        """What the operation is about, counted."""
        ...

    def check(
        self, services: Services, plan: Plan[Any], before: TableFacts, after: TableFacts
    ) -> str | None:
        """What is wrong with the table now, if anything is."""
        ...

    def has_landed(self, plan: Plan[Any], job_id: str, after: TableFacts) -> bool:
        """Whether the table shows the operation's effect; asked when an answer was lost."""
        ...

    def sentence(self, plan: Plan[Any], before: Mapping[str, int], after: Mapping[str, int]) -> str:
        """What happened, in one sentence."""
        ...


@dataclass(frozen=True, slots=True)
class TableOperationHandler:
    """Runs one kind of them in the frame of jobs."""

    operation: Operation
    #: The operation as a policy wants it.
    of: Callable[[EffectivePolicy], TableOperation]

    @property
    def name(self) -> str:
        return str(self.operation)

    @property
    def arguments(self) -> tuple[str, ...]:
        return ()

    def prepare(self, services: Services, request: JobRequest) -> Prepared | None:
        """What is said about the policy is tried; without that, all is found out when it is run."""
        said = overrides_of(request)
        if not said:
            return None
        if self.operation in DELETING:
            # Its plan asks every table of every catalog.
            services.policies.effective(services.surveyor.outline(request.table), said)
            return None
        facts = services.surveyor.survey(request.table)
        policy = services.policies.effective(facts, said)
        return Prepared(self.plan(services, facts, policy), facts)

    def plan(self, services: Services, facts: TableFacts, policy: EffectivePolicy) -> Plan[Any]:
        return self.of(policy).plan(services, facts)

    def run(self, context: JobContext, prepared: Prepared | None = None) -> Outcome:
        before = context.services.surveyor.survey(context.table)
        return operate(
            context, self.of(context.policy(before)), before, prepared.plan if prepared else None
        )


@dataclass(frozen=True, slots=True)
class _Run:
    services: Services
    operation: TableOperation
    job_id: str
    held: HeldLease
    before: TableFacts
    started_at: datetime


def operate(
    context: JobContext,
    operation: TableOperation,
    before: TableFacts,
    planned: Plan[Any] | None = None,
) -> Outcome:
    """Run it. A plan that was made already is run if the table is still where it was made."""
    services = context.services
    run = _Run(services, operation, context.job_id, context.held, before, context.started_at)
    plan = planned if planned and planned.is_of(before) else operation.plan(services, before)
    return _nothing(run, plan) if plan.is_empty else _execute(run, plan)


def _nothing(run: _Run, plan: Plan[Any]) -> Outcome:
    return _outcome(run, Status.NOTHING_TO_DO, plan.reason, run.before)


def _execute(run: _Run, plan: Plan[Any]) -> Outcome:
    services = run.services
    run.held.enter(JobState.REWRITING)
    try:
        tag = _tag(run, plan)
    except CommitConflict as conflict:
        return _outcome(run, Status.FAILED, conflict.message, run.before)
    properties = {
        JOB_ID_PROPERTY: run.job_id,
        EPOCH_PROPERTY: str(run.held.lease.epoch),
        OPERATION_PROPERTY: str(run.operation.operation),
    }
    failure: ExecutionError | None = None
    stopped: JobCancelled | None = None
    counted: Mapping[str, int] = {}
    try:
        counted = run.operation.execute(services, plan, run.held, properties) or {}
    except ExecutionError as error:
        # The table decides what happened, not the error.
        failure = error
    except JobCancelled as stop:
        # What was committed before stays, and is checked like everything else.
        stopped = stop
    run.held.enter(JobState.VERIFYING)
    return _verify(run, plan, tag, _Done(counted, failure, stopped))


@dataclass(frozen=True, slots=True)
class _Done:
    """How an operation's own work ended."""

    counted: Mapping[str, int]
    failure: ExecutionError | None
    stopped: JobCancelled | None


def _verify(run: _Run, plan: Plan[Any], tag: TagToSet | None, done: _Done) -> Outcome:
    """Read the table back: it says what happened, and whether it may stay."""
    services, failure, stopped = run.services, done.failure, done.stopped
    after = with_history(run.before, services.surveyor.survey(plan.table))
    if lost := lost_history(after, [run.before.snapshot_id]):
        return _taken_back(run, lost, after)
    landed = run.operation.has_landed(plan, run.job_id, after)
    if failure is not None and (not landed or isinstance(failure, RefLost)):
        return _failed(run, failure, after, tag)
    if not landed and stopped is not None:
        return _outcome(run, Status.CANCELLED, stopped.message + _drop_tag(run, tag), after)
    if not landed:
        _drop_tag(run, tag)
        return _outcome(run, Status.NOTHING_TO_DO, "The engine found nothing to change.", after)
    if problem := run.operation.check(services, plan, run.before, after):
        return _taken_back(run, problem, after)
    figures = {**run.operation.figures(after), **done.counted}
    reason = run.operation.sentence(plan, run.operation.figures(run.before), figures)
    note = state_before_in_nessie(run.before)
    if tag is not None:
        note = follow_parent(services, run.held, after)
    reason = f"{reason} {note}".strip()
    if failure is not None:
        reason = f"{reason} An error came after it: {failure.message}"
    if stopped is not None:
        reason = f"{reason} {stopped.message} What was committed before stays."
    status = Status.CANCELLED if stopped is not None else Status.SUCCEEDED
    return replace(_outcome(run, status, reason, after), figures_after=figures)


def _tag(run: _Run, plan: Plan[Any]) -> TagToSet | None:
    window = run.operation.undo_window_seconds
    if window is None or plan.snapshot_id is None or state_before_in_nessie(run.before):
        return None
    return keep_for_undo(run.services, run.before, run.job_id, window)[0]


def _drop_tag(run: _Run, tag: TagToSet | None) -> str:
    if tag is None:
        return ""
    try:
        drop_undo_tag(run.services, run.before, tag)
    except ExecutionError as error:
        # A tag too many does no harm, and it ends by itself.
        return f" {error.message}"
    return ""


def _failed(run: _Run, failure: ExecutionError, after: TableFacts, tag: TagToSet | None) -> Outcome:
    if isinstance(failure, CommitUnknown):
        # It may still land: nothing is cleaned, and the next run settles it by reading.
        return _outcome(run, Status.UNKNOWN, failure.message, after)
    # A process that is gone commits nothing more; its tag is not worth a new one.
    note = "" if isinstance(failure, EngineDied) else _drop_tag(run, tag)
    return _outcome(run, Status.FAILED, failure.message + note, after)


def _taken_back(run: _Run, problem: str, after: TableFacts) -> Outcome:
    """Roll back what must not stay, but only while nobody has committed on top of it."""
    run.held.require()
    if run.operation.undo_window_seconds is None:
        return _outcome(run, Status.FAILED, problem, after)
    note = take_back(run.services, run.job_id, after)
    after = run.services.surveyor.survey(run.before.table)
    return _outcome(run, Status.FAILED, f"{problem} {note}", after)


def _outcome(run: _Run, status: Status, reason: str, after: TableFacts) -> Outcome:
    before = run.before
    return Outcome(
        job_id=run.job_id,
        table=before.table,
        operation=str(run.operation.operation),
        status=status,
        reason=reason,
        started_at=run.started_at,
        finished_at=run.services.clock(),
        stats=CompactionStats(
            files_before=len(before.data_files),
            files_after=len(after.data_files),
            bytes_before=before.total_bytes,
            bytes_after=after.total_bytes,
            bytes_saved=before.total_bytes - after.total_bytes,
            snapshots_expired=max(0, len(before.snapshots) - len(after.snapshots)),
        ),
        snapshot_before=before.snapshot_id,
        snapshot_after=after.snapshot_id,
        snapshots_before=len(before.snapshots),
        snapshots_after=len(after.snapshots),
        figures_before=run.operation.figures(before),
        figures_after=run.operation.figures(after),
    )
