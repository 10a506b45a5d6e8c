"""Iceberg's Java table in the driver's JVM: snapshots, tags, rollback."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from neve.model.table import TableRef
from neve.spark.errors import engine_errors


def iceberg(session: SparkSession) -> Any:
    """The package `org.apache.iceberg` in the JVM."""
    jvm: Any = session._jvm
    return jvm.org.apache.iceberg


def spark_name(table: TableRef) -> str:
    """The name with every part quoted: Spark takes fewer bare names than people write."""
    return quoted_name((table.catalog, *table.namespace, table.name))


def quoted_name(parts: Iterable[str]) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def load_table(session: SparkSession, table: TableRef) -> Any:
    """The Java table, as it is now."""
    with engine_errors(f"Loading table {table}"):
        loaded = iceberg(session).spark.Spark3Util.loadIcebergTable(
            session._jsparkSession, spark_name(table)
        )
        loaded.refresh()
        return loaded


def create_tag(
    session: SparkSession, table: TableRef, snapshot_id: int, name: str, max_age_ms: int
) -> None:
    """Keep a snapshot under a name until the tag's age is over."""
    with engine_errors(f"Tagging snapshot {snapshot_id} of table {table}"):
        (
            load_table(session, table)
            .manageSnapshots()
            .createTag(name, snapshot_id)
            .setMaxRefAgeMs(name, max_age_ms)
            .commit()
        )


def remove_tag(session: SparkSession, table: TableRef, name: str) -> None:
    with engine_errors(f"Removing tag {name} of table {table}"):
        load_table(session, table).manageSnapshots().removeTag(name).commit()


def roll_back(session: SparkSession, table: TableRef, snapshot_id: int) -> None:
    """Make another snapshot current: an ancestor, or one ahead that a rollback had left."""
    with engine_errors(f"Rolling back table {table}"):
        loaded = load_table(session, table)
        ancestors = iceberg(session).util.SnapshotUtil.currentAncestorIds(loaded)
        manage = loaded.manageSnapshots()
        if ancestors.contains(snapshot_id):
            # Iceberg checks the ancestry once more when it commits.
            manage.rollbackTo(snapshot_id).commit()
        else:
            manage.setCurrentSnapshot(snapshot_id).commit()
