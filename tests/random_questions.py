"""Random predicates, as Spark, DuckDB and pyiceberg spell them, and the rows that they find.

Readers differ in what a comparison with a null is under NOT, and in whether NaN is the greatest
number or none. Questions here are guarded so that all agree: neither is found by a comparison.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyiceberg import expressions as iceberg
from pyiceberg import types
from pyiceberg.expressions import BooleanExpression
from tests.random_files import DUCKDB, SPARK, Choices, Column, Row

COMPARED: dict[str, tuple[Callable[[Any, Any], bool], Any]] = {
    "=": (operator.eq, iceberg.EqualTo),
    "!=": (operator.ne, iceberg.NotEqualTo),
    "<": (operator.lt, iceberg.LessThan),
    "<=": (operator.le, iceberg.LessThanOrEqual),
    ">": (operator.gt, iceberg.GreaterThan),
    ">=": (operator.ge, iceberg.GreaterThanOrEqual),
}
IN, IS_NULL, IS_NAN, STARTS_WITH = "IN", "IS NULL", "IS NAN", "STARTS WITH"
#: Where engines take NaN for the greatest number, these find it.
FINDING_NAN = ("!=", ">", ">=")
SQL_TYPES = {
    types.IntegerType: ("INT", "INT"),
    types.LongType: ("BIGINT", "BIGINT"),
    types.FloatType: ("FLOAT", "FLOAT"),
    types.DoubleType: ("DOUBLE", "DOUBLE"),
    types.BooleanType: ("BOOLEAN", "BOOLEAN"),
    types.StringType: ("STRING", "VARCHAR"),
    types.DateType: ("DATE", "DATE"),
    types.TimestampType: ("TIMESTAMP_NTZ", "TIMESTAMP"),
    types.TimestamptzType: ("TIMESTAMP", "TIMESTAMPTZ"),
    # Spark has no type for them.
    types.UUIDType: ("STRING", "UUID"),
}


def literal(engine: str, column: Column, value: Any) -> str:
    if isinstance(value, bytes):
        text = value.hex().upper()
        return f"X'{text}'" if engine == SPARK else f"from_hex('{text}')"
    if isinstance(column.of, types.DecimalType):
        named = f"DECIMAL({column.of.precision}, {column.of.scale})"
    else:
        named = SQL_TYPES[type(column.of)][engine == DUCKDB]
    return f"CAST('{value}' AS {named})"


@dataclass(frozen=True)
class Atom:
    """One test of one column."""

    column: Column
    operator: str
    values: tuple[Any, ...] = ()
    #: Below a NOT nothing may be unknown.
    guarded: bool = False

    def asks_of(self, of: type) -> bool:
        return isinstance(self.column.of, of)

    @property
    def is_beyond_arrow(self) -> bool:
        """It compares no UUIDs, and leaves row groups out whose bounds are not NaN."""
        asks_for_nan = self.operator == IS_NAN or (self.guarded and self.column.is_floating)
        return asks_for_nan or self.asks_of(types.UUIDType)

    def holds(self, row: Row) -> bool:
        value = self.column.value(row)
        if self.operator == IS_NULL or value is None:
            return self.operator == IS_NULL and value is None
        if self.operator == IS_NAN or value != value:
            return self.operator == IS_NAN and value != value
        if self.operator == IN:
            return value in self.values
        if self.operator == STARTS_WITH:
            return value.startswith(self.values[0])
        return COMPARED[self.operator][0](value, self.values[0])

    def sql(self, engine: str) -> str:
        name, values = self.column.name, [literal(engine, self.column, v) for v in self.values]
        if self.operator == IS_NULL:
            return f"{name} IS NULL"
        if self.operator == IS_NAN:
            found = _is_nan(engine, self.column)
        elif self.operator == IN:
            found = f"{name} IN ({', '.join(values)})"
        elif self.operator == STARTS_WITH:
            function = "startswith" if engine == SPARK else "starts_with"
            found = f"{function}({name}, {values[0]})"
        else:
            found = f"{name} {self.operator} {values[0]}"
        if self._may_find_nan:
            found += f" AND NOT {_is_nan(engine, self.column)}"
        if self.guarded:
            found += f" AND {name} IS NOT NULL"
        return f"({found})"

    def iceberg(self) -> BooleanExpression:
        name = self.column.name
        if self.operator == IS_NULL:
            return iceberg.IsNull(name)
        if self.operator == IS_NAN:
            found: BooleanExpression = iceberg.IsNaN(name)
        elif self.operator == IN:
            found = iceberg.In(name, self.values)
        elif self.operator == STARTS_WITH:
            found = iceberg.StartsWith(name, self.values[0])
        else:
            found = COMPARED[self.operator][1](name, self.values[0])
        if self._may_find_nan:
            found = iceberg.And(found, iceberg.NotNaN(name))
        return iceberg.And(found, iceberg.NotNull(name)) if self.guarded else found

    @property
    def _may_find_nan(self) -> bool:
        if not self.column.is_floating or self.operator in (IS_NULL, IS_NAN):
            return False
        return self.guarded or self.operator in FINDING_NAN


def _is_nan(engine: str, column: Column) -> str:
    if engine == DUCKDB:
        return f"isnan({column.name})"
    # Spark hands Iceberg this way of asking.
    return f"({column.name} = {literal(engine, column, 'NaN')})"


@dataclass(frozen=True)
class Several:
    """Questions that must hold all, or one of them."""

    parts: tuple[Question, ...]
    word: str

    def asks_of(self, of: type) -> bool:
        return any(part.asks_of(of) for part in self.parts)

    @property
    def is_beyond_arrow(self) -> bool:
        return any(part.is_beyond_arrow for part in self.parts)

    def holds(self, row: Row) -> bool:
        return (all if self.word == "AND" else any)(part.holds(row) for part in self.parts)

    def sql(self, engine: str) -> str:
        return "(" + f" {self.word} ".join(part.sql(engine) for part in self.parts) + ")"

    def iceberg(self) -> BooleanExpression:
        join = iceberg.And if self.word == "AND" else iceberg.Or
        return reduce(join, (part.iceberg() for part in self.parts))


@dataclass(frozen=True)
class Negation:
    part: Question

    def asks_of(self, of: type) -> bool:
        return self.part.asks_of(of)

    @property
    def is_beyond_arrow(self) -> bool:
        return self.part.is_beyond_arrow

    def holds(self, row: Row) -> bool:
        return not self.part.holds(row)

    def sql(self, engine: str) -> str:
        return f"(NOT {self.part.sql(engine)})"

    def iceberg(self) -> BooleanExpression:
        return iceberg.Not(self.part.iceberg())


Question = Atom | Several | Negation


def draw_question(
    choose: Choices,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    depth: int = 2,
    guarded: bool = False,
) -> Question:
    shape = choose.choice(("atom",) * 5 + ("AND", "OR", "NOT")) if depth else "atom"
    if shape == "atom":
        return _draw_atom(choose, choose.choice(columns), rows, guarded)
    if shape == "NOT":
        return Negation(draw_question(choose, columns, rows, depth=depth - 1, guarded=True))
    parts = (
        draw_question(choose, columns, rows, depth=depth - 1, guarded=guarded)
        for _ in range(choose.randint(2, 3))
    )
    return Several(tuple(parts), shape)


def _draw_atom(choose: Choices, column: Column, rows: Sequence[Row], guarded: bool) -> Atom:
    operators = [*COMPARED, "=", "=", "<=", ">=", IN, IN, IS_NULL]
    if isinstance(column.of, types.BooleanType):
        operators = ["=", "!=", IS_NULL]
    if isinstance(column.of, types.StringType):
        operators += [STARTS_WITH, STARTS_WITH]
    if column.is_floating:
        operators.append(IS_NAN)
    chosen = choose.choice(operators)
    if chosen in (IS_NULL, IS_NAN):
        return Atom(column, chosen, guarded=guarded)
    known = [value for value in column.values if _can_be_asked(column, value)]
    # Mostly what is in some file: bounds that are wrong hide it.
    there = [value for row in rows if _can_be_asked(column, value := column.value(row))]
    value = choose.choice(there if there and choose.random() < 0.8 else known)
    if chosen == IN:
        return Atom(column, chosen, (value, choose.choice(known)), guarded)
    if chosen == STARTS_WITH:
        return Atom(column, chosen, (value[: choose.randint(1, 20)] or "a",), guarded)
    # To Iceberg a null is unequal to everything, which DELETE goes by.
    return Atom(column, chosen, (value,), guarded or chosen == "!=")


def _can_be_asked(column: Column, value: Any) -> bool:
    if value is None or value != value:
        return False
    if column.is_floating and value == 0:
        # Iceberg has -0.0 below 0.0, and leaves row groups out by that.
        return False
    # pyiceberg takes the infinite for what no float can be.
    return not isinstance(column.of, types.FloatType) or math.isfinite(value)
