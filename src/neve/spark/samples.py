"""Sample tables: a stream of events that suffers from small files, and a table of sales."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from neve.model.errors import InputError
from neve.model.table import TableRef
from neve.planning.sql_names import sql_name
from neve.spark.errors import engine_errors
from neve.spark.tables import spark_name

EVENT_TYPES = ("page_view", "click", "purchase", "add_to_cart", "search")
DEVICE_TYPES = ("mobile", "desktop", "tablet")
DEMO_PROPERTY = "neve.demo"

CREATE_NAMESPACE = "CREATE NAMESPACE IF NOT EXISTS IDENTIFIER(:namespace)"
CREATE_EVENTS = """
CREATE TABLE IF NOT EXISTS IDENTIFIER(:table) (
    event_id        STRING    NOT NULL,
    user_id         INT       NOT NULL,
    event_type      STRING    NOT NULL,
    event_timestamp TIMESTAMP NOT NULL,
    event_value     DOUBLE,
    device_type     STRING,
    session_id      STRING
)
USING iceberg
PARTITIONED BY (event_type)
TBLPROPERTIES ('neve.demo' = 'true', 'write.distribution-mode' = 'none')
"""
CREATE_SALES = """
CREATE TABLE IF NOT EXISTS IDENTIFIER(:table) (
    order_id       STRING         NOT NULL,
    customer_id    STRING         NOT NULL,
    amount         DECIMAL(12, 2) NOT NULL,
    country        STRING,
    ingestion_date DATE           NOT NULL
)
USING iceberg
PARTITIONED BY (ingestion_date)
TBLPROPERTIES ('write.format.default' = 'parquet', 'write.parquet.compression-codec' = 'snappy')
"""
DROP_TABLE = "DROP TABLE IF EXISTS IDENTIFIER(:table) PURGE"


@dataclass(frozen=True, slots=True)
class TimedQuery:
    """The median time of a query over several runs, and what it returned."""

    seconds: float
    rows: list[Row]


def create_namespace(session: SparkSession, table: TableRef) -> None:
    name = sql_name(table.catalog, *table.namespace)
    with engine_errors(f"Creating namespace {name}"):
        session.sql(CREATE_NAMESPACE, args={"namespace": name})


def create_sales(session: SparkSession, table: TableRef) -> None:
    """The sales table, partitioned by the day of ingestion; creating it twice is fine."""
    create_namespace(session, table)
    with engine_errors(f"Creating table {table}"):
        session.sql(CREATE_SALES, args={"table": spark_name(table)})


def create_events(session: SparkSession, table: TableRef) -> None:
    """An empty events table. An earlier demo's table is replaced, anybody else's is not."""
    create_namespace(session, table)
    with engine_errors(f"Creating table {table}"):
        if session.catalog.tableExists(spark_name(table)):
            _refuse_foreign(session, table)
            session.sql(DROP_TABLE, args={"table": spark_name(table)})
        session.sql(CREATE_EVENTS, args={"table": spark_name(table)})


def _refuse_foreign(session: SparkSession, table: TableRef) -> None:
    shown = session.sql("SHOW TBLPROPERTIES IDENTIFIER(:table)", args={"table": spark_name(table)})
    if {row["key"]: row["value"] for row in shown.collect()}.get(DEMO_PROPERTY) != "true":
        raise InputError(
            f"Table {table} exists and was not made by the demo, so it is left alone.",
            next_step="Rename it, or run the demo with another catalog by --config.",
        )


def write_batch(
    session: SparkSession,
    table: TableRef,
    batch: int,
    events: int,
    event_types: Sequence[str],
    *,
    digests: bool = False,
) -> None:
    """One micro-batch, as a streaming job would commit it, into every partition.

    With `digests` for ids, files are as large as their events are many.
    """
    frame = _events(session, batch, events, event_types)
    if digests:
        told = F.concat_ws("/", F.lit(batch), F.col("event_id"))
        frame = frame.withColumns({"event_id": F.sha2(told, 256), "session_id": F.md5(told)})
    with engine_errors(f"Writing a micro-batch to {table}"):
        frame.writeTo(spark_name(table)).append()


def _events(
    session: SparkSession, batch: int, events: int, event_types: Sequence[str]
) -> DataFrame:
    """Events that depend on nothing but the batch number, so that every demo tells one story."""
    number = F.col("id")
    types = F.array(*(F.lit(name) for name in event_types))
    devices = F.array(*(F.lit(name) for name in DEVICE_TYPES))
    drawn = session.range(events, numPartitions=1).select(
        number,
        F.pmod(F.xxhash64(F.lit(batch), number, F.lit("user")), F.lit(10_000)).alias("user"),
        F.pmod(F.xxhash64(F.lit(batch), number, F.lit("type")), F.size(types)).alias("type"),
        F.pmod(F.xxhash64(F.lit(batch), number, F.lit("device")), F.size(devices)).alias("device"),
        F.pmod(F.xxhash64(F.lit(batch), number, F.lit("value")), F.lit(100_000)).alias("value"),
    )
    event_type = F.element_at(types, F.col("type").cast("int") + 1)
    return drawn.select(
        F.format_string("evt_%03d_%05d", F.lit(batch), number).alias("event_id"),
        (F.col("user") + 1).cast("int").alias("user_id"),
        event_type.alias("event_type"),
        F.timestamp_seconds(F.lit(1_737_072_000 + batch * 600) + number).alias("event_timestamp"),
        F.when(event_type == "purchase", F.col("value") / 100).alias("event_value"),
        F.element_at(devices, F.col("device").cast("int") + 1).alias("device_type"),
        F.format_string("session_%d", F.pmod(F.col("user"), F.lit(100))).alias("session_id"),
    ).sortWithinPartitions("event_type")


def time_query(session: SparkSession, table: TableRef, event_type: str, runs: int) -> TimedQuery:
    """An aggregate over one partition, timed after a run that warms the caches."""
    query = (
        session.table(spark_name(table))
        .where(F.col("event_type") == event_type)
        .groupBy("event_type")
        .agg(
            F.count(F.lit(1)).alias("event_count"),
            F.count_distinct("user_id").alias("unique_users"),
            F.round(F.avg("event_value"), 6).alias("avg_value"),
        )
    )
    with engine_errors(f"Querying {table}"):
        rows = query.collect()
        seconds = []
        for _ in range(runs):
            started = time.perf_counter()
            # A frame caches its plan; a fresh one plans its files again, as every query does.
            rows = query.select("*").collect()
            seconds.append(time.perf_counter() - started)
    return TimedQuery(median(seconds), rows)


def rewrite_by_iceberg(session: SparkSession, table: TableRef, target_bytes: int) -> None:
    """Iceberg's own procedure, as anybody calls it."""
    procedure = sql_name(table.catalog, "system", "rewrite_data_files")
    with engine_errors(f"Compacting {table} by Iceberg's procedure"):
        session.sql(
            f"CALL {procedure}(table => :table, options => map("
            "'target-file-size-bytes', :target, 'min-input-files', '2'))",
            args={"table": sql_name(*table.namespace, table.name), "target": str(target_bytes)},
        ).collect()


def row_sum(session: SparkSession, table: TableRef) -> tuple[Any, ...]:
    """All rows in two numbers, whatever their order."""
    frame = session.table(spark_name(table))
    hashed = F.xxhash64(*frame.columns).cast("decimal(20, 0)")
    with engine_errors(f"Reading {table}"):
        (row,) = frame.agg(F.count(F.lit(1)), F.sum(hashed)).collect()
    return tuple(row)


def count_rows(session: SparkSession, table: TableRef) -> int:
    with engine_errors(f"Counting rows of {table}"):
        return session.table(spark_name(table)).count()
