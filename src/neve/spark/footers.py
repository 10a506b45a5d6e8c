"""One Spark stage that opens files and compares them with what manifests say. It only reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice

from pyspark.sql import SparkSession

from neve.model.integrity import FileClaim, FooterProblem, FooterReport, KnownColumns
from neve.spark.errors import engine_errors
from neve.spark.opened_file import Unopened, look
from neve.storage.access import Storage

FILES_PER_TASK = 200
MAX_TASKS = 2_000
#: Requests of one task to a store; on a disk one after the other is as fast.
AT_ONCE_IN_STORE = 8
#: Troubles of one kind that are told in full; the others are counted.
MAX_TROUBLES = 5_000


def open_files(
    session: SparkSession, claims: Sequence[FileClaim], columns: KnownColumns, storage: Storage
) -> FooterReport:
    """Open every file once. Only counts and problems come back."""
    if not claims:
        return FooterReport()
    context = session.sparkContext
    tasks = stage_width(len(claims), context.defaultParallelism)
    work = partial(
        _look_at, columns=columns, storage=storage, at_most=max(10, MAX_TROUBLES // tasks)
    )
    with engine_errors("Opening files"):
        return _merged(context.parallelize(claims, tasks).mapPartitions(work).collect())


def stage_width(files: int, parallelism: int) -> int:
    """How many tasks open so many files."""
    return max(min(MAX_TASKS, -(-files // FILES_PER_TASK)), min(files, parallelism))


def _look_at(
    claims: Iterable[FileClaim], columns: KnownColumns, storage: Storage, at_most: int
) -> Iterator[FooterReport]:
    opened = 0
    unopened: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    problems: list[FooterProblem] = []
    for seen in _results(claims, partial(_try, columns=columns, storage=storage)):
        if isinstance(seen, Unopened):
            unopened[str(seen)] += 1
            continue
        opened += 1
        for problem in seen:
            counts[problem.code] += 1
            if counts[problem.code] <= at_most:
                problems.append(problem)
    yield FooterReport(opened, dict(unopened), dict(counts), tuple(problems))


def _results(
    claims: Iterable[FileClaim], work: partial[list[FooterProblem] | Unopened]
) -> Iterator[list[FooterProblem] | Unopened]:
    """Some at a time, so that memory does not grow with the files of a task."""
    left = iter(claims)
    with ThreadPoolExecutor(AT_ONCE_IN_STORE, "doctor") as pool:
        while some := list(islice(left, AT_ONCE_IN_STORE * 4)):
            yield from pool.map(work, some)


def _try(
    claim: FileClaim, columns: KnownColumns, storage: Storage
) -> list[FooterProblem] | Unopened:
    try:
        return look(claim, columns, storage)
    except Unopened as reason:
        return reason


def _merged(reports: Sequence[FooterReport]) -> FooterReport:
    unopened: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for report in reports:
        unopened.update(report.unopened)
        counts.update(report.counts)
    return FooterReport(
        opened=sum(report.opened for report in reports),
        unopened=dict(unopened),
        counts=dict(counts),
        problems=tuple(problem for report in reports for problem in report.problems),
    )
