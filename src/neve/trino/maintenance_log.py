"""The table that keeps the history of maintenance, itself an Iceberg table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from neve.model.errors import InputError
from neve.planning.maintenance_log import LOG_COLUMNS, LOG_TABLE_NAME
from neve.trino.quoting import quote_table
from neve.trino.tables import DEFAULT_CATALOG, DEFAULT_SCHEMA

#: Iceberg's types in Trino's words.
TRINO_TYPES = {"string": "VARCHAR", "int": "INTEGER", "timestamp": "TIMESTAMP(6)"}


def build_maintenance_log_ddl(
    *, catalog: str = DEFAULT_CATALOG, schema: str = DEFAULT_SCHEMA
) -> str:
    columns = ", ".join(f"{name} {TRINO_TYPES[kind]}" for name, kind in LOG_COLUMNS.items())
    name = quote_table(catalog, schema, LOG_TABLE_NAME)
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}) WITH (format = 'PARQUET')"


def build_maintenance_log_insert(
    table_name: str,
    operation: str,
    status: str,
    details: str,
    snapshots_before: int | None,
    snapshots_after: int | None,
    files_before: int | None,
    files_after: int | None,
    dag_run_id: str,
    executed_at: datetime,
    *,
    catalog: str = DEFAULT_CATALOG,
    schema: str = DEFAULT_SCHEMA,
) -> tuple[str, list[Any]]:
    """The statement for one row, and the parameters to run it with."""
    if executed_at.tzinfo is None:
        raise InputError("The time of an operation must carry its time zone.")
    # The column holds UTC without saying so, and Trino does not convert a zoned value on its own.
    at = executed_at.astimezone(UTC).replace(tzinfo=None)
    # Plain strings: drivers refuse subclasses such as enum members.
    texts = [str(text) for text in (table_name, operation, status, details)]
    counts = [snapshots_before, snapshots_after, files_before, files_after]
    names = ", ".join(LOG_COLUMNS)
    marks = ", ".join("?" for _ in LOG_COLUMNS)
    statement = (
        f"INSERT INTO {quote_table(catalog, schema, LOG_TABLE_NAME)} ({names}) VALUES ({marks})"
    )
    return statement, [*texts, *counts, str(dag_run_id), at]
