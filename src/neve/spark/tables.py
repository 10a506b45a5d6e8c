"""Iceberg's Java table in the driver's JVM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession

from neve.model.table import TableRef
from neve.planning.sql_names import full_name
from neve.spark.errors import engine_errors


def iceberg(session: SparkSession) -> Any:
    """The package `org.apache.iceberg` in the JVM."""
    jvm: Any = session._jvm
    return jvm.org.apache.iceberg


def actions(session: SparkSession) -> Any:
    """Iceberg's own maintenance actions on the session."""
    return iceberg(session).spark.actions.SparkActions.get(session._jsparkSession)


def with_properties(action: Any, properties: Mapping[str, str]) -> Any:
    """The action, told to leave properties on the snapshot that it commits."""
    for name, value in properties.items():
        action = action.snapshotProperty(name, value)
    return action


def activate(session: SparkSession) -> None:
    """Make it the session of this thread."""
    set_active(session, session._jsparkSession)


def set_active(session: SparkSession, java_session: Any) -> None:
    """Make a session in the JVM that of this thread; it may be a clone."""
    jvm: Any = session._jvm
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(java_session)


def spark_name(table: TableRef) -> str:
    """The name with every part quoted: Spark takes fewer bare names than people write."""
    return full_name(table)


def load_table(session: SparkSession, table: TableRef) -> Any:
    """The Java table, as it is now."""
    with engine_errors(f"Loading table {table}"):
        loaded = iceberg(session).spark.Spark3Util.loadIcebergTable(
            session._jsparkSession, spark_name(table)
        )
        loaded.refresh()
        return loaded


def io_properties(session: SparkSession, table: TableRef) -> dict[str, str]:
    """How the table's files are reached, with the credentials that its catalog vends for them."""
    with engine_errors(f"Loading table {table}"):
        loaded = load_table(session, table)
        io, location = loaded.io(), loaded.location()
        properties = dict(io.properties())
        gateway: Any = session.sparkContext._gateway
        if is_instance_of(gateway, io, "org.apache.iceberg.io.SupportsStorageCredentials"):
            vended = [(item.prefix(), dict(item.config())) for item in io.credentials()]
            fitting = [item for item in vended if location.startswith(item[0])]
            # As the specification has it, the longest prefix is the most fitting.
            for _, config in sorted(fitting, key=lambda item: len(item[0])):
                properties |= config
        return properties
