"""Records against columns: what fits exactly is taken, everything else has its sentence."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest

from neve.database.records import MAX_TROUBLES, read_records
from neve.model.database import Column
from neve.model.errors import RecordsRefused

ID = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", "", ""),
        ("boolean", False, False),
        ("int", -(2**31), -(2**31)),
        ("long", 2**63 - 1, 2**63 - 1),
        ("float", 1, 1.0),
        ("double", 2**53, 2.0**53),
        ("decimal(5, 2)", "-123.4", Decimal("-123.40")),
        ("decimal(5, 2)", 1.25, Decimal("1.25")),
        ("decimal(38, 0)", 10**37, Decimal(10**37)),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("time", "23:59:59.5", time(23, 59, 59, 500000)),
        ("timestamp", "2024-02-29T01:02", datetime(2024, 2, 29, 1, 2)),
        ("timestamptz", "2024-02-29 01:02:03Z", datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)),
        ("uuid", ID, UUID(ID).bytes),
        ("binary", "AAE=", b"\x00\x01"),
        ("list<string>", None, None),
    ],
)
def test_a_value_that_fits(kind, value, expected):
    (row,) = read_records([Column("c", kind)], [{"c": value}])
    assert row.get("c") == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamptz", "0001-01-01T00:00:00+14:00"),
        ("timestamptz", "9999-12-31T23:59:59-14:00"),
        ("string", 1),
        ("string", "\ud800"),
        ("boolean", 1),
        ("boolean", "true"),
        ("int", True),
        ("int", 2**31),
        ("int", 1.0),
        ("int", "1"),
        ("long", -(2**63) - 1),
        ("float", 3.5e38),
        ("double", 2**53 + 1),
        ("double", float("nan")),
        ("double", float("inf")),
        ("double", 10**400),
        ("double", False),
        ("decimal(5, 2)", "1.234"),
        ("decimal(5, 2)", "1234.5"),
        ("decimal(5, 2)", "1e2"),
        ("decimal(5, 2)", "NaN"),
        ("decimal(5, 2)", True),
        ("decimal(5, 2)", "1" * 100),
        ("date", "2023-02-29"),
        ("date", "20240101"),
        ("date", 1),
        ("time", "24:01"),
        ("timestamp", "2024-01-01T00:00:00Z"),
        ("timestamp", "2024-01-01"),
        ("timestamptz", "2024-01-01T00:00:00"),
        ("timestamptz", "2024-13-01T00:00:00Z"),
        ("uuid", "x"),
        ("uuid", 5),
        ("binary", "?"),
        ("binary", 5),
        ("list<string>", ["a"]),
        ("long", {"a": 1}),
    ],
)
def test_a_value_that_does_not_fit_has_a_sentence(kind, value):
    with pytest.raises(RecordsRefused) as caught:
        read_records([Column("c", kind)], [{}, {"c": value}])

    (trouble,) = caught.value.troubles
    assert trouble.location == ("records", 1, "c")
    assert trouble.message.startswith("Record 2, field c: ")
    assert trouble.message.endswith(".")


def test_every_trouble_is_told_up_to_a_bound():
    columns = [Column("name", "string", True), Column("age", "long")]
    records = [{"nam": "a", "age": "x"}, {"name": None}, {"name": 1}, {"nope": None, "name": "a"}]
    with pytest.raises(RecordsRefused) as caught:
        read_records(columns, records)

    assert [trouble.location for trouble in caught.value.troubles] == [
        ("records", 0, "nam"),
        ("records", 0, "age"),
        ("records", 0, "name"),
        ("records", 1, "name"),
        ("records", 2, "name"),
        ("records", 3, "nope"),
    ]
    assert "Did you mean name?" in caught.value.message
    assert "5 more" in caught.value.message
    with pytest.raises(RecordsRefused) as caught:
        read_records(columns, [{}] * 100)
    assert len(caught.value.troubles) == MAX_TROUBLES


def test_what_a_record_does_not_name_is_null():
    columns = [Column("name", "string", True), Column("age", "long")]
    assert read_records(columns, [{"name": "a"}]) == [{"name": "a"}]
