"""One Spark stage, one task for each output file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyspark import Accumulator, TaskContext
from pyspark.sql import SparkSession

from neve.model.rewrite import SpliceOrder, SpliceReport, SpliceRequirements
from neve.spark.errors import engine_errors
from neve.spark.rewrite.storage import Storage
from neve.spark.rewrite.task import run_order


def splice_files(
    session: SparkSession,
    orders: Sequence[SpliceOrder],
    wanted: SpliceRequirements,
    storage: Storage,
    copied: Accumulator[int],
) -> list[SpliceReport]:
    """Write all files. A retried or speculative attempt writes a name of its own.

    Tasks add the bytes that they have copied as they end.
    """
    context = session.sparkContext
    with engine_errors("Copying row groups"):
        return (
            context.parallelize(orders, max(1, len(orders)))
            .map(partial(_run_attempt, wanted=wanted, storage=storage, copied=copied))
            .collect()
        )


def _run_attempt(
    order: SpliceOrder, wanted: SpliceRequirements, storage: Storage, copied: Accumulator[int]
) -> SpliceReport:
    context = TaskContext.get()
    attempt = context.attemptNumber() if context is not None else 0
    report = run_order(order, wanted, storage, attempt)
    copied.add(report.copied_bytes)
    return report
