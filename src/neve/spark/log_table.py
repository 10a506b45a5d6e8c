"""The maintenance log: an Iceberg table beside the tables it speaks of, for any engine to read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.tables import spark_name

LOG_TABLE_NAME = "_maintenance_log"
LOG_SCHEMA = StructType(
    [
        StructField("table_name", StringType()),
        StructField("operation", StringType()),
        StructField("status", StringType()),
        StructField("details", StringType()),
        StructField("snapshots_before", IntegerType()),
        StructField("snapshots_after", IntegerType()),
        StructField("files_before", IntegerType()),
        StructField("files_after", IntegerType()),
        StructField("dag_run_id", StringType()),
        StructField("executed_at", TimestampNTZType()),
    ]
)
#: The log speaks the words that every engine's log speaks.
LOGGED_OPERATIONS = {"rewrite_data_files": "optimize"}


def write_log(session: SparkSession, outcomes: Sequence[Outcome]) -> list[TableRef]:
    """Append a row about each outcome, one commit for each log; a missing log is made."""
    by_log: dict[TableRef, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_log[outcome.table.sibling(LOG_TABLE_NAME)].append(outcome)
    for log, members in by_log.items():
        _append(session, log, [_row(outcome) for outcome in members])
    return list(by_log)


def _row(outcome: Outcome) -> tuple[object, ...]:
    return (
        outcome.table.name,
        LOGGED_OPERATIONS.get(outcome.operation, outcome.operation),
        "completed" if outcome.status.is_good else "failed",
        outcome.reason,
        outcome.snapshots_before,
        outcome.snapshots_after,
        outcome.stats.files_before,
        outcome.stats.files_after,
        outcome.job_id,
        outcome.finished_at.astimezone(UTC).replace(tzinfo=None),
    )


def _append(session: SparkSession, log: TableRef, rows: list[tuple[object, ...]]) -> None:
    name = spark_name(log)
    with engine_errors(f"Writing to {log}"):
        frame = session.createDataFrame(rows, LOG_SCHEMA).coalesce(1)
        try:
            session.table(name).schema  # noqa: B018 - asks the catalog
        except AnalysisException:
            frame.writeTo(name).using("iceberg").create()
        else:
            frame.writeTo(name).append()
