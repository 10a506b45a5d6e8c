"""Progress of a job's tasks while the driver waits for an action."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, runtime_checkable

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from neve.spark.job_group import current_group

POLL_SECONDS = 0.5


class Reporter(Protocol):
    """Takes progress."""

    def progress(self, done: int, total: int) -> None: ...


@runtime_checkable
class ByteReporter(Protocol):
    """Takes progress in bytes as well, where tasks tell them."""

    def bytes_progress(self, done: int, total: int) -> None: ...


@contextmanager
def report_tasks(session: SparkSession, reporter: Reporter) -> Iterator[None]:
    """Report finished and all tasks of this thread's group, until the block ends."""
    group = current_group()
    if group is None:
        yield
        return
    tasks = _Tasks(session, group.tag)

    def report() -> None:
        done, total = tasks.count()
        if total:
            reporter.progress(done, total)

    with _repeated(report):
        yield
    with suppress(Py4JError, OSError):
        tasks.count()
    if tasks.failed and callable(reporter):
        reporter(told_of_failures(tasks.failed))


def told_of_failures(number: int) -> str:
    """Tasks that were begun again, whoever wrote their code."""
    tasks = "1 task" if number == 1 else f"{number} tasks"
    return f"{tasks} failed or went with an executor, and Spark began them again."


@contextmanager
def report_bytes(done: Callable[[], int], total: int, reporter: Reporter) -> Iterator[None]:
    """Report the bytes that finished tasks have told, until the block ends."""
    if not isinstance(reporter, ByteReporter) or not total:
        yield
        return
    with _repeated(lambda: reporter.bytes_progress(min(done(), total), total)):
        yield
    reporter.bytes_progress(total, total)


class _Tasks:
    """Tasks of the stages that a tag was seen on."""

    def __init__(self, session: SparkSession, tag: str) -> None:
        java_context: Any = session.sparkContext._jsc
        self._tracker = java_context.sc().statusTracker()
        self._tag = tag
        self._seen: dict[int, tuple[int, int]] = {}
        self._failed: dict[int, int] = {}
        #: Jobs of before have nothing to do with what is reported now.
        self._before = set(self._jobs())

    def count(self) -> tuple[int, int]:
        for job_id in self._jobs():
            if job_id in self._before:
                continue
            job = _value(self._tracker.getJobInfo(job_id))
            for stage_id in job.stageIds() if job is not None else ():
                stage = _value(self._tracker.getStageInfo(stage_id))
                if stage is not None:
                    self._seen[stage_id] = (stage.numCompletedTasks(), stage.numTasks())
                    self._failed[stage_id] = stage.numFailedTasks()
        return (
            sum(done for done, _ in self._seen.values()),
            sum(total for _, total in self._seen.values()),
        )

    @property
    def failed(self) -> int:
        """Attempts that came to nothing, of all stages that were seen."""
        return sum(self._failed.values())

    def _jobs(self) -> list[int]:
        return [int(job_id) for job_id in self._tracker.getJobIdsForTag(self._tag)]


def _value(option: Any) -> Any:
    return option.get() if option.isDefined() else None


@contextmanager
def _repeated(report: Callable[[], None]) -> Iterator[None]:
    stop = threading.Event()

    def poll() -> None:
        # Whoever waits for the action is told that Spark has ended.
        with suppress(Py4JError, OSError):
            while not stop.wait(POLL_SECONDS):
                report()

    thread = threading.Thread(target=poll, name="neve-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
