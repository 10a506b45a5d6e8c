"""A row of the audit log for the end of every attempt of a job."""

from __future__ import annotations

from neve.access.chain import AuditEntry
from neve.model.errors import NeveError
from neve.model.job import JobRequest
from neve.model.outcome import Outcome, Status
from neve.service.services import Services


def audit_job(
    services: Services, job_id: str, request: JobRequest, result: Outcome | NeveError
) -> None:
    """What happened has happened: trouble with the log is told, and changes no end of a job."""
    entry = AuditEntry(
        at=services.clock(),
        who=request.requested_by or str(request.trigger),
        action=f"job {request.operation}",
        outcome=str(result.status if isinstance(result, Outcome) else Status.FAILED),
        tenant=request.tenant,
        table=str(request.table),
        job_id=job_id,
        plan_digest=services.evidence.plan_digest,
        files_digest=services.evidence.files_digest,
        detail=result.reason if isinstance(result, Outcome) else result.message,
    )
    try:
        services.auditor(entry)
    except NeveError as error:
        services.warn(f"The end of job {job_id} is not in the audit log: {error.message}")
