"""How manifests are rewritten: Iceberg's own action, one commit."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from neve.model.steps import RewriteManifests
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.java_lists import java_strings
from neve.spark.tables import actions, load_table, with_properties


def rewrite_manifests(
    session: SparkSession, table: TableRef, step: RewriteManifests, properties: Mapping[str, str]
) -> None:
    loaded = load_table(session, table)
    with engine_errors(f"Rewriting manifests of table {table}"):
        action = actions(session).rewriteManifests(loaded).specId(step.spec_id)
        action = action.option("use-caching", str(step.use_caching).lower())
        if step.sort_by:
            action = action.sortBy(java_strings(session, step.sort_by))
        with_properties(action, properties).execute()
