"""How column statistics are computed: Iceberg's own action. It makes no snapshot."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from neve.model.steps import ComputeTableStats
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.java_lists import java_string_array
from neve.spark.retries import despite_writers
from neve.spark.tables import actions, load_table


def compute_table_stats(
    session: SparkSession, table: TableRef, step: ComputeTableStats, properties: Mapping[str, str]
) -> None:
    def compute() -> None:
        loaded = load_table(session, table)
        with engine_errors(f"Computing statistics of table {table}"):
            action = actions(session).computeTableStats(loaded).snapshot(step.snapshot_id)
            action.columns(java_string_array(session, step.columns)).execute()

    despite_writers(compute)
