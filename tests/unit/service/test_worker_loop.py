"""A worker: what it claims, how often it tries, what it leaves alone, and how it ends."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from neve.documents import to_text
from neve.model.errors import (
    CatalogError,
    CommitUnknown,
    ConfigError,
    EngineDied,
    EnvironmentProblem,
    ExecutionError,
    InputError,
    LeaseLost,
    NeveError,
    PlanStale,
    ProofFailed,
    RefLost,
    StoreError,
    TableBusy,
    TableNotFound,
    TableUnreadable,
)
from neve.model.job import ENGINE, TRINO, JobRequest, JobState
from neve.model.table import TableRef
from neve.model.workers import EngineReport, EngineState
from neve.service.again import may_pass
from neve.service.recover import settle_left_behind
from neve.service.run_job import submit
from neve.service.worker import Worker, WorkerSettings
from neve.testing.facts import MB, TABLE, data_file

pytestmark = pytest.mark.promise(44)

WAIT_SECONDS = 20
COMPACT = JobRequest(TABLE, "rewrite_data_files")
OTHER = TableRef("lake", ("db",), "other")


@pytest.fixture
def worker(services):
    return Worker(services, WorkerSettings(failures_before_set_aside=3))


def work(worker):
    """One job, to its end; False where there is none."""
    begun = worker.take()
    assert worker.wait_for_jobs(WAIT_SECONDS)
    return begun


def raises(error):
    def hook(*_args, **_kwargs):
        raise error

    return hook


def test_a_worker_claims_and_runs_what_was_submitted(worker, services, store):
    job = submit(services, COMPACT)

    assert work(worker)
    assert store.job(job.job_id).state is JobState.SUCCEEDED
    assert worker.running == []
    assert not work(worker)


# What is tried again


PASSING = [
    CatalogError("away"),
    EnvironmentProblem("no space"),
    ExecutionError("failed"),
    EngineDied("gone"),
    TableBusy("held"),
    PlanStale("taken"),
    LeaseLost("late"),
]
STAYING = [
    InputError("odd"),
    ConfigError("wrong"),
    TableNotFound("none"),
    TableUnreadable("corrupt"),
    ProofFailed("rows"),
    CommitUnknown("lost"),
    RefLost("ref"),
]


@pytest.mark.parametrize("error", PASSING, ids=lambda e: type(e).__name__)
def test_an_error_that_may_pass_is_tried_again_after_a_while(
    worker, services, store, lake, clock, error
):
    job = submit(services, COMPACT)
    survey, lake.survey = lake.survey, raises(error)

    assert work(worker)

    waiting = store.job(job.job_id)
    assert (waiting.state, waiting.reason, waiting.attempts) == (
        JobState.QUEUED,
        error.message,
        1,
    )
    assert (waiting.not_before - clock()).total_seconds() == 10
    assert not work(worker)
    lake.survey = survey
    clock.advance(10)
    assert work(worker)
    assert store.job(job.job_id).state is JobState.SUCCEEDED


@pytest.mark.parametrize("error", STAYING, ids=lambda e: type(e).__name__)
def test_an_error_that_stays_ends_the_job_with_its_reason(worker, services, store, lake, error):
    job = submit(services, COMPACT)
    lake.survey = raises(error)

    assert work(worker)

    ended = store.job(job.job_id)
    assert (ended.state, ended.reason) == (JobState.FAILED, error.message)
    assert not work(worker)


def test_a_plan_that_came_with_its_job_stays_stale():
    brought = replace(COMPACT, arguments={"plan": {}})

    assert may_pass(PlanStale("moved"), COMPACT)
    assert not may_pass(PlanStale("moved"), brought)


def test_a_job_that_keeps_failing_is_dead_after_its_attempts(worker, services, store, lake, clock):
    job = submit(services, replace(COMPACT, max_attempts=2))
    lake.survey = raises(CatalogError("away"))
    assert work(worker)
    clock.advance(3600)
    assert work(worker)

    dead = store.job(job.job_id)
    assert (dead.state, dead.is_dead, dead.reason, dead.attempts) == (
        JobState.FAILED,
        True,
        "away",
        2,
    )
    assert [j.job_id for j in store.dead_jobs()] == [job.job_id]


def test_an_engine_that_fails_before_a_commit_is_tried_again(worker, services, store, lake, clock):
    job = submit(services, COMPACT)
    lake.before_stage = lake.before_commit = raises(EngineDied("Spark's process has ended."))
    assert work(worker)
    assert store.job(job.job_id).state is JobState.QUEUED
    # The log of the lakehouse shows every attempt.
    assert [outcome.status.value for outcome in lake.log] == ["failed"]

    lake.before_stage = lake.before_commit = lambda: None
    clock.advance(10)
    assert work(worker)
    assert store.job(job.job_id).state is JobState.SUCCEEDED


def test_a_job_whose_work_was_taken_back_is_not_tried_again(worker, services, store, lake):
    """What fails its proof fails it again; the table still lists what was taken back."""
    job = submit(services, COMPACT)
    commit = lake.after_commit

    def break_it():
        lake.facts = replace(lake.facts, data_files=lake.facts.data_files[:-1])
        lake.after_commit = commit

    lake.after_commit = break_it
    assert work(worker)

    assert store.job(job.job_id).state is JobState.FAILED
    assert not store.job(job.job_id).is_dead
    assert not work(worker)


def test_a_commit_of_unknown_end_is_settled_by_the_table_and_not_by_the_worker(
    worker, services, store, lake, clock
):
    job = submit(services, COMPACT)
    lake.after_commit = raises(CommitUnknown("The answer was lost."))
    before = lake.facts.snapshot_id
    assert work(worker)
    assert lake.facts.snapshot_id != before

    worker.settle()
    assert store.job(job.job_id).state is JobState.SUCCEEDED
    lake.append(data_file("late", MB))
    assert not work(worker)


def test_a_rollback_is_not_repeated(worker, store, lake):
    """Who asked for it saw the table as it was then."""
    lake.append(data_file("late", MB))
    store.submit("j1", JobRequest(TABLE, "rollback", {"snapshot_id": 1}))
    lake.metadata.commit = raises(ExecutionError("refused"))
    assert work(worker)

    assert store.job("j1").reason.startswith("refused")
    assert store.job("j1").state is JobState.FAILED


def test_a_defect_is_not_repeated_for_ever(worker, services, store, lake, clock, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    job = submit(services, COMPACT)
    lake.survey, survey = raises(ZeroDivisionError("defect")), lake.survey
    for _ in range(3):
        assert work(worker)
        assert store.job(job.job_id).state is JobState.UNKNOWN
        broken, lake.survey = lake.survey, survey
        worker.settle()
        lake.survey = broken
        clock.advance(3600)

    assert store.job(job.job_id).is_dead


# Tables that keep failing


def test_a_table_that_keeps_failing_is_set_aside_and_put_back_by_hand(
    worker, services, store, lake, clock
):
    lake.survey, survey = raises(CatalogError("away")), lake.survey
    for _ in range(2):
        store.submit(f"j{clock()}", COMPACT)
    store.submit("j2", COMPACT)
    for _ in range(3):
        assert store.set_aside_tables() == []
        assert work(worker)
        clock.advance(20)

    (aside,) = store.set_aside_tables()
    assert (aside.table, aside.failures_in_a_row) == (TABLE, 3)
    assert aside.reason == "3 attempts failed in a row. away"
    clock.advance(3500)
    assert not work(worker)

    lake.survey = survey
    assert store.put_back(TABLE)
    assert work(worker)
    assert store.failures_in_a_row(TABLE) == 0


@pytest.mark.promise(40)
def test_plans_that_are_too_old_do_not_set_their_table_aside(worker, services, store, plan):
    brought = replace(COMPACT, arguments={"plan": json.loads(to_text(plan()))})
    jobs = [submit(services, brought) for _ in range(5)]
    while work(worker):
        pass

    states = [store.job(job.job_id).state for job in jobs]
    assert sorted(states) == [JobState.FAILED] * 4 + [JobState.SUCCEEDED]
    assert store.set_aside_tables() == []
    assert store.failures_in_a_row(TABLE) == 0


def test_a_table_that_is_set_aside_is_tried_once_after_a_while(worker, store, lake, clock):
    lake.survey, survey = raises(CatalogError("away")), lake.survey
    for number in range(6):
        store.submit(f"j{number}", COMPACT)
    for _ in range(3):
        assert work(worker)
    assert not work(worker)

    for _ in range(2):
        clock.advance(3601)
        # One job, and the others wait until the next time.
        assert work(worker)
        assert not work(worker)
        (aside,) = store.set_aside_tables()
        assert aside.retry_at == clock() + timedelta(hours=1)
    lake.survey = survey
    clock.advance(3601)
    assert work(worker)
    assert store.set_aside_tables() == []
    assert work(worker)


def test_a_worker_says_that_it_is_there_and_how_its_engine_is(services, store, clock):
    states = iter([EngineState.STARTING, EngineState.READY])
    worker = Worker(services, engine=lambda: EngineReport("spark", next(states)))
    worker.announce()
    (first,) = store.workers.all()
    worker.announce()
    (second,) = store.workers.all()

    assert (first.engine.state, second.engine.state) == (EngineState.STARTING, EngineState.READY)
    assert first.worker_id == second.worker_id
    clock.advance(11)
    assert store.workers.all() == []


def test_a_worker_that_is_drained_is_not_there_any_more(services, store):
    settings = WorkerSettings(poll_seconds=0.01, announce_seconds=0.01)
    worker = Worker(services, settings)
    thread = threading.Thread(target=worker.run)
    thread.start()
    deadline = time.monotonic() + WAIT_SECONDS
    while not store.workers.all():
        assert time.monotonic() < deadline
    worker.drain(1)
    thread.join()
    while store.workers.all():
        assert time.monotonic() < deadline


# What killed workers leave behind


def left_behind(store, state, request=COMPACT):
    job = store.submit("lost", request)
    lease = store.claim_next(60)
    if state is not JobState.PLANNING:
        store.set_state(lease, state)
    store.release(lease)
    return job


STATES = [JobState.PLANNING, JobState.REWRITING, JobState.COMMITTING, JobState.VERIFYING]


@pytest.mark.parametrize("state", STATES)
def test_a_job_whose_worker_was_killed_is_taken_up_at_once(worker, store, lake, state):
    left_behind(store, state)

    worker.settle()

    job = store.job("lost")
    assert (job.state, job.attempts, job.is_dead) == (JobState.QUEUED, 1, False)
    assert job.reason.startswith("Its worker ended early.")
    assert work(worker)
    assert store.job("lost").state is JobState.SUCCEEDED


def test_the_next_job_of_the_table_takes_up_the_lost_one_as_well(worker, services, store):
    left_behind(store, JobState.REWRITING)
    submit(services, COMPACT)
    assert work(worker)

    assert store.job("lost").state is JobState.QUEUED


def test_a_job_that_kills_every_worker_is_dead(worker, store, clock):
    left_behind(store, JobState.REWRITING)
    for attempt in (2, 3):
        worker.settle()
        assert store.job("lost").state is JobState.QUEUED
        clock.advance(3600)
        lease = store.claim_next(60)
        assert store.job("lost").attempts == attempt
        store.release(lease)
    worker.settle()

    assert store.job("lost").is_dead


def test_a_job_that_was_begun_by_hand_is_not_begun_again(worker, store):
    """Whoever began it was waiting for it, and asks again."""
    lease = store.begin("lost", COMPACT, 60)
    store.set_state(lease, JobState.REWRITING)
    store.release(lease)
    worker.settle()

    assert store.job("lost").state is JobState.FAILED
    assert store.dead_jobs() == []


@pytest.mark.parametrize(
    "request_", [JobRequest(TABLE, "rollback", {"snapshot_id": 1}), JobRequest(OTHER, "compact")]
)
def test_what_means_something_else_later_is_not_taken_up(worker, store, request_):
    left_behind(store, JobState.REWRITING, request_)
    worker.settle()

    assert store.job("lost").state is JobState.FAILED


def test_a_lost_job_that_was_to_be_cancelled_is(worker, store):
    left_behind(store, JobState.REWRITING)
    store.cancel("lost")
    worker.settle()

    assert store.job("lost").state is JobState.CANCELLED


def test_a_lost_job_on_trino_is_not_taken_up(worker, store):
    left_behind(store, JobState.REWRITING, replace(COMPACT, arguments={ENGINE: TRINO}))
    worker.settle()

    assert store.job("lost").state is JobState.FAILED


def test_a_table_that_cannot_be_read_is_asked_again_later(services, store, lake):
    asked = []
    now = [0.0]
    worker = Worker(services, monotonic=lambda: now[0])
    left_behind(store, JobState.REWRITING)

    def away(*_, **__):
        asked.append(1)
        raise CatalogError("away")

    survey, lake.survey = lake.survey, away
    assert [job.job_id for job in worker.settle()] == ["lost"]
    worker.settle()
    assert len(asked) == 1
    now[0] += 31
    lake.survey = survey
    assert worker.settle() == []
    assert store.job("lost").state is JobState.QUEUED


def test_settling_without_an_error_leaves_running_jobs_alone(worker, store):
    store.submit("j1", COMPACT)
    store.claim_next(60)
    worker.settle()

    assert store.job("j1").state is JobState.PLANNING
    assert settle_left_behind(worker._services, TABLE) == []


# The end of a worker


class Gate:
    """Stops a job in the middle of its work, until it is let go."""

    def __init__(self):
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self):
        self.reached.set()
        assert self.open.wait(WAIT_SECONDS)


@pytest.fixture
def gate(lake):
    gate, run_tasks = Gate(), lake.run_tasks

    def wait(*rest):
        gate()
        return run_tasks(*rest)

    lake.run_tasks = wait
    yield gate
    gate.open.set()


def test_a_drained_worker_lets_jobs_end_and_claims_nothing_more(worker, services, store, gate):
    first = submit(services, COMPACT)
    store.submit("next", replace(COMPACT, table=OTHER))
    assert worker.take()
    assert gate.reached.wait(WAIT_SECONDS)
    threading.Timer(0.05, gate.open.set).start()

    assert worker.drain(WAIT_SECONDS)

    assert store.job(first.job_id).state is JobState.SUCCEEDED
    assert not worker.take()
    assert store.job("next").state is JobState.QUEUED


def test_what_takes_longer_than_the_grace_time_is_handed_back(worker, services, store, lake, gate):
    job = submit(services, COMPACT)
    files = lake.facts.data_files
    assert worker.take()
    assert gate.reached.wait(WAIT_SECONDS)
    threading.Timer(0.1, gate.open.set).start()

    assert worker.drain(0.0, WAIT_SECONDS)

    handed = store.job(job.job_id)
    assert (handed.state, handed.attempts, handed.is_dead) == (JobState.QUEUED, 0, False)
    assert handed.reason.startswith("Its worker was stopped")
    assert lake.facts.data_files == files
    # Nobody's lakehouse needs to know of it.
    assert lake.log == []
    another = Worker(replace(services, stop=type(services.stop)()))
    assert work(another)
    assert store.job(job.job_id).state is JobState.SUCCEEDED


def test_a_job_that_somebody_cancels_ends_instead_of_being_handed_back(
    worker, services, store, gate
):
    job = submit(services, COMPACT)
    assert worker.take()
    assert gate.reached.wait(WAIT_SECONDS)
    store.cancel(job.job_id)
    gate.open.set()

    assert worker.drain(0.0, WAIT_SECONDS)
    assert store.job(job.job_id).state is JobState.CANCELLED


def test_a_job_that_does_not_stop_in_time_is_told(worker, services, gate):
    submit(services, COMPACT)
    assert worker.take()
    assert gate.reached.wait(WAIT_SECONDS)

    assert not worker.drain(0.0, 0.01)
    gate.open.set()
    assert worker.wait_for_jobs(WAIT_SECONDS)


def test_a_running_loop_works_until_it_is_drained(services, store):
    worker = Worker(services, WorkerSettings(poll_seconds=0.01, settle_seconds=0.01))
    loop = threading.Thread(target=worker.run)
    loop.start()
    job = submit(services, COMPACT)
    heard = threading.Event()
    while not store.job(job.job_id).state.is_final and loop.is_alive():
        heard.wait(0.005)
    assert worker.drain(WAIT_SECONDS)
    loop.join(WAIT_SECONDS)

    assert not loop.is_alive()
    assert store.job(job.job_id).state is JobState.SUCCEEDED


def test_a_store_that_is_away_does_not_end_the_worker(services, store, monkeypatch):
    told = []
    worker = Worker(services, say=told.append)
    monkeypatch.setattr(store, "claim_next", raises(StoreError("away")))

    assert not worker.take()
    assert told == ["away"]


def test_no_more_jobs_run_at_once_than_are_wanted(services, store, gate):
    worker = Worker(services, WorkerSettings(concurrency=2))
    submit(services, COMPACT)
    for name in ("a", "b"):
        store.submit(name, JobRequest(TableRef("lake", ("db",), name), "rewrite_data_files"))
    assert worker.take()
    assert gate.reached.wait(WAIT_SECONDS)
    begun = [worker.take() for _ in range(5)]
    # Jobs of tables that do not exist end at once, and their place is free again.
    gate.open.set()
    assert worker.wait_for_jobs(WAIT_SECONDS)
    assert any(begun)
    while worker.take():
        assert worker.wait_for_jobs(WAIT_SECONDS)
    assert {job.state for job in store.jobs()} == {JobState.SUCCEEDED, JobState.FAILED}


def test_jobs_for_trino_go_to_trino(services, store):
    asked = []

    def services_for(request):
        asked.append(request.operation)
        return services

    worker = Worker(services, services_for=services_for)
    store.submit("j1", replace(COMPACT, arguments={ENGINE: TRINO}))
    store.submit("j2", replace(COMPACT, table=OTHER))
    for _ in range(2):
        assert work(worker)

    assert asked == ["rewrite_data_files"]
    assert "Trino" in store.job("j1").reason


def test_errors_of_jobs_are_told_to_who_watches(services, store, lake):
    told = []
    lake.survey = raises(NeveError("odd"))
    worker = Worker(services, say=told.append)
    store.submit("j1", COMPACT)
    assert work(worker)

    assert told == ["Job j1: odd"]
