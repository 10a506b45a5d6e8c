"""Each operation is one statement, and nothing but a size or a duration gets into it."""

from __future__ import annotations

import pytest

from neve.model.errors import InputError
from neve.trino import run_expire_snapshots, run_optimize, run_remove_orphan_files
from neve.trino.testing import FakeCursor

SALES = '"iceberg"."lakehouse"."sales"'


def test_optimize_compacts_files_under_ten_megabytes() -> None:
    cursor = FakeCursor()

    run_optimize(cursor, "sales")

    assert cursor.statements == [
        f"ALTER TABLE {SALES} EXECUTE optimize(file_size_threshold => '10MB')"
    ]


def test_optimize_takes_place_and_threshold() -> None:
    cursor = FakeCursor()

    run_optimize(cursor, "sales", catalog="c", schema="s", file_size_threshold="1GB")

    assert cursor.statements == [
        'ALTER TABLE "c"."s"."sales" EXECUTE optimize(file_size_threshold => \'1GB\')'
    ]


def test_expire_keeps_seven_days() -> None:
    cursor = FakeCursor()

    run_expire_snapshots(cursor, "sales")

    assert cursor.statements == [
        f"ALTER TABLE {SALES} EXECUTE expire_snapshots(retention_threshold => '7d')"
    ]


def test_orphans_of_seven_days_are_removed() -> None:
    cursor = FakeCursor()

    run_remove_orphan_files(cursor, "sales")

    assert cursor.statements == [
        f"ALTER TABLE {SALES} EXECUTE remove_orphan_files(retention_threshold => '7d')"
    ]


def test_the_retention_may_be_given_by_position() -> None:
    cursor = FakeCursor()

    run_expire_snapshots(cursor, "sales", "30d")
    run_remove_orphan_files(cursor, "sales", "14d")

    assert [statement.split("=> ")[1] for statement in cursor.statements] == ["'30d')", "'14d')"]


def test_a_lower_floor_is_set_for_the_session_first() -> None:
    cursor = FakeCursor()

    run_expire_snapshots(cursor, "sales", "1h", min_retention="1h")
    run_remove_orphan_files(cursor, "sales", "2h", catalog="c", min_retention="2h")

    assert cursor.statements == [
        "SET SESSION \"iceberg\".expire_snapshots_min_retention = '1h'",
        f"ALTER TABLE {SALES} EXECUTE expire_snapshots(retention_threshold => '1h')",
        "SET SESSION \"c\".remove_orphan_files_min_retention = '2h'",
        'ALTER TABLE "c"."lakehouse"."sales" EXECUTE '
        "remove_orphan_files(retention_threshold => '2h')",
    ]


def test_a_hostile_table_name_stays_a_name() -> None:
    cursor = FakeCursor()

    run_optimize(cursor, 'x" EXECUTE drop_extended_stats --')

    assert cursor.statements == [
        'ALTER TABLE "iceberg"."lakehouse"."x"" EXECUTE drop_extended_stats --" '
        "EXECUTE optimize(file_size_threshold => '10MB')"
    ]


@pytest.mark.parametrize("operation", [run_expire_snapshots, run_remove_orphan_files])
def test_a_hostile_retention_never_reaches_trino(operation) -> None:
    cursor = FakeCursor()

    with pytest.raises(InputError):
        operation(cursor, "sales", "7d', x => '1")
    with pytest.raises(InputError):
        operation(cursor, "sales", "7d", min_retention="0s'; --")

    assert cursor.statements == []


def test_a_hostile_threshold_never_reaches_trino() -> None:
    cursor = FakeCursor()

    with pytest.raises(InputError):
        run_optimize(cursor, "sales", file_size_threshold="10MB') WHERE true --")

    assert cursor.statements == []
