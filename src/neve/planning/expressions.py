"""Predicates and partitions as Iceberg's expression JSON, the form that every engine can read."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

from neve.model.groups import JsonValue, PartitionValue
from neve.model.predicate import And, Comparison, In, IsNull, Literal, Not, Or, Predicate

#: An expression is a JSON object, or the constant true.
Expression = dict[str, object] | bool
ZEROS = (-0.0, 0.0)
_STRING_OR_INFINITY = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity')
_INFINITIES = {"Infinity": "1e999", "-Infinity": "-1e999"}
OPERATORS = {"=": "eq", "<>": "not-eq", "<": "lt", "<=": "lt-eq", ">": "gt", ">=": "gt-eq"}


def from_predicate(predicate: Predicate) -> Expression:
    """A predicate whose values have the types of their columns."""
    if isinstance(predicate, And):
        return combine("and", [from_predicate(operand) for operand in predicate.operands])
    if isinstance(predicate, Or):
        return combine("or", [from_predicate(operand) for operand in predicate.operands])
    if isinstance(predicate, Not):
        return {"type": "not", "child": from_predicate(predicate.operand)}
    if isinstance(predicate, IsNull):
        return {"type": "not-null" if predicate.negated else "is-null", "term": predicate.column}
    if isinstance(predicate, In):
        return _in(predicate.column, predicate.values, negated=predicate.negated)
    if _is_zero(predicate.value):
        return _compare_zero(predicate)
    return {
        "type": OPERATORS[predicate.operator],
        "term": predicate.column,
        "value": _single_value(predicate.value),
    }


def _in(column: str, values: Iterable[Literal], *, negated: bool) -> Expression:
    spelled = [each for value in values for each in (ZEROS if _is_zero(value) else (value,))]
    return {
        "type": "not-in" if negated else "in",
        "term": column,
        "values": [_single_value(value) for value in spelled],
    }


def _is_zero(value: Literal) -> bool:
    return isinstance(value, float) and value == 0


def _compare_zero(predicate: Comparison) -> Expression:
    """Zeros are equal in SQL, while Iceberg's filters have -0.0 below 0.0."""
    if predicate.operator in ("=", "<>"):
        return _in(predicate.column, (0.0,), negated=predicate.operator == "<>")
    return {
        "type": OPERATORS[predicate.operator],
        "term": predicate.column,
        "value": ZEROS[predicate.operator in ("<=", ">")],
    }


def _single_value(value: Literal) -> JsonValue:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def from_partitions(partitions: Iterable[tuple[PartitionValue, ...]]) -> Expression:
    """Rows of any of the partitions. Partitions of one field become one IN, the rest an OR."""
    singles: dict[tuple[str, str], list[JsonValue]] = defaultdict(list)
    alternatives: list[Expression] = []
    for partition in partitions:
        fields = [f for f in partition if f.source_column is not None and f.transform != "void"]
        if not fields:
            return True
        only = fields[0]
        if len(fields) == 1 and not _needs_test(only.value):
            singles[only.source_column or "", only.transform].append(only.value)
        else:
            alternatives.append(combine("and", [_field_equals(field) for field in fields]))
    for (column, transform), values in singles.items():
        alternatives.append({"type": "in", "term": _term(column, transform), "values": values})
    return combine("or", alternatives)


def _field_equals(field: PartitionValue) -> Expression:
    term = _term(field.source_column or "", field.transform)
    if field.value is None:
        return {"type": "is-null", "term": term}
    if _needs_test(field.value):
        return {"type": "is-nan", "term": term}
    return {"type": "eq", "term": term, "value": field.value}


def _needs_test(value: JsonValue) -> bool:
    """Null and NaN equal nothing, so they have tests of their own."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _term(column: str, transform: str) -> object:
    if transform == "identity":
        return column
    return {"type": "transform", "transform": transform, "term": column}


def combine(kind: str, operands: Sequence[Expression]) -> Expression:
    """Join by `and` or `or` as a balanced tree: readers recurse, and partitions may be many."""
    absorbing = kind == "or"
    if any(operand is absorbing for operand in operands):
        return absorbing
    rest = [operand for operand in operands if not isinstance(operand, bool)]
    if not rest:
        return not absorbing
    if len(rest) == 1:
        return rest[0]
    middle = len(rest) // 2
    return {
        "type": kind,
        "left": combine(kind, rest[:middle]),
        "right": combine(kind, rest[middle:]),
    }


def to_json(expression: Expression) -> str:
    text = json.dumps(expression, separators=(",", ":"))
    # JSON has no word for infinity, but a number that is too large for a double is read as such.
    return _STRING_OR_INFINITY.sub(lambda found: _INFINITIES.get(found[0], found[0]), text)


def from_json(text: str) -> Expression:
    loaded = json.loads(text)
    assert isinstance(loaded, dict | bool)
    return loaded
