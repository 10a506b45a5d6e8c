"""Conditions of a statement as a filter of a scan: only what both read alike, row by row.

Not pushed: fractions (a NaN is above everything to SQL, and nowhere to Arrow), texts that are
compared by their order, and every value that is not exactly one of the column's own type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from pyiceberg import expressions as iceberg
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, IcebergType, IntegerType, LongType, StringType, TimestampType

from neve.model.database import Condition

#: By the names of pyiceberg; its models are made in ways that are not in their types.
MAKE: dict[str, Any] = {
    "=": iceberg.EqualTo,
    "<": iceberg.LessThan,
    "<=": iceberg.LessThanOrEqual,
    ">": iceberg.GreaterThan,
    ">=": iceberg.GreaterThanOrEqual,
    "in": iceberg.In,
    "is null": iceberg.IsNull,
    "is not null": iceberg.NotNull,
}
RANGES = ("<", "<=", ">", ">=")
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.ASCII)
Value = str | int


def row_filter(schema: Schema, conditions: Sequence[Condition]) -> BooleanExpression:
    """All conditions that can be pushed."""
    found: BooleanExpression = AlwaysTrue()
    for condition in conditions:
        pushed = _pushed(schema, condition)
        found = found if pushed is None else And(found, pushed)
    return found


def _pushed(schema: Schema, condition: Condition) -> BooleanExpression | None:
    # SQL does not see case.
    named = [f for f in schema.fields if f.name.lower() == condition.column.lower()]
    if len(named) != 1:
        return None
    name, kind, operator = named[0].name, named[0].field_type, condition.operator
    if not kind.is_primitive:
        return None
    values = [_value(kind, value) for value in condition.values]
    if None in values or (operator in RANGES and isinstance(kind, StringType)):
        return None
    arguments = [values] if operator == "in" else values
    made: BooleanExpression = MAKE[operator](name, *arguments)
    return made


def _value(kind: IcebergType, value: Value) -> Value | None:
    if isinstance(kind, StringType):
        return value if isinstance(value, str) else None
    if isinstance(kind, IntegerType | LongType):
        bits = 31 if isinstance(kind, IntegerType) else 63
        is_fitting = isinstance(value, int) and -(2**bits) <= value < 2**bits
        return value if is_fitting else None
    if isinstance(kind, DateType) and isinstance(value, str):
        return _written(DAY, value, date.fromisoformat)
    if isinstance(kind, TimestampType) and isinstance(value, str):
        moment = _written(MOMENT, value, datetime.fromisoformat)
        return None if moment is None else moment.replace(" ", "T")
    return None


def _written(form: re.Pattern[str], text: str, read: Callable[[str], object]) -> str | None:
    """The text, if it is one that is written in the one way that both read."""
    if not form.fullmatch(text):
        return None
    try:
        read(text)
    except ValueError:
        return None
    return text
