"""What a job says while it works is kept in the store, without writing a row for every task."""

from __future__ import annotations

import pytest
from tests.unit.service.test_worker import work

from neve.model.errors import StoreError
from neve.model.job import JobRequest, JobState, Lease, Progress
from neve.model.outcome import Status
from neve.service.lease import HeldLease
from neve.service.reporting import JobReporter
from neve.service.run_job import submit
from neve.testing.facts import TABLE
from neve.testing.lake import SilentReporter
from neve.testing.services import ManualClock

pytestmark = pytest.mark.promise(42)


def test_a_compaction_tells_how_much_there_is_to_do_before_it_does_it(services, store, lake):
    job = submit(services, JobRequest(TABLE, "rewrite_data_files"))
    work(services)

    told = [event.progress for event in store.events_after(job.job_id) if event.progress]
    last = told[-1]
    assert told[0] == Progress(partitions_total=last.partitions_total, bytes_total=last.bytes_total)
    assert last.partitions_total > 0


def test_a_compaction_tells_what_it_has_done(services, store, lake):
    files = lake.facts.data_files
    job = submit(services, JobRequest(TABLE, "rewrite_data_files"))
    assert job.estimated_seconds > 0

    outcome = work(services)

    progress = store.job(job.job_id).progress
    assert outcome.status is Status.SUCCEEDED
    assert progress.partitions_completed == progress.partitions_total > 0
    assert progress.files_processed == outcome.stats.files_compacted <= len(files)
    assert progress.bytes_read == outcome.bytes_rewritten == progress.bytes_total
    assert progress.bytes_written > 0
    told = [event.phase for event in store.events_after(job.job_id)]
    assert list(dict.fromkeys(told)) == [
        JobState.QUEUED,
        JobState.PLANNING,
        JobState.REWRITING,
        JobState.COMMITTING,
        JobState.VERIFYING,
        JobState.SUCCEEDED,
    ]


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def reporter(store, clock):
    lease = Lease("j1", TABLE, 1, clock())
    held = HeldLease(store, lease, 60)
    return JobReporter(
        SilentReporter(), lambda event: None, store, lease, "x", held, clock, clock()
    )


def test_progress_is_kept_once_a_second(reporter, store, clock):
    for done in range(100):
        reporter.progress(done, 100)
        clock.advance(0.1)

    kept = [event.progress.tasks_done for event in store.events_after("j1")]
    assert kept == list(range(0, 100, 10))


def test_a_long_job_is_kept_more_rarely(reporter, store, clock):
    for _ in range(20_000):
        clock.advance(1)
        reporter.bytes_progress(1, 2)

    assert 300 < len(store.events_after("j1", limit=50_000)) < 1000


def test_bytes_of_tasks_come_on_top_of_what_was_done(reporter, store, clock):
    reporter.account(Progress(1, 4, 30, 100, 50, 400))
    clock.advance(5)
    reporter.bytes_progress(7, 20)

    assert [e.progress.bytes_written for e in store.events_after("j1")] == [50, 57]


def test_a_store_that_is_away_is_not_in_the_way_of_the_job(reporter, store, monkeypatch):
    def away(*_):
        raise StoreError("away")

    monkeypatch.setattr(store, "append_event", away)
    reporter("a message")
    reporter.account(Progress())

    assert reporter.message == "a message"
