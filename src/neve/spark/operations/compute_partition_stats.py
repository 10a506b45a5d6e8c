"""How partition statistics are computed: Iceberg's own action. It makes no snapshot."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from neve.model.steps import ComputePartitionStats
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.retries import despite_writers
from neve.spark.tables import actions, load_table


def compute_partition_stats(
    session: SparkSession,
    table: TableRef,
    step: ComputePartitionStats,
    properties: Mapping[str, str],
) -> None:
    def compute() -> None:
        loaded = load_table(session, table)
        with engine_errors(f"Computing partition statistics of table {table}"):
            actions(session).computePartitionStats(loaded).snapshot(step.snapshot_id).execute()

    despite_writers(compute)
