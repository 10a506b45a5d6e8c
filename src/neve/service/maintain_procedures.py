"""Maintain many tables with an engine that runs operations whole: `neve maintain` on Trino.

One operation's failure is recorded and the next one runs; one table's failure leaves the others
alone. Tables are taken one after the other, because all share one session of the engine.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from neve.model.errors import NeveError
from neve.model.job import ENGINE, RUN_ID, TRINO, JobRequest, Trigger
from neve.model.maintenance import OperationReport, ReportStatus, TableReport
from neve.model.operation import Operation
from neve.model.outcome import Status
from neve.model.table import TableRef
from neve.service.context import uncounted
from neve.service.maintain import write_log
from neve.service.run_job import run
from neve.service.services import Services


def maintain_by_procedures(
    services: Services, tables: Sequence[TableRef], *, dry_run: bool, run_id: str = ""
) -> list[TableReport]:
    """Every operation on every table, each as a job; the log is written table by table."""
    reports: list[TableReport] = []
    for done, table in enumerate(tables):
        services.reporter(f"Maintaining {table} …")
        services.reporter.progress(done, len(tables))
        if services.stop.is_asked:
            reports.append(TableReport(table, (), skipped="The run was stopped before its turn."))
        elif dry_run:
            reports.append(_planned(services, table))
        else:
            operations = services.procedures.operations
            done_here = tuple(_run(services, table, name, run_id) for name in operations)
            services.store.record_run([table])
            reports += write_log(services, [TableReport(table, done_here)])
    return reports


def _planned(services: Services, table: TableRef) -> TableReport:
    try:
        planned = services.procedures.plan(table)
    except NeveError as error:
        # Its own problem: the other tables are looked at.
        return TableReport(table, (), problem=error.message, next_step=error.next_step)
    return TableReport(
        table,
        tuple(
            OperationReport(operation, ReportStatus.PLANNED, reason)
            for operation, reason in planned.items()
        ),
    )


def _run(services: Services, table: TableRef, operation: Operation, run_id: str) -> OperationReport:
    said = {ENGINE: TRINO, **({RUN_ID: run_id} if run_id else {})}
    request = JobRequest(table, operation.value, said, trigger=Trigger.MAINTAIN)
    started_at = services.clock()
    try:
        outcome = run(services, request, log=False)
    except NeveError as error:
        # Another Neve holds the table, or the state cannot be written: the log shows it, too.
        outcome = uncounted(
            str(uuid.uuid4()),
            request,
            Status.FAILED,
            error.message,
            started_at=started_at,
            finished_at=services.clock(),
        )
        return OperationReport(
            operation, ReportStatus.FAILED, error.message, error.next_step, outcome
        )
    return OperationReport(
        operation, ReportStatus(outcome.status.value), outcome.reason, outcome=outcome
    )
