from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg import expressions as iceberg
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from neve.catalog.filters import resolve_predicate, to_expression
from neve.model.errors import FilterError
from neve.model.predicate import And, Comparison, In, IsNull, Not, Or
from neve.planning.expressions import from_predicate, to_json
from neve.planning.filters import parse_filter

COLUMNS = {
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "dec": DecimalType(9, 2),
    "day": DateType(),
    "ts": TimestampType(),
    "tz": TimestamptzType(),
    "text": StringType(),
    "flag": BooleanType(),
    "uuid": UUIDType(),
    "Mixed": IntegerType(),
    "raw": BinaryType(),
    "point": StructType(NestedField(100, "lat", DoubleType(), required=False)),
    "tags": ListType(101, StringType(), element_required=False),
}
SCHEMA = Schema(
    *(NestedField(i, name, of, required=False) for i, (name, of) in enumerate(COLUMNS.items(), 1))
)


def resolve(text):
    return resolve_predicate(parse_filter(text, today=date(2026, 1, 15)), SCHEMA)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int = 5", 5),
        ("int = 5.0", 5),
        ("int = -2147483648", -(2**31)),
        ("long = 9223372036854775807", 2**63 - 1),
        ("float = 0.1", 0.10000000149011612),
        ("double = 0.1", 0.1),
        ("double = 5", 5.0),
        ("dec = 1.5", Decimal("1.50")),
        ("dec = 1e2", Decimal("100.00")),
        ("day = '2025-01-31'", date(2025, 1, 31)),
        ("day = current_date - 15", date(2025, 12, 31)),
        ("ts = '2025-01-31'", datetime(2025, 1, 31)),
        ("ts = DATE '2025-01-31'", datetime(2025, 1, 31)),
        ("ts = TIMESTAMP '2025-01-31T01:00:00+02:00'", datetime(2025, 1, 30, 23)),
        ("tz = '2025-01-31 01:00:00'", datetime(2025, 1, 31, 1, tzinfo=UTC)),
        ("tz = '2025-01-31 01:00:00+02:00'", datetime(2025, 1, 30, 23, tzinfo=UTC)),
        ("text = '5'", "5"),
        ("flag = FALSE", False),
        (
            "uuid = '00000000-0000-0000-0000-00000000000A'",
            "00000000-0000-0000-0000-00000000000a",
        ),
        ("point.lat = 1", 1.0),
    ],
)
def test_values_take_the_type_of_their_column(text, value):
    resolved = resolve(text)

    assert (resolved.value, type(resolved.value)) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        "int = 1.5",
        "int = 2147483648",
        "int = 1e300",
        "int = 'one'",
        "int = TRUE",
        "long = -9223372036854775809",
        "float = 1e39",
        "double = 1e400",
        "double = '1'",
        "dec = 1.005",
        "dec = 12345678",
        "dec = 1e-300",
        "day = 5",
        "day = 'yesterday'",
        "day = TIMESTAMP '2025-01-31 00:00:00'",
        "ts = 5",
        "ts = 'noon'",
        "tz = '0001-01-01T00:00:00+14:00'",
        "text = 5",
        "flag = 1",
        "uuid = 'abc'",
        "uuid = 5",
        "raw = 'abc'",
        "text IN ('a', 5)",
    ],
)
def test_a_value_that_does_not_fit_its_column_is_refused(text):
    with pytest.raises(FilterError, match="cannot be compared with") as refusal:
        resolve(text)

    assert refusal.value.position == 0


@pytest.mark.parametrize(
    ("text", "message", "next_step"),
    [
        (
            "dayy = 1",
            "There is no column 'dayy' (character 1 of the filter).",
            "Did you mean 'day'?",
        ),
        ("NOT (day IS NULL OR txt = 'a')", "There is no column 'txt'", "Did you mean 'text'?"),
        ("zzz = 1", "There is no column 'zzz'", "Columns: int, long, float,"),
        ("point.lon = 1", "There is no column 'point.lon'", "Did you mean 'point'?"),
        ("point = 1", "Column 'point' at character 1 is a struct", None),
        ("tags IS NULL", "Column 'tags' at character 1 is a list<string>;", None),
    ],
)
def test_a_column_that_cannot_be_compared_is_explained(text, message, next_step):
    with pytest.raises(FilterError) as refusal:
        resolve(text)

    assert refusal.value.message.startswith(message)
    assert (refusal.value.next_step or "").startswith(next_step or "")


def test_columns_are_spelled_as_the_schema_spells_them():
    resolved = resolve("MIXED = 1 AND (mixed IS NULL OR NOT mixeD IN (1, 2))")

    assert resolved == And(
        (
            Comparison("Mixed", "=", 1, 0),
            Or((IsNull("Mixed", False, 15), Not(In("Mixed", (1, 2), False, 36)))),
        )
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int = 1", iceberg.EqualTo("int", 1)),
        ("int <> 1", iceberg.NotEqualTo("int", 1)),
        ("int < 1", iceberg.LessThan("int", 1)),
        ("int <= 1", iceberg.LessThanOrEqual("int", 1)),
        ("int > 1", iceberg.GreaterThan("int", 1)),
        ("int >= 1", iceberg.GreaterThanOrEqual("int", 1)),
        ("int IN (1, 2)", iceberg.In("int", {1, 2})),
        ("int NOT IN (1, 2)", iceberg.NotIn("int", {1, 2})),
        ("int IS NULL", iceberg.IsNull("int")),
        ("int IS NOT NULL", iceberg.NotNull("int")),
        ("NOT int = 1", iceberg.Not(iceberg.EqualTo("int", 1))),
        ("day = '2025-01-31'", iceberg.EqualTo("day", "2025-01-31")),
        (
            "int = 1 AND int = 2 OR int = 3",
            iceberg.Or(
                iceberg.And(iceberg.EqualTo("int", 1), iceberg.EqualTo("int", 2)),
                iceberg.EqualTo("int", 3),
            ),
        ),
    ],
)
def test_predicates_become_expressions(text, expected):
    assert to_expression(resolve(text)) == expected


@given(
    st.sampled_from([name for name in COLUMNS if name != "Mixed"]),
    st.one_of(
        st.from_regex(r"-?[0-9]{1,12}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,5})?", fullmatch=True),
        st.text(max_size=20).map(lambda text: "'" + text.replace("'", "''") + "'"),
        st.datetimes().map(lambda moment: f"TIMESTAMP '{moment}+14:00'"),
        st.dates().map(lambda day: f"DATE '{day}'"),
        st.sampled_from(["TRUE", "FALSE"]),
    ),
)
def test_any_value_is_taken_or_refused(column, value):
    try:
        resolved = resolve(f"{column} < {value}")
    except FilterError:
        return

    assert to_expression(resolved).term.name == column
    written = json.loads(to_json(from_predicate(resolved)))
    assert (written["type"], written["term"]) == ("lt", column)
