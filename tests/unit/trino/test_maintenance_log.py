"""The log table's columns, and the row that is written for an operation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from neve.model.errors import CatalogError, InputError
from neve.model.outcome import CompactionStats, Outcome
from neve.model.table import TableRef
from neve.trino import Operation, Status, build_maintenance_log_ddl, build_maintenance_log_insert
from neve.trino.maintenance_log import POLICY, TrinoLog
from neve.trino.testing import FakeCursor, FakeTrinoError

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def test_the_log_table_has_its_columns_and_is_kept_if_it_exists() -> None:
    assert build_maintenance_log_ddl() == (
        'CREATE TABLE IF NOT EXISTS "iceberg"."lakehouse"."_maintenance_log" ('
        "table_name VARCHAR, operation VARCHAR, status VARCHAR, details VARCHAR, "
        "snapshots_before INTEGER, snapshots_after INTEGER, "
        "files_before INTEGER, files_after INTEGER, "
        "dag_run_id VARCHAR, executed_at TIMESTAMP(6), job_id VARCHAR) WITH (format = 'PARQUET')"
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
        "t", Operation.EXPIRE_SNAPSHOTS, Status.FAILED, "d", 1, 1, 1, 1, "r", NOON
    )

    assert [type(value) for value in parameters[1:3]] == [str, str]


CONFLICT = FakeTrinoError("Commit failed: Requirement failed: branch main has changed")


def an_outcome(table: str = "sales", **others: Any) -> Outcome:
    values: dict[str, Any] = {
        "job_id": "job-1",
        "table": TableRef("iceberg", ("lakehouse",), table),
        "operation": "rewrite_data_files",
        "status": Status.SUCCEEDED,
        "reason": "4 files became 1.",
        "started_at": NOON - timedelta(minutes=1),
        "finished_at": NOON,
        "stats": CompactionStats(files_before=4, files_after=1),
        "snapshots_before": 4,
        "snapshots_after": None,
    }
    return Outcome(**values | others)


def inserted(cursor: FakeCursor) -> list[list[Any]]:
    pairs = zip(cursor.statements, cursor.parameters, strict=True)
    return [parameters for statement, parameters in pairs if statement.startswith("INSERT")]


def test_an_outcome_becomes_the_row_that_every_engine_writes() -> None:
    cursor = FakeCursor()
    other = an_outcome(table="events", status=Status.CANCELLED, run_id="dag-7")

    logs = TrinoLog(cursor, (FakeTrinoError,)).write([an_outcome(), other])

    assert [str(log) for log in logs] == ["iceberg.lakehouse._maintenance_log"]
    at = NOON.replace(tzinfo=None)
    assert inserted(cursor) == [
        ["sales", "optimize", "completed", "4 files became 1.", 4, None, 4, 1, "", at, "job-1"],
        ["events", "optimize", "failed", "4 files became 1.", 4, None, 4, 1, "dag-7", at, "job-1"],
    ]
    assert sum(statement.startswith("CREATE") for statement in cursor.statements) == 1


def test_a_row_that_another_writers_commit_refused_is_written_again() -> None:
    cursor, pauses = FakeCursor(), []
    cursor.fail("INSERT INTO", CONFLICT, times=POLICY.attempts - 1)

    TrinoLog(cursor, (FakeTrinoError,), sleep=pauses.append).write([an_outcome()])

    assert len(inserted(cursor)) == POLICY.attempts
    assert len(pauses) == POLICY.attempts - 1


def test_a_log_that_is_never_free_is_said() -> None:
    cursor = FakeCursor()
    cursor.fail("INSERT INTO", CONFLICT)

    with pytest.raises(CatalogError, match="branch main has changed"):
        TrinoLog(cursor, (FakeTrinoError,), sleep=lambda _: None).write([an_outcome()])
    assert len(inserted(cursor)) == POLICY.attempts


@pytest.mark.parametrize("error", [FakeTrinoError("no space"), ConnectionResetError("reset")])
def test_a_row_that_may_be_there_is_never_written_again(error: Exception) -> None:
    cursor, pauses = FakeCursor(), []
    cursor.fail("INSERT INTO", error, times=1)

    with pytest.raises(CatalogError):
        TrinoLog(cursor, (FakeTrinoError, OSError), sleep=pauses.append).write([an_outcome()])

    assert (len(inserted(cursor)), pauses) == (1, [])


def test_one_row_that_cannot_be_written_does_not_keep_the_others_out() -> None:
    cursor = FakeCursor()
    cursor.fail("INSERT INTO", FakeTrinoError("no space"), times=1)

    with pytest.raises(CatalogError, match="no space"):
        TrinoLog(cursor, (FakeTrinoError,)).write([an_outcome(), an_outcome(table="events")])

    assert [row[0] for row in inserted(cursor)] == ["sales", "events"]


def test_a_log_of_an_earlier_version_gets_its_column_for_jobs() -> None:
    cursor = FakeCursor()
    cursor.fail("INSERT INTO", FakeTrinoError("Insert column name does not exist: job_id"), times=1)

    TrinoLog(cursor, (FakeTrinoError,)).write([an_outcome()])

    verbs = [statement.split()[0] for statement in cursor.statements]
    assert verbs == ["CREATE", "INSERT", "ALTER", "INSERT"]


def test_a_program_without_jobs_has_its_own_id_alone() -> None:
    cursor = FakeCursor()

    TrinoLog(cursor, (FakeTrinoError,)).write([an_outcome(run_id="job-1")])

    (row,) = inserted(cursor)
    assert row[8:] == ["job-1", NOON.replace(tzinfo=None)]
