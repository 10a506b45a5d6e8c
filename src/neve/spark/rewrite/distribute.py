"""One Spark stage, one task for each output file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyspark import TaskContext
from pyspark.sql import SparkSession

from neve.model.rewrite import SpliceOrder, SpliceReport, SpliceRequirements
from neve.spark.errors import engine_errors
from neve.spark.rewrite.task import run_order
from neve.storage.access import Storage


def splice_files(
    session: SparkSession,
    orders: Sequence[SpliceOrder],
    wanted: SpliceRequirements,
    storage: Storage,
) -> list[SpliceReport]:
    """Write all files. A retried or speculative attempt writes a name of its own."""
    context = session.sparkContext
    with engine_errors("Copying row groups"):
        return (
            context.parallelize(orders, max(1, len(orders)))
            .map(partial(_run_attempt, wanted=wanted, storage=storage))
            .collect()
        )


def _run_attempt(order: SpliceOrder, wanted: SpliceRequirements, storage: Storage) -> SpliceReport:
    context = TaskContext.get()
    attempt = context.attemptNumber() if context is not None else 0
    return run_order(order, wanted, storage, attempt)
