"""How position delete files are rewritten: Iceberg's own action, in one commit."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from neve.model.steps import RewritePositionDeleteFiles
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.tables import actions, iceberg, load_table, with_properties


def rewrite_position_delete_files(
    session: SparkSession,
    table: TableRef,
    step: RewritePositionDeleteFiles,
    properties: Mapping[str, str],
) -> None:
    loaded = load_table(session, table)
    with engine_errors(f"Rewriting position delete files of table {table}"):
        parser = iceberg(session).expressions.ExpressionParser
        action = actions(session).rewritePositionDeletes(loaded)
        action = action.filter(parser.fromJson(step.filter, loaded.schema()))
        for name, value in step.options.items():
            action = action.option(name, value)
        with_properties(action, properties).execute()
