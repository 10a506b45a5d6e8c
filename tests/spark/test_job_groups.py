"""Progress and cancelling are the job's own, whatever else the session is doing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from neve.model.errors import JobCancelled
from neve.model.policy import CompactionPolicy, Strategy
from neve.spark import progress
from neve.spark.engine import BorrowedEngine
from neve.spark.errors import engine_errors
from neve.spark.progress import report_tasks

PATIENCE_SECONDS = 60


class Told:
    """What a job was told of its progress."""

    def __init__(self) -> None:
        self.tasks: list[tuple[int, int]] = []
        self.bytes: list[tuple[int, int]] = []

    def __call__(self, message: str) -> None:
        pass

    def progress(self, done: int, total: int) -> None:
        self.tasks.append((done, total))

    def bytes_progress(self, done: int, total: int) -> None:
        self.bytes.append((done, total))


@pytest.fixture
def engine(spark):
    return BorrowedEngine(spark)


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch):
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def tasks_that_wait(engine, told, gate: Path, tasks: int, job_id: str) -> int:
    """Spark work of a job that ends when the file is there."""

    def wait(number: int) -> int:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not gate.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return number

    with (
        engine.job(job_id),
        engine._working("The work") as session,
        report_tasks(session, told),
        engine_errors("The work"),
    ):
        return session.sparkContext.parallelize(range(tasks), tasks).map(wait).count()


def active_tags(spark, job_id: str) -> list[int]:
    return list(spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(f"neve-{job_id}"))


def test_a_job_is_told_of_its_own_tasks_alone(spark, engine, tmp_path):
    one, other = Told(), Told()
    gate = tmp_path / "gate"
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(tasks_that_wait, engine, one, gate, 3, "job-one")
        second = pool.submit(tasks_that_wait, engine, other, gate, 5, "job-other")
        until(lambda: one.tasks and other.tasks)
        gate.touch()

        assert (first.result(), second.result()) == (3, 5)
    assert {total for _, total in one.tasks} == {3}
    assert {total for _, total in other.tasks} == {5}


def test_what_icebergs_action_runs_in_groups_of_its_own_is_counted(lake, engine):
    table = lake.create()
    lake.fill(table, files=3)
    step = lake.plan(table, Strategy.SORT, by=("id",)).steps[0]
    told = Told()

    with engine.job("sorting"):
        engine.rewrite(table, step, {}, told)

    assert len(lake.paths(table)) == 1
    assert len(active_tags(lake.session, "sorting")) > 0


def test_staged_files_are_written_for_the_job_on_all_threads(lake, engine):
    table = lake.create(by="kind")
    lake.fill(table, files=3)
    lake.app.engine.use(engine)

    outcome = lake.compact(table)

    assert outcome.status == "succeeded"
    assert len(active_tags(lake.session, outcome.job_id)) > 0


def test_a_cancelled_job_ends_and_others_go_on(spark, engine, tmp_path):
    one, other = Told(), Told()
    never, gate = tmp_path / "never", tmp_path / "gate"
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(tasks_that_wait, engine, one, never, 1, "cancelled")
        second = pool.submit(tasks_that_wait, engine, other, gate, 1, "kept")
        until(lambda: one.tasks and other.tasks)
        engine.cancel("cancelled")

        with pytest.raises(JobCancelled, match="The work was cancelled"):
            first.result(PATIENCE_SECONDS)
        gate.touch()
        assert second.result() == 1


def test_what_a_cancelled_job_has_not_begun_does_not_begin(engine):
    with engine.job("late"):
        engine.cancel("late")
        with pytest.raises(JobCancelled):
            _count(engine)


def test_a_commit_of_a_cancelled_job_is_done_to_the_end(lake, engine):
    table = lake.create()
    lake.fill(table, files=3)
    plan = lake.plan(table)
    commit = engine.commit_staged

    def cancel_then_commit(*arguments):
        with engine.job("committing"):
            engine.cancel("committing")
            commit(*arguments)

    engine.commit_staged = cancel_then_commit
    lake.app.engine.use(engine)

    assert lake.app.maintenance.apply(plan).status == "succeeded"


def test_the_look_at_what_a_cancelled_job_did_is_done_to_the_end(lake, engine):
    table = lake.create()
    lake.fill(table, files=3)
    before = lake.head(table)
    with engine.job("looking"):
        assert _count(engine) == 1
        engine.cancel("looking")

        assert sum(engine.live_rows(table, before.snapshot_id, lake.paths(table)).values()) == 30


def test_copied_bytes_are_told(lake):
    table = lake.create()
    lake.fill(table, files=3)
    told = Told()
    engine = BorrowedEngine(lake.session)
    run_tasks = engine.run_tasks
    engine.run_tasks = lambda table, tasks, wanted, reporter: run_tasks(table, tasks, wanted, told)
    lake.app.engine.use(engine)

    policy = CompactionPolicy(128 * 2**20, min_row_group_bytes=1)
    assert lake.compact(table, policy=policy).engines["copy"] == 1
    done, total = told.bytes[-1]
    assert done == total > 0


def _count(engine):
    with engine._working("The work") as session, engine_errors("The work"):
        return session.sparkContext.parallelize(range(1), 1).count()
