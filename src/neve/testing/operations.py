"""One operation with arguments of a test's own, run in the frame of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neve.model.job import JobRequest
from neve.model.operation import Operation
from neve.model.orphans import OrphanRules, QuarantineEntry
from neve.model.outcome import Outcome
from neve.model.plan import CompactionPlan, Plan
from neve.model.steps import RemoveOrphanFiles
from neve.model.table import TableRef
from neve.service.context import JobContext
from neve.service.operations.remove_orphan_files import (
    RESTORE,
    chosen_entries,
    quarantined,
    sweep,
)
from neve.service.operations.rewrite_data_files import apply_exactly
from neve.service.operations.rollback import (
    OPERATION,
    RollbackTarget,
    find_target,
    go_back,
    rollback_arguments,
)
from neve.service.operations.table_operation import TableOperation, operate
from neve.service.run_job import run, run_work
from neve.service.services import Services


def plan_operation(services: Services, table: TableRef, operation: TableOperation) -> Plan[Any]:
    """The dry run: survey and plan, nothing else."""
    return operation.plan(services, services.surveyor.survey(table))


def run_operation(
    services: Services,
    table: TableRef,
    operation: TableOperation,
    *,
    planned: Plan[Any] | None = None,
    log: bool = True,
) -> Outcome:
    def work(context: JobContext) -> Outcome:
        before = context.services.surveyor.survey(table)
        return operate(context, operation, before, planned)

    return run_work(services, JobRequest(table, str(operation.operation)), work, log=log)


def apply_plan(services: Services, plan: CompactionPlan, *, log: bool = True) -> Outcome:
    request = JobRequest(plan.table, str(Operation.REWRITE_DATA_FILES))
    return run_work(services, request, lambda context: apply_exactly(context, plan), log=log)


def change_orphans(
    services: Services,
    table: TableRef,
    rules: OrphanRules,
    *,
    quarantine: bool = False,
    purge: bool = False,
    log: bool = True,
) -> Outcome:
    step = RemoveOrphanFiles(quarantine=quarantine, purge=purge)
    request = JobRequest(table, str(Operation.REMOVE_ORPHAN_FILES))
    return run_work(services, request, lambda context: sweep(context, rules, step), log=log)


def sweep_orphans(
    services: Services, table: TableRef, rules: OrphanRules, *, log: bool = True
) -> Outcome:
    return change_orphans(services, table, rules, quarantine=True, purge=True, log=log)


def restore_orphans(
    services: Services, table: TableRef, paths: Sequence[str]
) -> list[QuarantineEntry]:
    chosen = chosen_entries(table, quarantined(services, table), paths)
    run(services, JobRequest(table, str(Operation.REMOVE_ORPHAN_FILES), {RESTORE: list(paths)}))
    return chosen


def roll_back(
    services: Services, table: TableRef, target: RollbackTarget, *, undo_window_seconds: int
) -> Outcome:
    find_target(services.surveyor.survey(table), target)

    def work(context: JobContext) -> Outcome:
        before = context.services.surveyor.survey(table)
        return go_back(context, target, before, undo_window_seconds)

    return run_work(services, JobRequest(table, OPERATION, rollback_arguments(target)), work)
