"""Progress of Spark's tasks while the driver waits for an action."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

POLL_SECONDS = 0.5


class Reporter(Protocol):
    """Takes progress."""

    def progress(self, done: int, total: int) -> None: ...


@contextmanager
def report_tasks(session: SparkSession, reporter: Reporter) -> Iterator[None]:
    """Report finished and all tasks of the stages seen, until the block ends."""
    stop = threading.Event()
    tracker = session.sparkContext.statusTracker()

    def poll() -> None:
        # Whoever waits for the action is told that Spark has ended.
        with suppress(Py4JError, OSError):
            watch()

    def watch() -> None:
        seen: dict[int, tuple[int, int]] = {}
        while not stop.wait(POLL_SECONDS):
            for stage_id in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage_id)
                if info is not None:
                    seen[stage_id] = (info.numCompletedTasks, info.numTasks)
            if seen:
                done, total = (sum(column) for column in zip(*seen.values(), strict=True))
                reporter.progress(done, total)

    thread = threading.Thread(target=poll, name="neve-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
