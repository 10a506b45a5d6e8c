"""Predicates as Iceberg expressions: which files may hold rows that match."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from difflib import get_close_matches
from typing import Any

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

from neve.catalog.manifests import Entry
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
        if isinstance(of, StringType | UUIDType):
            return value if isinstance(value, str) else None
    except ValueError:
        return None
    return None


def _to_number(value: Literal, of: IcebergType) -> Literal | None:
    if not isinstance(value, int | Decimal):
        return None
    if isinstance(of, IntegerType | LongType):
        if value != int(value):
            return None
        bits = 31 if isinstance(of, IntegerType) else 63
        return int(value) if -(2**bits) <= value < 2**bits else None
    if isinstance(of, DecimalType):
        return _to_decimal(Decimal(value), of)
    return float(value)


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

    @property
    def selects_all(self) -> bool:
        return isinstance(self._expression, AlwaysTrue)

    def selects(self, entry: Entry) -> bool:
        if self.selects_all:
            return True
        metrics: Any = entry.metrics
        return self._partition_evaluator(entry.spec_id)(entry.partition) and (
            metrics is None or bool(self._by_metrics.eval(metrics))
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
