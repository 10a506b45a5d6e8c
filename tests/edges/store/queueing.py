"""Jobs as the tests of the queue ask for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from neve.model.job import Job, JobRequest, Lease
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.service.store_ports import JobStore
from neve.testing.facts import NOW


def table(name: str) -> TableRef:
    return TableRef("lake", ("db",), name)


T = table("t")
REQUEST = JobRequest(T, "rewrite_data_files")


def submit(store: JobStore, job_id: str, on: str | None = None, **changes: Any) -> Job:
    request = replace(REQUEST, table=table(on or f"of {job_id}"), **changes)
    return store.submit(job_id, request)


def claimed(store: JobStore, times: int) -> list[str | None]:
    leases = [store.claim_next(60) for _ in range(times)]
    return [lease.job_id if lease else None for lease in leases]


def finish(store: JobStore, lease: Lease, status: Status = Status.SUCCEEDED) -> None:
    outcome = Outcome(lease.job_id, lease.table, "rewrite_data_files", status, "why", NOW, NOW)
    store.finish(lease, outcome)
    store.release(lease)
