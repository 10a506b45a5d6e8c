"""The end of every job is a row of the audit log: who, what, its plan, its files, the outcome."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.errors import InputError, StoreError
from neve.model.job import JobRequest
from neve.model.operation import Operation
from neve.service.auditing import AuditTrail, Evidence
from neve.service.run_job import run, run_job, submit
from neve.testing.facts import TABLE

pytestmark = pytest.mark.promise(57)
ASKED = JobRequest(TABLE, str(Operation.REWRITE_DATA_FILES), requested_by="ann", tenant="acme")


@pytest.fixture
def audited(services, store):
    return replace(services, auditor=AuditTrail(store.audit).record)


def entries(store):
    return [row.entry for row in store.audit.rows()]


def test_a_rewrite_leaves_digests_of_its_plan_and_files(audited, store, plan):
    made = plan()
    outcome = audited.apply(made)
    (entry,) = entries(store)
    files = Evidence()
    files.files(file.path for group in made.steps[0].groups for file in group.files)
    told = (entry.action, entry.outcome, entry.table, entry.job_id)
    assert told == ("job rewrite_data_files", "succeeded", str(TABLE), outcome.job_id)
    assert entry.plan_digest != ""
    assert entry.files_digest == files.files_digest
    assert entry.detail == outcome.reason


def test_who_asked_is_told_and_jobs_do_not_mix_their_files(audited, store):
    submit(audited, ASKED)
    run_job(audited, store.claim_next(60))
    run(audited, replace(ASKED, operation=str(Operation.REMOVE_DANGLING_DELETES)))
    first, second = entries(store)
    assert (first.who, first.tenant) == ("ann", "acme")
    assert first.files_digest != ""
    assert second.files_digest == ""


def test_a_job_that_fails_is_told_once(audited, store):
    with pytest.raises(InputError):
        run_job(audited, store.begin("j1", replace(ASKED, operation="no_such_thing"), 60))
    (entry,) = entries(store)
    assert (entry.outcome, entry.job_id) == ("failed", "j1")
    assert "no_such_thing" in entry.detail


def test_trouble_with_the_log_changes_no_end_of_a_job(services, store, plan):
    told = []

    def fail(entry):
        raise StoreError("The disk is full.")

    outcome = replace(services, auditor=fail, warn=told.append).apply(plan())
    assert outcome.status.is_good
    assert told == [f"The end of job {outcome.job_id} is not in the audit log: The disk is full."]
