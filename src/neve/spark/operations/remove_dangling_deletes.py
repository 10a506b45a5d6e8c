"""How dangling delete files are dropped: Iceberg's own action, which looks for them itself."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from neve.model.steps import RemoveDanglingDeletes
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.tables import actions, load_table, with_properties


def remove_dangling_deletes(
    session: SparkSession,
    table: TableRef,
    step: RemoveDanglingDeletes,
    properties: Mapping[str, str],
) -> None:
    loaded = load_table(session, table)
    with engine_errors(f"Removing dangling delete files of table {table}"):
        action = actions(session).removeDanglingDeleteFiles(loaded)
        with_properties(action, properties).execute()
