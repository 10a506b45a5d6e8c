"""Finding tables and counting what is in them."""

from __future__ import annotations

import pytest

from neve.model.errors import InputError
from neve.trino import get_file_count, get_snapshot_count, get_user_tables, get_views
from neve.trino.testing import FakeCursor


def test_user_tables_are_those_without_an_underscore_in_front() -> None:
    cursor = FakeCursor()
    cursor.answer("SHOW TABLES", [["sales"], ["_maintenance_log"], ["a_b"], ["_x"], ["products"]])

    assert get_user_tables(cursor) == ["a_b", "products", "sales"]
    assert cursor.statements == ['SHOW TABLES IN "iceberg"."lakehouse"']


def test_an_empty_schema_has_no_tables() -> None:
    assert get_user_tables(FakeCursor()) == []


def test_tables_are_sought_where_asked_and_the_place_is_quoted() -> None:
    cursor = FakeCursor()

    get_user_tables(cursor, catalog='c"', schema="s; DROP SCHEMA t")

    assert cursor.statements == ['SHOW TABLES IN "c"""."s; DROP SCHEMA t"']


def test_the_schema_of_the_views_goes_as_a_parameter() -> None:
    cursor = FakeCursor()
    cursor.answer("views", [["v2"], ["v1"]])

    assert get_views(cursor, schema="it's") == ["v1", "v2"]
    assert cursor.statements == [
        'SELECT table_name FROM "iceberg".information_schema.views WHERE table_schema = ?'
    ]
    assert cursor.parameters == [["it's"]]


def test_snapshots_are_counted_in_the_metadata_table() -> None:
    cursor = FakeCursor()
    cursor.answer("$snapshots", [[3]])

    assert get_snapshot_count(cursor, "sales") == 3
    assert cursor.statements == ['SELECT count(*) FROM "iceberg"."lakehouse"."sales$snapshots"']


def test_files_are_counted_in_the_metadata_table() -> None:
    cursor = FakeCursor()
    cursor.answer("$files", [[12]])

    assert get_file_count(cursor, 'a"b', catalog="c", schema="s") == 12
    assert cursor.statements == ['SELECT count(*) FROM "c"."s"."a""b$files"']


def test_a_name_that_would_count_another_table_never_reaches_trino() -> None:
    cursor = FakeCursor()

    with pytest.raises(InputError):
        get_file_count(cursor, "sales$snapshots")

    assert cursor.statements == []
