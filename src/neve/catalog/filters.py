"""Predicates as Iceberg expressions: which files may hold rows that match."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from difflib import get_close_matches
from typing import Any
from uuid import UUID

import pyiceberg.expressions
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import (
    _InclusiveMetricsEvaluator,
    bind,
    expression_evaluator,
    inclusive_projection,
    rewrite_not,
)
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from neve.catalog.manifests import Entry, Metrics
from neve.model.errors import FilterError
from neve.model.predicate import (
    And,
    Comparison,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
)
from neve.planning.expressions import from_predicate, to_json

# The constructors take plain names and values; their type hints know only the bound forms.
iceberg: Any = pyiceberg.expressions
COMPARISONS: dict[str, Callable[[str, object], BooleanExpression]] = {
    "=": iceberg.EqualTo,
    "<>": iceberg.NotEqualTo,
    "<": iceberg.LessThan,
    "<=": iceberg.LessThanOrEqual,
    ">": iceberg.GreaterThan,
    ">=": iceberg.GreaterThanOrEqual,
}
#: Digits of the largest long.
MAX_LONG_DIGITS = 19
NUMBERS = (IntegerType, LongType, FloatType, DoubleType, DecimalType)


def resolve_predicate(predicate: Predicate, schema: Schema) -> Predicate:
    """The predicate with columns as the schema spells them and values of the columns' types."""
    if isinstance(predicate, And):
        return And(tuple(resolve_predicate(operand, schema) for operand in predicate.operands))
    if isinstance(predicate, Or):
        return Or(tuple(resolve_predicate(operand, schema) for operand in predicate.operands))
    if isinstance(predicate, Not):
        return Not(resolve_predicate(predicate.operand, schema))
    name, of = _column(predicate.column, predicate.position, schema)
    if isinstance(predicate, IsNull):
        return IsNull(name, predicate.negated, predicate.position)
    if isinstance(predicate, In):
        values = tuple(_convert(value, of, name, predicate.position) for value in predicate.values)
        return In(name, values, predicate.negated, predicate.position)
    value = _convert(predicate.value, of, name, predicate.position)
    return Comparison(name, predicate.operator, value, predicate.position)


