"""Which rows of data files a reader of a snapshot sees, deletes applied."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from neve.model.table import TableRef
from neve.spark.tables import spark_name


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
    return (
        session.read.option("versionAsOf", str(snapshot_id))
        .table(spark_name(table))
        .select(F.col("_file").alias("path"), F.col("_pos").alias("position"))
        .join(F.broadcast(wanted), on="path", how="left_semi")
        .groupBy("path")
        .agg(*counts)
        .collect()
    )
