"""Maintain many tables: every operation in its order, every failure where it belongs.

One operation's failure is recorded and the next one runs; one table's failure leaves the others
alone. What there is nothing to do for is not claimed and not run: planning reads metadata only.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import datetime

from neve.model.errors import NeveError
from neve.model.facts import TableFacts
from neve.model.job import JobRequest, Trigger
from neve.model.maintenance import (
    HandOver,
    MaintainRequest,
    OperationReport,
    ReportStatus,
    TableReport,
)
from neve.model.operation import Operation
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.policies import EffectivePolicy
from neve.model.table import TableRef
from neve.planning.schedule import due, in_window
from neve.service.context import Prepared
from neve.service.operations.handler import PlannedHandler
from neve.service.operations.registry import PLANNED
from neve.service.policies import DELETING
from neve.service.recover import settle_unfinished
from neve.service.run_job import run
from neve.service.services import Services

#: After these the table may be another one than was surveyed.
CHANGES = frozenset({ReportStatus.SUCCEEDED, ReportStatus.FAILED, ReportStatus.UNKNOWN})


def maintain_tables(
    services: Services,
    tables: Sequence[TableRef],
    request: MaintainRequest,
    hand_over: HandOver | None = None,
) -> list[TableReport]:
    """Maintain the tables, some of them at the same time, and write one log for all.

    With `hand_over`, jobs are run by whoever that hands them to, and logged there.
    """
    quiet = replace(services, reporter=_Quiet())
    runner = _Runner(quiet, request, hand_over)
    reports: dict[TableRef, TableReport] = {}
    services.reporter(f"Maintaining {len(tables)} tables …")
    with ThreadPoolExecutor(request.parallel_tables, "neve-table") as pool:
        futures = {pool.submit(_maintain_table, runner, t): t for t in tables}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                reports[futures[future]] = _result(future, futures[future])
                services.reporter.progress(done, len(tables))
        except KeyboardInterrupt:
            # The pool waits for its threads, which need to know.
            services.stop.ask()
            raise
    ordered = [reports[table] for table in tables]
    if request.dry_run:
        return ordered
    services.store.record_run([report.table for report in ordered if report.operations])
    return write_log(services, ordered, logged=runner.handed_over)


@dataclass(frozen=True, slots=True)
class _Runner:
    """How what has work is run: here, or by somebody else."""

    services: Services
    request: MaintainRequest
    hand_over: HandOver | None = None
    #: Jobs that somebody else has run.
    handed_over: set[str] = field(default_factory=set)

    def run(self, request: JobRequest, prepared: Prepared) -> Outcome:
        if self.hand_over is None:
            return run(self.services, request, prepared=prepared, log=False)
        outcome = self.hand_over(request)
        self.handed_over.add(outcome.job_id)
        return outcome


def _result(future: Future[TableReport], table: TableRef) -> TableReport:
    """The table's report; a defect that one table brings to light must not end all others."""
    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, Exception):
        raise error
    return TableReport(
        table,
        (),
        problem=f"This is a defect of Neve: {type(error).__name__}: {error}",
        next_step="Please report it with the table's metadata; other tables are not affected.",
    )


def _maintain_table(runner: _Runner, table: TableRef) -> TableReport:
    services, request = runner.services, runner.request
    if services.stop.is_asked:
        return TableReport(table, (), skipped="The run was stopped before its turn.")
    try:
        facts = services.surveyor.survey(table)
        policy = services.policies.effective(facts, request.overrides, apply=request.apply)
        if skipped := not_now(services, policy, request):
            return TableReport(table, (), skipped=skipped)
        if not request.dry_run:
            # Where there is nothing to do, no operation looks after lost jobs.
            settle_unfinished(services, facts)
    except NeveError as error:
        # Its own problem: a catalog, metadata or a policy that cannot be read.
        return TableReport(table, (), problem=error.message, next_step=error.next_step)
    started = time.monotonic()
    reports = []
    for handler in PLANNED:
        report = _one(runner, facts, policy, handler, started)
        reports.append(_with_failure(services, facts, report, request.run_id))
        if report.status in CHANGES:
            try:
                facts = services.surveyor.survey(table)
            except NeveError as error:
                problem = error.message
                return TableReport(
                    table, tuple(reports), problem=problem, next_step=error.next_step
                )
    return TableReport(table, tuple(reports))


def _one(
    runner: _Runner,
    facts: TableFacts,
    policy: EffectivePolicy,
    handler: PlannedHandler,
    started: float,
) -> OperationReport:
    operation = handler.operation
    if not policy.enables(operation):
        return _not_enabled(policy, operation)
    if _is_over(policy, started):
        return OperationReport(operation, ReportStatus.SKIPPED, "The time budget is used up.")
    try:
        return _planned_or_run(runner, facts, policy, handler)
    except NeveError as error:
        return OperationReport(
            operation, ReportStatus.FAILED, error.message, next_step=error.next_step
        )


