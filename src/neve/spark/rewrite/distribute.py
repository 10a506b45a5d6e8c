"""One Spark stage, one task for each file group."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from zipimport import zipimporter

from pyspark import Accumulator, TaskContext
from pyspark.sql import SparkSession

from neve.model.rewrite import RewriteTask, SpliceRequirements, TaskResult
from neve.spark.errors import engine_errors
from neve.spark.rewrite.task import run_task, writer_of
from neve.storage.access import Storage


def run_tasks(
    session: SparkSession,
    tasks: Sequence[RewriteTask],
    wanted: SpliceRequirements,
    storage: Storage,
    written: Accumulator[int],
) -> list[TaskResult]:
    """Write all files. A retried or speculative attempt writes a name of its own.

    Tasks add the bytes that they have written as they end.
    """
    context = session.sparkContext
    with engine_errors("Rewriting file groups"):
        results = (
            context.parallelize(tasks, max(1, len(tasks)))
            .map(partial(_run_attempt, wanted=wanted, storage=storage, written=written))
            .collect()
        )
        if context.getConf().get("spark.speculation", "false") == "true":
            return [_with_rivals(*each) for each in zip(results, tasks, strict=True)]
        return results


def _with_rivals(result: TaskResult, task: RewriteTask) -> TaskResult:
    """A copy of the task that began later may have been ended in the middle of a file."""
    return replace(result, leftovers=(*result.leftovers, *task.names_after(result.attempt)))


def _run_attempt(
    task: RewriteTask, wanted: SpliceRequirements, storage: Storage, written: Accumulator[int]
) -> TaskResult:
    settle_imports(task)
    context = TaskContext.get()
    attempt = context.attemptNumber() if context is not None else 0
    result = run_task(task, wanted, storage, attempt)
    written.add(sum(size for file in result.files for size in file.segments.values()))
    forget_archives()
    return result


_settled: list[bool] = []


def settle_imports(task: RewriteTask) -> None:
    """Take what was imported out of the sight of the collector, once for a worker.

    Spark collects garbage after each task, and would look through all modules each time: 30
    CPU-milliseconds, as much as ten small files take.
    """
    if _settled:
        return
    for engine in task.ladder:
        writer_of(engine)
    gc.collect()
    gc.freeze()
    _settled.append(True)


def forget_archives() -> None:
    """Let the next task of this worker begin at once: Spark makes it read its archives anew.

    A worker drops what it knows of its path before every task, and for each archive there, Spark's
    own jar among them, Python then reads the whole list of entries: a quarter of a CPU-second.
    What is imported later finds its archive again.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
