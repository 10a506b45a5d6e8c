"""Expiry and orphans that fail after they began are left to the next turn, and not tried again."""

from __future__ import annotations

import pytest
from tests.unit.service.test_expire import failing_at
from tests.unit.service.test_expire import lake as expiring
from tests.unit.service.test_orphans import RULES
from tests.unit.service.test_orphans import lake as swept

from neve.model.errors import CatalogError, CommitConflict, CommitUnknown, ExecutionError
from neve.model.job import JobRequest, JobState
from neve.service.operations.remove_orphan_files import find_orphans
from neve.service.worker import Worker
from neve.testing.facts import TABLE
from neve.testing.operations import change_orphans
from neve.testing.services import ManualClock, memory_services

__all__ = ["expiring", "swept"]
pytestmark = pytest.mark.promise(44)

DAY = 86400
EXPIRE = JobRequest(TABLE, "expire_snapshots")
PURGE = JobRequest(TABLE, "remove_orphan_files", {"quarantine": False, "purge": True})


def work(services, request):
    """What a worker makes of the request, and whether there is anything left to claim, ever."""
    store, worker = services.store, Worker(services)
    store.submit("j1", request)
    assert worker.take()
    assert worker.wait_for_jobs(20)
    services.clock.advance(DAY)
    return store.job("j1"), store.claim_next(60)


@pytest.mark.parametrize("error", [CommitConflict("lost"), ExecutionError("broken")])
def test_an_expiry_that_failed_is_not_tried_again(expiring, error):
    services = memory_services(expiring, clock=ManualClock())
    expiring.metadata.before_commit = failing_at(1, error)

    job, left = work(services, EXPIRE)

    assert (job.state, job.attempts, left) == (JobState.FAILED, 1, None)
    assert expiring.deleted_paths == []


def test_an_expiry_without_an_answer_is_not_tried_again(expiring):
    services = memory_services(expiring, clock=ManualClock())
    expiring.metadata.before_commit = failing_at(1, CommitUnknown("no answer"))

    job, left = work(services, EXPIRE)

    assert (job.state, job.attempts, left) == (JobState.UNKNOWN, 1, None)
    assert expiring.deleted_paths == []


def test_an_expiry_that_did_not_begin_is_tried_again(expiring):
    services = memory_services(expiring, clock=ManualClock())

    def away(*_, **__):
        raise CatalogError("away")

    expiring.survey = expiring.outline = away
    job, left = work(services, EXPIRE)
    assert (job.state, left.job_id) == (JobState.QUEUED, "j1")


@pytest.mark.parametrize("how", ["cannot be deleted", "the engine fails"])
def test_a_purge_that_failed_is_not_tried_again(swept, how):
    services = memory_services(swept, clock=ManualClock())
    find_orphans(services, TABLE, RULES)
    change_orphans(services, TABLE, RULES, quarantine=True)
    services.clock.advance(30 * DAY)

    def fail():
        raise ExecutionError("The engine failed.")

    if how == "cannot be deleted":
        swept.stubborn.add(swept.orphan)
    else:
        swept.before_delete = fail

    job, left = work(services, PURGE)

    assert (job.state, job.attempts, left) == (JobState.FAILED, 1, None)
    assert swept.orphan in swept.files


def left_behind(services, request, state):
    """A job whose worker was killed in this state, as another worker settles it."""
    store = services.store
    store.submit("j1", request)
    lease = store.claim_next(60)
    store.set_state(lease, state)
    store.release(lease)
    assert Worker(services).settle() == []
    return store.job("j1")


BEGUN = [JobState.REWRITING, JobState.COMMITTING, JobState.VERIFYING, JobState.UNKNOWN]


@pytest.mark.parametrize("request_", [EXPIRE, PURGE], ids=["expire", "purge"])
@pytest.mark.parametrize("state", BEGUN)
def test_what_was_killed_after_it_began_is_not_tried_again(expiring, request_, state):
    services = memory_services(expiring, clock=ManualClock())

    job = left_behind(services, request_, state)

    assert (job.state, job.reason[:14]) == (JobState.FAILED, "It ended early")
    assert services.store.claim_next(60) is None


@pytest.mark.parametrize("request_", [EXPIRE, PURGE], ids=["expire", "purge"])
def test_what_was_killed_before_it_began_is_tried_again(expiring, request_):
    services = memory_services(expiring, clock=ManualClock())

    assert left_behind(services, request_, JobState.PLANNING).state is JobState.QUEUED


@pytest.mark.parametrize("state", BEGUN)
def test_a_compaction_that_was_killed_and_left_nothing_is_tried_again(expiring, state):
    services = memory_services(expiring, clock=ManualClock())

    job = left_behind(services, JobRequest(TABLE, "rewrite_data_files"), state)

    assert job.state is JobState.QUEUED
