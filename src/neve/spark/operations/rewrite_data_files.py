"""How rows are ordered: by Iceberg's own action, in the driver's JVM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from neve.model.policy import Strategy
from neve.model.steps import RewriteDataFiles
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.java_lists import java_string_array
from neve.spark.tables import actions, iceberg, load_table, with_properties

JAVA_LONG_MAX = 2**63 - 1


def rewrite_data_files(
    session: SparkSession, table: TableRef, step: RewriteDataFiles, properties: Mapping[str, str]
) -> None:
    """Run the step and commit it. What came of it is read from the table, not returned."""
    loaded = load_table(session, table)
    with engine_errors(f"Compacting table {table}"):
        action = _with_layout(session, actions(session).rewriteDataFiles(loaded), loaded, step)
        parser = iceberg(session).expressions.ExpressionParser
        action = action.filter(parser.fromJson(step.filter, loaded.schema()))
        for name, value in action_options(step).items():
            action = action.option(name, value)
        with_properties(action, properties).execute()


def action_options(step: RewriteDataFiles) -> dict[str, str]:
    """Options that make Iceberg's planner take all files of the step's partitions."""
    return {
        "target-file-size-bytes": str(step.target_file_size_bytes),
        "min-file-size-bytes": str(step.min_file_size_bytes),
        # A large file is not problem; without this it would be split.
        "max-file-size-bytes": str(JAVA_LONG_MAX),
        "rewrite-all": "true",
        # With the starting sequence number, an equality delete that lands during the rewrite can
        # be dropped although it still applies (apache/iceberg#10312). Without it, it conflicts.
        "use-starting-sequence-number": "false",
        # One commit or none: partial progress hides commits that failed.
        "partial-progress.enabled": "false",
    }


def _with_layout(session: SparkSession, action: Any, loaded: Any, step: RewriteDataFiles) -> Any:
    if step.strategy is Strategy.SORT:
        builder = iceberg(session).SortOrder.builderFor(loaded.schema())
        for column in step.sort_columns:
            builder = builder.asc(column)
        return action.sort(builder.build())
    return action.zOrder(java_string_array(session, step.sort_columns))
