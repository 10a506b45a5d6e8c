"""Which rows of data files a reader of a snapshot sees, deletes applied."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame

from neve.model.facts import FIRST_WITH_ROW_IDS
from neve.model.table import TableRef
from neve.spark.staged_reads import read_staged, staged, tasks_of
from neve.spark.tables import load_table, spark_name


def of_live_rows(
    session: SparkSession,
    table: TableRef,
    snapshot_id: int,
    paths: Collection[str],
    *,
    with_checksum: bool,
) -> list[Row]:
    """How many rows each file has, with a checksum of their positions where it is asked for."""
    wanted = session.createDataFrame([(path,) for path in paths], "path string")
    counts = [F.count("*").alias("rows")]
    if with_checksum:
        counts.append(F.bit_xor(F.xxhash64("position")).alias("checksum"))
    with _rows(session, table, snapshot_id, paths) as rows:
        return (
            rows.select(F.col("_file").alias("path"), F.col("_pos").alias("position"))
            .join(F.broadcast(wanted), on="path", how="left_semi")
            .groupBy("path")
            .agg(*counts)
            .collect()
        )


@contextmanager
def _rows(
    session: SparkSession, table: TableRef, snapshot_id: int, paths: Collection[str]
) -> Iterator[DataFrame]:
    """At least the rows of these files."""
    loaded = load_table(session, table)
    tasks = tasks_of(session, loaded, snapshot_id, paths)
    # No task at all cannot be staged.
    if tasks.isEmpty() or not _reads_alike(loaded, snapshot_id):
        whole: Any = session.read.option("versionAsOf", str(snapshot_id)).table(spark_name(table))
        yield whole
        return
    with staged(session, loaded, tasks) as set_id:
        java_session: Any = session._jsparkSession
        yield DataFrame(read_staged(java_session, set_id), session)


def _reads_alike(loaded: Any, snapshot_id: int) -> bool:
    """Whether its files are read alone as they are with the whole snapshot.

    Files that are read alone are read by the table's current schema, which may lack a column that
    an equality delete compares; and tables with row ids then show no file and no position.
    """
    is_same_schema: bool = loaded.snapshot(snapshot_id).schemaId() == loaded.schema().schemaId()
    version = int(loaded.operations().current().formatVersion())
    return is_same_schema and version < FIRST_WITH_ROW_IDS