def _planned_or_run(
    runner: _Runner, facts: TableFacts, policy: EffectivePolicy, handler: PlannedHandler
) -> OperationReport:
    services = runner.services
    started_at, operation = services.clock(), handler.operation
    plan = handler.plan(services, facts, policy)
    if plan.is_empty:
        still = _still(services, facts, operation, Status.NOTHING_TO_DO, plan.reason, started_at)
        outcome = replace(still, run_id=runner.request.run_id)
        return OperationReport(operation, ReportStatus.NOTHING_TO_DO, plan.reason, outcome=outcome)
    if runner.request.dry_run:
        return OperationReport(operation, ReportStatus.PLANNED, plan.reason)
    said = runner.request.arguments
    request = JobRequest(facts.table, handler.name, said, trigger=Trigger.MAINTAIN)
    outcome = runner.run(request, Prepared(plan, facts))
    return OperationReport(
        operation, ReportStatus(outcome.status.value), outcome.reason, outcome=outcome
    )


def not_now(services: Services, policy: EffectivePolicy, request: MaintainRequest) -> str | None:
    """Why the table is left alone as a whole; None where it is not."""
    now = services.clock()
    if not policy.is_enabled:
        source = policy.setting("enabled").source
        return f"Maintenance of this table is turned off ({source})."
    if not request.any_time and not in_window(policy.window, now):
        return "The policy's window is closed now; --now goes on all the same."
    if request.only_due:
        state = services.store.schedule_state(policy.table)
        timing = due(policy, state.last_run if state else None, now)
        if not timing.is_due:
            return "Its schedule has not come yet." if policy.schedule else "It has no schedule."
    return None


def _is_over(policy: EffectivePolicy, started: float) -> bool:
    limit = policy.budget.max_seconds
    return limit is not None and time.monotonic() - started >= limit


def _not_enabled(policy: EffectivePolicy, operation: Operation) -> OperationReport:
    source = policy.setting(f"{operation}.enabled").source
    reason = f"It is not enabled ({source})."
    if operation in DELETING and source == "default":
        reason = "It removes files for good, so it runs where a policy enables it, or with --apply."
    return OperationReport(operation, ReportStatus.SKIPPED, reason)


def _with_failure(
    services: Services, facts: TableFacts, report: OperationReport, run_id: str
) -> OperationReport:
    """A failure that came without an outcome gets one, so that the log shows it, too."""
    if report.status is not ReportStatus.FAILED or report.outcome is not None:
        return report
    now = services.clock()
    outcome = _still(services, facts, report.operation, Status.FAILED, report.reason, now)
    return replace(report, outcome=replace(outcome, run_id=run_id))


def _still(
    services: Services,
    facts: TableFacts,
    operation: Operation,
    status: Status,
    reason: str,
    started_at: datetime,
) -> Outcome:
    files, snapshots = len(facts.data_files), len(facts.snapshots)
    return Outcome(
        job_id=str(uuid.uuid4()),
        table=facts.table,
        operation=str(operation),
        status=status,
        reason=reason,
        started_at=started_at,
        finished_at=services.clock(),
        stats=CompactionStats(
            files_before=files,
            files_after=files,
            bytes_before=facts.total_bytes,
            bytes_after=facts.total_bytes,
        ),
        snapshot_before=facts.snapshot_id,
        snapshot_after=facts.snapshot_id,
        snapshots_before=snapshots,
        snapshots_after=snapshots,
    )


def write_log(
    services: Services, reports: Sequence[TableReport], logged: Collection[str] = ()
) -> list[TableReport]:
    """One commit for each log table; problem with the log is said, not raised.

    Jobs that somebody else has logged are left out.
    """
    services.reporter("Writing the maintenance log …")
    found = [r.outcome for report in reports for r in report.operations if r.outcome]
    outcomes = [outcome for outcome in found if outcome.job_id not in logged]
    problems: dict[tuple[str, tuple[str, ...]], str] = {}
    places = dict.fromkeys((o.table.catalog, o.table.namespace) for o in outcomes)
    for place in places:
        members = [o for o in outcomes if (o.table.catalog, o.table.namespace) == place]
        try:
            services.log.write(members)
        except NeveError as error:
            problems[place] = error.message
    return [
        replace(report, log_problem=problems.get((report.table.catalog, report.table.namespace)))
        for report in reports
    ]


class _Quiet:
    """Many tables at once would talk over each other."""

    def __call__(self, message: str) -> None:
        pass

    def progress(self, done: int, total: int) -> None:
        pass