def _column(name: str, position: int, schema: Schema) -> tuple[str, IcebergType]:
    try:
        field = schema.find_field(name, case_sensitive=False)
    except ValueError:
        field = None
    if field is not None and isinstance(field.field_type, PrimitiveType):
        return schema.find_column_name(field.field_id) or name, field.field_type
    if field is not None:
        raise FilterError(
            f"Column {name!r} at character {position + 1} is a {field.field_type}; "
            "only simple columns can be compared.",
            position=position,
        )
    names = [column.name for column in schema.fields]
    near = get_close_matches(name, names, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Columns: {', '.join(names[:30])}."
    raise FilterError(
        f"There is no column {name!r} (character {position + 1} of the filter).",
        position=position,
        next_step=hint,
    )


def _convert(value: Literal, of: IcebergType, column: str, position: int) -> Literal:
    converted = _convert_or_none(value, of)
    if converted is None:
        raise FilterError(
            f"Column {column!r} is a {of} and cannot be compared with {value!s} "
            f"(character {position + 1} of the filter).",
            position=position,
        )
    return converted


def _convert_or_none(value: Literal, of: IcebergType) -> Literal | None:
    """The value in the column's type, or None where that would change its meaning."""
    try:
        if isinstance(of, BooleanType):
            return value if isinstance(value, bool) else None
        if isinstance(value, bool):
            return None
        if isinstance(of, NUMBERS):
            return _to_number(value, of)
        if isinstance(of, DateType):
            return _to_date(value)
        if isinstance(of, TimestampType | TimestamptzType):
            return _to_timestamp(value, with_zone=isinstance(of, TimestamptzType))
        if isinstance(of, StringType):
            return value if isinstance(value, str) else None
        if isinstance(of, UUIDType):
            return str(UUID(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
    return None


def _to_number(value: Literal, of: IcebergType) -> Literal | None:
    if not isinstance(value, int | Decimal):
        return None
    if isinstance(of, DecimalType):
        return _to_decimal(Decimal(value), of)
    if isinstance(of, FloatType | DoubleType):
        return _to_float(value, of)
    # Writing out a number such as 1e999999999 would take hours.
    if Decimal(value).adjusted() >= MAX_LONG_DIGITS or value != int(value):
        return None
    bits = 31 if isinstance(of, IntegerType) else 63
    return int(value) if -(2**bits) <= value < 2**bits else None


def _to_float(value: int | Decimal, of: IcebergType) -> float | None:
    """The nearest float of the column's width, as an engine compares it."""
    number = float(value)
    if isinstance(of, FloatType):
        number = struct.unpack("<f", struct.pack("<f", number))[0]
    return number if math.isfinite(number) else None


def _to_decimal(value: Decimal, of: DecimalType) -> Decimal | None:
    """The value with the column's scale, if that is exact and fits the column's precision."""
    if value.adjusted() >= of.precision - of.scale and value != 0:
        return None
    scaled = value.quantize(Decimal(1).scaleb(-of.scale), context=Context(prec=76))
    return scaled if scaled == value else None


def _to_date(value: Literal) -> date | None:
    if isinstance(value, datetime):
        return None
    if isinstance(value, date):
        return value
    return date.fromisoformat(value) if isinstance(value, str) else None


def _to_timestamp(value: Literal, *, with_zone: bool) -> datetime | None:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - zone follows below
    if not isinstance(value, datetime):
        return None
    if with_zone:
        # Iceberg keeps instants in UTC; a moment without a zone is taken as such.
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def to_expression(predicate: Predicate) -> BooleanExpression:
    """A resolved predicate as pyiceberg's expression."""
    expression: BooleanExpression
    if isinstance(predicate, And):
        expression = iceberg.And(*(to_expression(operand) for operand in predicate.operands))
    elif isinstance(predicate, Or):
        expression = iceberg.Or(*(to_expression(operand) for operand in predicate.operands))
    elif isinstance(predicate, Not):
        expression = iceberg.Not(to_expression(predicate.operand))
    elif isinstance(predicate, IsNull):
        test = iceberg.NotNull if predicate.negated else iceberg.IsNull
        expression = test(predicate.column)
    elif isinstance(predicate, In):
        test = iceberg.NotIn if predicate.negated else iceberg.In
        expression = test(predicate.column, [_plain(value) for value in predicate.values])
    else:
        expression = COMPARISONS[predicate.operator](predicate.column, _plain(predicate.value))
    return expression


def _plain(value: Literal) -> object:
    """Moments go to pyiceberg as text, which it parses by the column's type."""
    return value.isoformat() if isinstance(value, date) else value


class FileSelector:
    """Answers whether a file may hold rows that match, from partition and column statistics."""

    def __init__(self, predicate: Predicate | None, metadata: TableMetadata) -> None:
        self._metadata = metadata
        schema = metadata.schema()
        self._expression: BooleanExpression = AlwaysTrue()
        self.expression_json: str | None = None
        if predicate is not None:
            resolved = resolve_predicate(predicate, schema)
            self.expression_json = to_json(from_predicate(resolved))
            self._expression = rewrite_not(to_expression(resolved))
            bind(schema, self._expression, case_sensitive=True)
        self._by_metrics = _InclusiveMetricsEvaluator(
            schema, self._expression, include_empty_files=True
        )
        self._by_partition: dict[int, Callable[[Any], bool]] = {}
        self._uuid_columns = frozenset(
            field_id
            for field_id in schema.field_ids
            if isinstance(schema.find_type(field_id), UUIDType)
        )

    @property
    def selects_all(self) -> bool:
        return isinstance(self._expression, AlwaysTrue)

    def selects(self, entry: Entry) -> bool:
        if self.selects_all:
            return True
        if not self._partition_evaluator(entry.spec_id)(_comparable(entry.partition)):
            return False
        if entry.metrics is None:
            return True
        metrics: Any = self._without_uuid_bounds(entry.metrics)
        return bool(self._by_metrics.eval(metrics))

    def _without_uuid_bounds(self, metrics: Metrics) -> Metrics:
        """pyiceberg cannot compare them: its bounds are UUIDs and its literals bytes."""
        if not self._uuid_columns:
            return metrics
        return replace(
            metrics,
            lower_bounds=_without(metrics.lower_bounds, self._uuid_columns),
            upper_bounds=_without(metrics.upper_bounds, self._uuid_columns),
        )

    def _partition_evaluator(self, spec_id: int) -> Callable[[Any], bool]:
        if spec_id not in self._by_partition:
            schema, spec = self._metadata.schema(), self._metadata.specs()[spec_id]
            projected = inclusive_projection(schema, spec)(self._expression)
            partition_schema = Schema(*spec.partition_type(schema).fields)
            self._by_partition[spec_id] = expression_evaluator(
                partition_schema, projected, case_sensitive=True
            )
        return self._by_partition[spec_id]


def _comparable(partition: Record) -> Record:
    """The values as pyiceberg's literals are: UUIDs as bytes."""
    values = (partition[position] for position in range(len(partition)))
    return Record(*(value.bytes if isinstance(value, UUID) else value for value in values))


def _without(bounds: dict[int, bytes], columns: frozenset[int]) -> dict[int, bytes]:
    return {field_id: bound for field_id, bound in bounds.items() if field_id not in columns}
