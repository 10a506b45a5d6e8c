"""Nightly maintenance of every table in a schema, through Trino.

Tables are discovered, and each is maintained by a task of its own: compacted, its snapshots
expired, its orphan files removed. An operation that fails is logged, and the next one runs; a table
that fails leaves the others alone. All is written to `_maintenance_log` with the id of the run.

It needs the connection `trino_default`, and `neve.trino` where tasks run (docs/airflow.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import BaseHook, Param, dag, task
from airflow.sdk.exceptions import AirflowFailException

TRINO_CONNECTION = "trino_default"


@dag(
    dag_id="iceberg_maintenance",
    schedule="0 3 * * *",
    start_date=datetime(2024, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={
        "owner": "data-engineering",
        "retries": 1,
        "retry_delay": timedelta(seconds=60),
    },
    tags=["lakehouse", "iceberg", "maintenance"],
    params={
        "catalog": Param("iceberg", type="string"),
        "schema": Param("lakehouse", type="string"),
        "file_size_threshold": Param("10MB", type="string"),
        "retention": Param("7d", type="string"),
    },
    doc_md=__doc__,
)
def iceberg_maintenance() -> None:
    @task
    def discover_tables(params: dict[str, Any]) -> list[str]:
        """Tables of users: neither views nor what begins with an underscore."""
        from neve.trino import get_user_tables, get_views

        place = {"catalog": params["catalog"], "schema": params["schema"]}
        with trino_cursor(**place) as cursor:
            tables, views = get_user_tables(cursor, **place), get_views(cursor, **place)
        return [name for name in tables if name not in views]

    @task
    def run_maintenance(table_name: str, params: dict[str, Any], run_id: str) -> list[dict]:
        """Maintain one table; what was written to the log about it."""
        from neve.planning.maintenance_log import log_row
        from neve.trino import MaintenanceSettings, maintain_table
        from neve.trino.connect import trino_errors

        settings = MaintenanceSettings(
            catalog=params["catalog"],
            schema=params["schema"],
            file_size_threshold=params["file_size_threshold"],
            snapshot_retention=params["retention"],
            orphan_retention=params["retention"],
        )
        with trino_cursor(settings.catalog, settings.schema) as cursor:
            outcomes = maintain_table(
                cursor,
                table_name,
                run_id=run_id,
                clock=lambda: datetime.now(tz=UTC),
                errors=trino_errors(),
                settings=settings,
            )
        entries = [log_row(outcome) for outcome in outcomes]
        if failed := [entry for entry in entries if entry["status"] == "failed"]:
            # All that could be done was done: the next night tries again, not the next minute.
            raise AirflowFailException(
                " ".join(f"{entry['operation']} failed: {entry['details']}" for entry in failed)
            )
        return entries

    run_maintenance.expand(table_name=discover_tables())


@contextmanager
def trino_cursor(catalog: str, schema: str) -> Iterator[Any]:
    """A cursor of a Trino that answers; one that does not fails the task, which is tried again."""
    from neve.trino.connect import connect

    reach = BaseHook.get_connection(TRINO_CONNECTION)
    connection = connect(
        host=reach.host,
        port=reach.port or 8080,
        user=reach.login or "airflow",
        password=reach.password or None,
        catalog=catalog,
        schema=schema,
        **(reach.extra_dejson or {}),
    )
    try:
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        cursor.fetchall()
        yield cursor
    finally:
        connection.close()


iceberg_maintenance()
