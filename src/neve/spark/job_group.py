"""Which job of Neve's Spark works for, so that progress and cancelling are the job's own.

A group alone does not do: Iceberg's actions put their work into groups of their own. Tags stay.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

#: The job of this thread, and the group that its Spark work belongs to just now.
_job: ContextVar[str | None] = ContextVar("job", default=None)
_group: ContextVar[JobGroup | None] = ContextVar("group", default=None)


@dataclass(frozen=True, slots=True)
class JobGroup:
    """Spark work that is counted together and cancelled together."""

    name: str
    description: str

    @property
    def tag(self) -> str:
        return f"neve-{self.name}"


@contextmanager
def working_for(job_id: str) -> Iterator[None]:
    """What this thread asks of Spark in the block is the job's."""
    before = _job.set(job_id)
    try:
        yield
    finally:
        _job.reset(before)


def current_job() -> str | None:
    return _job.get()


def current_group() -> JobGroup | None:
    return _group.get()


@contextmanager
def spark_work(
    session: SparkSession, description: str, *, is_cancelled_with_job: bool = True
) -> Iterator[JobGroup]:
    """Spark work of this thread's job, or of nobody's.

    What must be done to the end, as a commit and the look at what came of it, is in a group of its
    own that nobody cancels.
    """
    if inner := _group.get():
        yield inner
        return
    job_id = _job.get()
    is_the_jobs = job_id is not None and is_cancelled_with_job
    group = JobGroup(str(job_id) if is_the_jobs else str(uuid.uuid4()), description)
    before = _group.set(group)
    try:
        with _entered(session, group):
            yield group
    finally:
        _group.reset(before)


def for_other_threads(session: SparkSession) -> Callable[[], None]:
    """What a thread that helps this one does first."""
    group = _group.get()

    def join() -> None:
        if group is not None:
            _enter(session, group)

    return join


def cancel_group(session: SparkSession, name: str) -> None:
    """End the group's tasks, and those that it has not begun yet."""
    group = JobGroup(name, "")
    context = session.sparkContext
    context._jsc.sc().cancelJobGroupAndFutureJobs(group.name)
    context.cancelJobsWithTag(group.tag)


@contextmanager
def _entered(session: SparkSession, group: JobGroup) -> Iterator[None]:
    _enter(session, group)
    try:
        yield
    finally:
        # Whoever finds the JVM dead is told so elsewhere.
        with suppress(Py4JError, OSError, AttributeError):
            session.sparkContext.removeJobTag(group.tag)
            session.sparkContext._jsc.clearJobGroup()


def _enter(session: SparkSession, group: JobGroup) -> None:
    """For this thread, whose twin in the JVM keeps it."""
    session.sparkContext.setJobGroup(group.name, group.description, interruptOnCancel=True)
    session.sparkContext.addJobTag(group.tag)
