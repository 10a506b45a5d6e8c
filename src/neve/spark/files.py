"""Files of a table, deleted in bulk through the table's own FileIO."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.java_lists import java_strings
from neve.spark.tables import iceberg, load_table

#: Paths in one call; object stores take 1,000 a request, and Iceberg cuts them itself.
PATHS_PER_CALL = 10_000


def delete_files(session: SparkSession, table: TableRef, paths: Sequence[str]) -> None:
    """Delete the files. Iceberg only warns of one that stays: the caller looks what is left."""
    io = load_table(session, table).io()
    with engine_errors(f"Deleting files of table {table}"):
        for start in range(0, len(paths), PATHS_PER_CALL):
            batch = java_strings(session, paths[start : start + PATHS_PER_CALL])
            iceberg(session).CatalogUtil.deleteFiles(io, batch, "unreachable", True)
