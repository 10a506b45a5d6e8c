"""The log table's columns, and the row that is written for an operation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from neve.model.errors import InputError
from neve.trino import Operation, Status, build_maintenance_log_ddl, build_maintenance_log_insert

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def test_the_log_table_has_its_columns_and_is_kept_if_it_exists() -> None:
    assert build_maintenance_log_ddl() == (
        'CREATE TABLE IF NOT EXISTS "iceberg"."lakehouse"."_maintenance_log" ('
        "table_name VARCHAR, operation VARCHAR, status VARCHAR, details VARCHAR, "
        "snapshots_before INTEGER, snapshots_after INTEGER, "
        "files_before INTEGER, files_after INTEGER, "
        "dag_run_id VARCHAR, executed_at TIMESTAMP(6)) WITH (format = 'PARQUET')"
    )


def test_the_log_table_is_made_where_asked() -> None:
    ddl = build_maintenance_log_ddl(catalog="c", schema='s"')

    assert ddl.startswith('CREATE TABLE IF NOT EXISTS "c"."s"""."_maintenance_log" (')


def test_a_row_goes_as_parameters() -> None:
    statement, parameters = build_maintenance_log_insert(
        "sales", "optimize", "completed", "4 files became 1.", 4, 5, 4, 1, "run-1", NOON
    )

    assert statement == (
        'INSERT INTO "iceberg"."lakehouse"."_maintenance_log" (table_name, operation, status, '
        "details, snapshots_before, snapshots_after, files_before, files_after, dag_run_id, "
        "executed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    assert parameters == [
        *("sales", "optimize", "completed", "4 files became 1.", 4, 5, 4, 1, "run-1"),
        datetime(2026, 3, 1, 12, 0, 0, 123456),
    ]


def test_hostile_values_are_not_in_the_statement() -> None:
    evil = "'); DROP TABLE sales --"

    statement, parameters = build_maintenance_log_insert(
        evil, "optimize", "failed", evil, None, None, None, None, evil, NOON
    )

    assert evil not in statement
    assert parameters[:9] == [evil, "optimize", "failed", evil, None, None, None, None, evil]


def test_a_time_of_another_zone_is_written_in_utc() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=9)))

    _, parameters = build_maintenance_log_insert("t", "o", "s", "d", 1, 1, 1, 1, "r", there)

    assert parameters[-1].isoformat() == "2026-03-01T12:00:00.123456"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InputError, match="time zone"):
        build_maintenance_log_insert("t", "o", "s", "d", 1, 1, 1, 1, "r", NOON.replace(tzinfo=None))


def test_enum_members_become_plain_strings() -> None:
    """The Trino client picks a literal by the exact type of the value."""
    _, parameters = build_maintenance_log_insert(
        "t", Operation.OPTIMIZE, Status.FAILED, "d", 1, 1, 1, 1, "r", NOON
    )

    assert [type(value) for value in parameters[1:3]] == [str, str]
