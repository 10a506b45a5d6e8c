"""Maintenance through a real Trino: what it changes, what it keeps, what it writes down."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from neve.trino import (
    Outcome,
    get_file_count,
    get_snapshot_count,
    get_user_tables,
    get_views,
    maintain_schema,
    maintain_table,
    run_expire_snapshots,
    run_remove_orphan_files,
)
from neve.trino.connect import trino_errors
from neve.trino.procedures import OPERATIONS

pytestmark = pytest.mark.promise(32)

NOON = datetime(2026, 3, 1, 12, 30, 45, 123456, tzinfo=UTC)
LOGGED = ["optimize", "expire_snapshots", "remove_orphan_files"]


def maintain(lake: Any, table: str, **settings: Any) -> list[Outcome]:
    return maintain_table(
        lake.cursor,
        table,
        run_id="run-1",
        clock=lambda: datetime.now(UTC),
        errors=trino_errors(),
        settings=lake.settings(**settings),
    )


def statuses(outcomes: list[Outcome]) -> list[str]:
    return [str(outcome.status) for outcome in outcomes]


def test_user_tables_are_found_and_the_lakehouses_own_are_not(lake) -> None:
    for table in ("sales", "_hidden", 'odd "name"; DROP TABLE sales --'):
        lake.make_table(table, files=0)

    assert get_user_tables(lake.cursor, **lake.place) == [
        'odd "name"; drop table sales --',
        "sales",
    ]


def test_small_files_are_compacted_and_the_rows_stay(lake) -> None:
    lake.make_table("sales", files=4)
    rows = lake.rows("sales")

    optimize, *_ = maintain(lake, "sales")

    assert (optimize.stats.files_before, optimize.stats.files_after) == (4, 1)
    assert optimize.reason == "4 files became 1."
    assert lake.rows("sales") == rows
    assert get_file_count(lake.cursor, "sales", **lake.place) == 1


def test_files_over_the_threshold_are_not_compacted(lake) -> None:
    lake.make_table("sales", files=3)

    optimize, *_ = maintain(lake, "sales", file_size_threshold="1B")

    assert (optimize.stats.files_before, optimize.stats.files_after) == (3, 3)


def test_old_snapshots_are_expired_under_a_lowered_floor(lake) -> None:
    lake.make_table("sales", files=3)
    rows = lake.rows("sales")

    _, expire, _ = maintain(lake, "sales", snapshot_retention="0s", min_retention="0s")

    # The table's own creation is a snapshot too, and compaction adds one.
    assert (expire.snapshots_before, expire.snapshots_after) == (5, 1)
    assert get_snapshot_count(lake.cursor, "sales", **lake.place) == 1
    assert lake.rows("sales") == rows


def test_orphan_files_are_removed_and_live_files_are_not(lake, stack) -> None:
    lake.make_table("sales", files=2)
    data = lake.folder("sales", stack) / "data"
    orphan = data / "orphan.parquet"
    live = set(data.rglob("*.parquet"))
    orphan.write_bytes(b"left behind by a write that failed")

    run_remove_orphan_files(lake.cursor, "sales", "0s", min_retention="0s", **lake.place)

    assert not orphan.exists()
    assert set(data.rglob("*.parquet")) == live


def test_young_orphans_are_kept(lake, stack) -> None:
    """They may belong to a write that is under way."""
    lake.make_table("sales", files=1)
    orphan = lake.folder("sales", stack) / "data" / "orphan.parquet"
    orphan.write_bytes(b"being written")

    *_, clean_up = maintain(lake, "sales")

    assert clean_up.status == "succeeded"
    assert orphan.exists()


def test_nothing_to_do_is_a_success(lake) -> None:
    """No small files, no expired snapshots, no orphan files."""
    lake.make_table("sales", files=1)

    outcomes = maintain(lake, "sales")

    assert statuses(outcomes) == ["succeeded"] * 3
    counts = {"snapshots": 2, "files": 1}
    assert [outcome.figures_before for outcome in outcomes] == [counts] * 3
    assert [outcome.figures_after for outcome in outcomes] == [counts] * 3
    assert lake.log() == [["sales", operation, "completed"] for operation in LOGGED]


def test_an_empty_table_is_nothing_to_do(lake) -> None:
    lake.make_table("empty", files=0)

    assert statuses(maintain(lake, "empty")) == ["succeeded"] * 3


def test_a_missing_log_table_is_created_with_its_columns(lake) -> None:
    lake.make_table("sales", files=1)

    outcomes = maintain(lake, "sales")

    assert not any("was not written" in outcome.reason for outcome in outcomes)
    columns = lake.sql(f"DESCRIBE {lake.name('_maintenance_log')}")
    assert [(name, kind) for name, kind, *_ in columns] == [
        *[(name, "varchar") for name in ("table_name", "operation", "status", "details")],
        *[(f"{what}_{when}", "integer") for what in ("snapshots", "files")
          for when in ("before", "after")],
        ("dag_run_id", "varchar"),
        ("executed_at", "timestamp(6)"),
        ("job_id", "varchar"),
    ]  # fmt: skip


def test_the_log_holds_every_value_as_it_was(lake) -> None:
    lake.make_table('o\'hara "x"', files=2)

    maintain_table(
        lake.cursor,
        'o\'hara "x"',
        run_id="manual__2026-03-01 'quoted'",
        clock=lambda: NOON,
        errors=trino_errors(),
        settings=lake.settings(),
    )

    first, *_ = lake.sql(
        f"SELECT * FROM {lake.name('_maintenance_log')} WHERE operation = 'optimize'"
    )
    assert first == [
        *('o\'hara "x"', "optimize", "completed", "2 files became 1.", 3, 4, 2, 1),
        # It was called without a job.
        *("manual__2026-03-01 'quoted'", NOON.replace(tzinfo=None), None),
    ]


def test_a_second_run_changes_nothing_and_adds_its_rows(lake) -> None:
    lake.make_table("sales", files=3)
    maintain(lake, "sales")
    rows = lake.rows("sales")

    again = maintain(lake, "sales")

    assert again[0].reason == "No files to compact: 1 file as before."
    assert again[0].figures_before == again[-1].figures_after
    assert lake.rows("sales") == rows
    assert lake.log() == [["sales", operation, "completed"] for operation in LOGGED * 2]


def test_less_than_seven_days_is_refused_by_trino(lake) -> None:
    lake.make_table("sales", files=2)

    outcomes = maintain(lake, "sales", snapshot_retention="1d", orphan_retention="1d")

    assert statuses(outcomes) == ["succeeded", "failed", "failed"]
    assert "shorter than the minimum retention" in outcomes[1].reason
    assert [row[2] for row in lake.log()] == ["completed", "failed", "failed"]


def test_the_floor_can_be_lowered_when_connecting(lake, trino_connect) -> None:
    lake.make_table("sales", files=2)
    floor = {"iceberg.expire_snapshots_min_retention": "0s"}
    cursor = trino_connect(session_properties=floor).cursor()

    run_expire_snapshots(cursor, "sales", "0s", **lake.place)

    assert get_snapshot_count(cursor, "sales", **lake.place) == 1


def test_a_schema_is_maintained_without_its_views(lake) -> None:
    lake.make_table("a", files=2)
    lake.make_table("b", files=2)
    lake.sql(f"CREATE VIEW {lake.name('v')} AS SELECT * FROM {lake.name('a')}")

    try:
        outcomes = maintain_schema(
            lake.cursor,
            run_id="run-1",
            clock=lambda: datetime.now(UTC),
            errors=trino_errors(),
            settings=lake.settings(),
        )
        views = get_views(lake.cursor, **lake.place)
    finally:
        lake.sql(f"DROP VIEW {lake.name('v')}")

    assert views == ["v"]
    assert [(outcome.table.name, outcome.operation) for outcome in outcomes] == [
        (table, operation) for table in ("a", "b") for operation in OPERATIONS
    ]
    assert statuses(outcomes) == ["succeeded"] * 6


@pytest.mark.parametrize("threshold", ["512kB", "1.5GB"])
def test_trino_understands_every_size_that_is_let_through(lake, threshold: str) -> None:
    lake.make_table("sales", files=1)

    assert maintain(lake, "sales", file_size_threshold=threshold)[0].status == "succeeded"
