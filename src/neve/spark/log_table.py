"""The maintenance log written by Spark: for a log of a format that pyiceberg does not write."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.planning.maintenance_log import JOB_COLUMN, LOG_COLUMNS, by_log, log_row
from neve.spark.errors import engine_errors
from neve.spark.tables import spark_name

#: Types whose names are others in Spark than in Iceberg.
SPARK_TYPES = {"timestamp": "timestamp_ntz"}
LOG_SCHEMA = ", ".join(
    f"{name} {SPARK_TYPES.get(kind, kind)}" for name, kind in LOG_COLUMNS.items()
)


def append_log(session: SparkSession, outcomes: Sequence[Outcome]) -> list[TableRef]:
    """Append a row about each outcome, one commit for each log; the logs are there."""
    logs = by_log(outcomes)
    for log, members in logs.items():
        with engine_errors(f"Writing to {log}"):
            if JOB_COLUMN not in session.table(spark_name(log)).columns:
                session.sql(f"ALTER TABLE {spark_name(log)} ADD COLUMN {JOB_COLUMN} STRING")
            rows = [tuple(log_row(outcome).values()) for outcome in members]
            frame = session.createDataFrame(rows, LOG_SCHEMA).coalesce(1)
            frame.writeTo(spark_name(log)).append()
    return list(logs)
