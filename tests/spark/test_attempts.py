"""A job that is attempted again, after its worker was killed, does not touch the first attempt."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pytest

from neve.model.job import JobRequest
from neve.model.outcome import Status
from neve.service.run_job import run_job, submit
from neve.spark.engine import SparkEngine


class Killed(BaseException):
    """The worker's process ends."""


def work(services):
    return run_job(services, services.store.claim_next(services.lease_seconds))


#: Names of files that are copied are Neve's own, those of others are Iceberg's.
COPIES = {"rewrite_data_files.min_row_group_size": "1B"}


@pytest.mark.conformance("retried and speculative tasks")
@pytest.mark.parametrize("has_committed", [True, False])
@pytest.mark.parametrize("overrides", [COPIES, {"rewrite_data_files.engine": "spark"}])
def test_rows_survive_a_second_attempt(lake, monkeypatch, overrides, has_committed):
    table = lake.create()
    lake.fill(table)
    services = lake.app.maintenance
    job = submit(services, JobRequest(table, "rewrite_data_files", {"overrides": overrides}))

    def die_around(name):
        commit = getattr(SparkEngine, name)

        def dying(self, *arguments):
            if has_committed:
                commit(self, *arguments)
            raise Killed

        return dying

    with monkeypatch.context() as patch:
        for name in ("replace_files", "commit_staged"):
            patch.setattr(SparkEngine, name, die_around(name))
        with pytest.raises(Killed):
            work(services)
    lake.fill(table, start=100)
    rows, then = lake.rows(table), lake.head(table).snapshot_id
    sizes = {file.path: file.size_bytes for file in lake.facts(table).data_files}

    services.store.requeue(services.store.job(job.job_id), "The worker is gone.")
    outcome = work(services)

    assert (outcome.job_id, outcome.status, outcome.proof.holds) == (
        job.job_id,
        Status.SUCCEEDED,
        True,
    )
    assert lake.rows(table) == rows
    # What the first attempt wrote is still what its snapshot says.
    assert lake.rows(table, at=f"VERSION AS OF {then}") == rows
    assert {path: Path(urlparse(path).path).stat().st_size for path in sizes} == sizes
    assert ("copy" in lake.head(table).summary["neve.engine"]) == (overrides is COPIES)
