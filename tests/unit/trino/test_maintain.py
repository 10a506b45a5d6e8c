"""One table and a whole schema, with failures in every place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from neve.model.errors import CatalogError, InputError
from neve.model.outcome import CompactionStats
from neve.model.table import TableRef
from neve.trino import (
    MaintenanceSettings,
    Operation,
    Outcome,
    Status,
    maintain_schema,
    maintain_table,
)
from neve.trino.procedures import NO_ANSWER, OPERATIONS
from neve.trino.testing import FakeCursor, FakeTrinoError

pytestmark = pytest.mark.promise(31)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LOGGED = ["optimize", "expire_snapshots", "remove_orphan_files"]
NOT_LOGGED = (
    "The maintenance log was not written: Writing to iceberg.lakehouse._maintenance_log failed: "
)
LOG = '"iceberg"."lakehouse"."_maintenance_log"'


def a_cursor() -> FakeCursor:
    cursor = FakeCursor()
    cursor.answer("$snapshots", [[2]])
    cursor.answer("$files", [[3]])
    return cursor


def maintain(cursor: FakeCursor, table: str = "sales", **extras: Any) -> list[Outcome]:
    return maintain_table(
        cursor,
        table,
        **{"run_id": "run-1", "clock": lambda: NOON, "errors": (FakeTrinoError,)} | extras,
    )


def maintain_all(cursor: FakeCursor, **extras: Any) -> list[Outcome]:
    return maintain_schema(
        cursor, run_id="run-1", clock=lambda: NOON, errors=(FakeTrinoError,), **extras
    )


def logged(cursor: FakeCursor) -> list[list[Any]]:
    pairs = zip(cursor.statements, cursor.parameters, strict=True)
    return [parameters for statement, parameters in pairs if statement.startswith("INSERT")]


def statuses(outcomes: list[Outcome]) -> list[str]:
    return [str(outcome.status) for outcome in outcomes]


def log_problems(outcomes: list[Outcome]) -> list[str | None]:
    return [outcome.reason.partition(NOT_LOGGED)[2] or None for outcome in outcomes]


def test_the_operations_run_in_order_each_counted_and_logged() -> None:
    cursor = a_cursor()

    maintain(cursor)

    table = '"iceberg"."lakehouse"."sales'
    count = [f'SELECT count(*) FROM {table}${kind}"' for kind in ("snapshots", "files")]
    kinds = [statement.split("(")[0] for statement in cursor.statements]
    counted = [statement.split("(")[0] for statement in count]
    expected = []
    for operation in ("optimize", "expire_snapshots", "remove_orphan_files"):
        expected += [*counted, f'ALTER TABLE {table}" EXECUTE {operation}', *counted]
        expected += [f"CREATE TABLE IF NOT EXISTS {LOG} ", f"INSERT INTO {LOG} "]
    assert kinds == expected
    assert cursor.statements[:2] == count


def test_the_counts_before_and_after_are_in_the_outcome_and_in_the_log() -> None:
    cursor = FakeCursor()
    cursor.answer("$snapshots", [[4]], [[5]], [[5]], [[1]])
    cursor.answer("$files", [[4]], [[1]])

    optimize, expire, clean_up = maintain(cursor)

    assert optimize == Outcome(
        job_id="run-1",
        run_id="run-1",
        table=TableRef("iceberg", ("lakehouse",), "sales"),
        operation=Operation.REWRITE_DATA_FILES,
        status=Status.SUCCEEDED,
        reason="4 files became 1.",
        started_at=NOON,
        finished_at=NOON,
        stats=CompactionStats(files_before=4, files_after=1),
        snapshots_before=4,
        snapshots_after=5,
        figures_before={"snapshots": 4, "files": 4},
        figures_after={"snapshots": 5, "files": 1},
    )
    assert (expire.figures_before, expire.figures_after) == (
        {"snapshots": 5, "files": 1},
        {"snapshots": 1, "files": 1},
    )
    assert clean_up.reason == "Orphan files removed, if any; the table uses 1 file."
    naive = NOON.replace(tzinfo=None)
    assert logged(cursor)[:2] == [
        ["sales", "optimize", "completed", "4 files became 1.", 4, 5, 4, 1, "run-1", naive],
        *[["sales", "expire_snapshots", "completed", expire.reason, 5, 1, 1, 1, "run-1", naive]],
    ]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_operation_that_fails_is_logged_and_the_others_run(position: int) -> None:
    cursor = a_cursor()
    cursor.fail(f"EXECUTE {LOGGED[position]}", FakeTrinoError("no space", "q7"))

    outcomes = maintain(cursor)

    expected = ["succeeded"] * 3
    expected[position] = "failed"
    assert statuses(outcomes) == expected
    assert [row[1] for row in logged(cursor)] == LOGGED
    assert [row[2] == "completed" for row in logged(cursor)] == [
        status == "succeeded" for status in expected
    ]
    assert logged(cursor)[position][3] == "no space (query q7)"


def test_an_operation_that_nobody_answered_is_unknown_and_not_called_done() -> None:
    cursor = a_cursor()
    cursor.fail("EXECUTE optimize", ConnectionResetError("reset"))

    outcomes = maintain(cursor, errors=(FakeTrinoError, OSError))

    assert statuses(outcomes) == ["unknown", "succeeded", "succeeded"]
    assert outcomes[0].reason == f"{NO_ANSWER} reset"
    assert [row[2] for row in logged(cursor)] == ["failed", "completed", "completed"]


def test_a_table_that_cannot_be_counted_is_still_maintained() -> None:
    cursor = FakeCursor()
    cursor.fail("$files", FakeTrinoError("no such manifest"))
    cursor.answer("$snapshots", [[2]])

    outcomes = maintain(cursor)

    assert statuses(outcomes) == ["succeeded"] * 3
    assert logged(cursor)[0][3:8] == ["Done; the files could not be counted.", *[None] * 4]


def test_a_broken_log_does_not_hide_what_happened() -> None:
    cursor = a_cursor()
    cursor.fail("INSERT INTO", FakeTrinoError("log is broken"))
    cursor.fail("EXECUTE optimize", FakeTrinoError("no space"))

    outcomes = maintain(cursor)

    assert statuses(outcomes) == ["failed", "succeeded", "succeeded"]
    assert outcomes[0].reason == f"no space {NOT_LOGGED}log is broken"
    assert log_problems(outcomes) == ["log is broken"] * 3


def test_a_log_that_cannot_be_created_is_named_as_the_cause() -> None:
    cursor = a_cursor()
    cursor.fail("CREATE TABLE", FakeTrinoError("may not create"))
    cursor.fail("INSERT INTO", FakeTrinoError("no such table"))

    outcomes = maintain(cursor)

    assert statuses(outcomes) == ["succeeded"] * 3
    assert log_problems(outcomes) == ["may not create"] * 3


def test_a_log_that_another_run_creates_at_the_same_time_is_used() -> None:
    cursor = a_cursor()
    cursor.fail("CREATE TABLE", FakeTrinoError("already exists"))

    outcomes = maintain(cursor)

    assert log_problems(outcomes) == [None] * 3
    assert len(logged(cursor)) == 3


def test_a_clock_without_a_zone_spoils_the_log_but_not_the_outcome() -> None:
    outcomes = maintain(a_cursor(), clock=lambda: NOON.replace(tzinfo=None))

    assert statuses(outcomes) == ["succeeded"] * 3
    assert log_problems(outcomes)[0] == "The time of an operation must carry its time zone."


def test_an_error_that_is_not_the_drivers_is_a_defect_and_is_not_caught() -> None:
    cursor = a_cursor()
    cursor.fail("EXECUTE optimize", ZeroDivisionError())

    with pytest.raises(ZeroDivisionError):
        maintain(cursor)


def test_each_operation_carries_its_own_time() -> None:
    cursor = a_cursor()
    times = [NOON.replace(minute=minute) for minute in range(6)]
    left = iter(times)

    outcomes = maintain(cursor, clock=lambda: next(left))

    assert [(o.started_at, o.finished_at) for o in outcomes] == [
        (times[0], times[1]),
        (times[2], times[3]),
        (times[4], times[5]),
    ]
    # The log tells when it ended, as for every engine.
    assert [row[-1].minute for row in logged(cursor)] == [1, 3, 5]


def test_settings_reach_the_statements() -> None:
    cursor = a_cursor()
    settings = MaintenanceSettings(
        catalog="c",
        schema="s",
        file_size_threshold="64MB",
        snapshot_retention="1d",
        orphan_retention="2d",
        min_retention="1d",
    )

    maintain(cursor, settings=settings)

    changing = ("ALTER", "SET")
    assert [text for text in cursor.statements if text.startswith(changing)] == [
        'ALTER TABLE "c"."s"."sales" EXECUTE optimize(file_size_threshold => \'64MB\')',
        "SET SESSION \"c\".expire_snapshots_min_retention = '1d'",
        'ALTER TABLE "c"."s"."sales" EXECUTE expire_snapshots(retention_threshold => \'1d\')',
        "SET SESSION \"c\".remove_orphan_files_min_retention = '1d'",
        'ALTER TABLE "c"."s"."sales" EXECUTE remove_orphan_files(retention_threshold => \'2d\')',
    ]
    assert any('"c"."s"."_maintenance_log"' in text for text in cursor.statements)


@pytest.mark.parametrize(
    "wrong",
    [
        {"file_size_threshold": "10"},
        {"snapshot_retention": "7d'"},
        {"orphan_retention": "week"},
        {"min_retention": ""},
        {"catalog": ""},
        {"schema": ""},
    ],
)
def test_wrong_settings_are_refused_before_anything_runs(wrong: dict[str, str]) -> None:
    with pytest.raises(InputError):
        MaintenanceSettings(**wrong)


def test_a_schema_is_maintained_table_by_table() -> None:
    cursor = a_cursor()
    cursor.answer("SHOW TABLES", [["b"], ["_maintenance_log"], ["a"]])

    outcomes = maintain_all(cursor)

    assert [(outcome.table.name, outcome.operation) for outcome in outcomes] == [
        (table, operation) for table in ("a", "b") for operation in OPERATIONS
    ]


def test_views_are_left_alone() -> None:
    cursor = a_cursor()
    cursor.answer("SHOW TABLES", [["a"], ["v"]])
    cursor.answer("information_schema.views", [["v"]])

    assert {outcome.table.name for outcome in maintain_all(cursor)} == {"a"}


def test_one_table_that_fails_leaves_the_others_alone() -> None:
    cursor = a_cursor()
    cursor.answer("SHOW TABLES", [["a"], ["b"]])
    cursor.fail('."a', FakeTrinoError("a is broken"))

    assert statuses(maintain_all(cursor)) == ["failed"] * 3 + ["succeeded"] * 3


def test_a_table_that_trino_cannot_address_leaves_the_others_alone() -> None:
    cursor = a_cursor()
    cursor.answer("SHOW TABLES", [["a$b"], ["c"]])

    outcomes = maintain_all(cursor)

    assert statuses(outcomes) == ["failed"] * 3 + ["succeeded"] * 3
    assert "dollar sign" in outcomes[0].reason


def test_without_a_list_of_tables_nothing_is_maintained() -> None:
    cursor = a_cursor()
    cursor.fail("SHOW TABLES", FakeTrinoError("connection refused"))

    with pytest.raises(CatalogError, match=r"iceberg\.lakehouse: connection refused"):
        maintain_all(cursor)

    assert not any("ALTER" in statement for statement in cursor.statements)
