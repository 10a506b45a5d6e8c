"""Jobs as the tests of the queue ask for them."""

from __future__ import annotations

from dataclasses import replace

from neve.model.job import JobRequest
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.testing.facts import NOW


def table(name):
    return TableRef("lake", ("db",), name)


T = table("t")
REQUEST = JobRequest(T, "rewrite_data_files")


def submit(store, job_id, on=None, **changes):
    request = replace(REQUEST, table=table(on or f"of {job_id}"), **changes)
    return store.submit(job_id, request)


def claimed(store, times):
    leases = [store.claim_next(60) for _ in range(times)]
    return [lease and lease.job_id for lease in leases]


def finish(store, lease, status=Status.SUCCEEDED):
    outcome = Outcome(lease.job_id, lease.table, "rewrite_data_files", status, "why", NOW, NOW)
    store.finish(lease, outcome)
    store.release(lease)
