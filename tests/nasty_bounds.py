"""What manifests say of files that has led readers astray: which of it a sample of cases holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pyiceberg import types
from pyiceberg.conversions import from_bytes, to_bytes
from tests.random_files import Column, Row, present

from neve.model.rewrite import ColumnMetrics

#: Every sample must hold each of them, whatever its seeds.
NASTY = frozenset(
    {
        "a bound of NaN",
        "a bound of NaN in a nested field",
        "inverted bounds of numbers",
        "inverted bounds of texts",
        "inverted bounds in a nested field",
        "both zeros",
        "a text cut short",
        "bytes cut short",
        "a nested text cut short",
        "a decimal in sixteen bytes",
        "one bound alone",
        "nulls that nobody counted",
    }
)


def is_hidden_lie(columns: Sequence[Column], rows: Sequence[Row], metrics: ColumnMetrics) -> bool:
    """Whether a bound is wrong, and looks right to whoever sees this file alone."""
    return any(
        _is_wrong(low, high, values) and not _shows(low, high)
        for column, low, high, values in _bounds(columns, rows, metrics)
        # Nobody trusts the order of UUIDs.
        if not isinstance(column.of, types.UUIDType)
    )


def _is_wrong(low: Any, high: Any, values: list[Any]) -> bool:
    found = [_ordered(value) for value in present(values)]
    above = low is not None and any(value < _ordered(low) for value in found)
    return above or (high is not None and any(value > _ordered(high) for value in found))


def _shows(low: Any, high: Any) -> bool:
    if low != low or high != high:
        return True
    return low is not None and high is not None and bool(_ordered(low) > _ordered(high))


def _ordered(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _bounds(
    columns: Sequence[Column], rows: Sequence[Row], metrics: ColumnMetrics
) -> Iterator[tuple[Column, Any, Any, list[Any]]]:
    for column in columns:
        low, high = (
            None if raw is None else from_bytes(column.of, raw)
            for raw in (
                metrics.lower_bounds.get(column.field_id),
                metrics.upper_bounds.get(column.field_id),
            )
        )
        held = (column.value(row) for row in rows)
        values = [
            None if v is None else from_bytes(column.of, to_bytes(column.of, v)) for v in held
        ]
        yield column, low, high, values


def nasty(columns: Sequence[Column], rows: Sequence[Row], metrics: ColumnMetrics) -> set[str]:
    """The names of what this file has of it."""
    found = set()
    for column, low, high, values in _bounds(columns, rows, metrics):
        found.update(_nasty_ends(column, low, high))
        found.update(_nasty_values(column, low, values))
        raw = metrics.lower_bounds.get(column.field_id)
        if isinstance(column.of, types.DecimalType) and raw is not None and len(raw) == 16:
            found.add("a decimal in sixteen bytes")
        if column.field_id not in metrics.null_value_counts:
            found.add("nulls that nobody counted")
    return found


def _nasty_ends(column: Column, low: Any, high: Any) -> Iterator[str]:
    nested = "." in column.name
    if low != low or high != high:
        yield "a bound of NaN in a nested field" if nested else "a bound of NaN"
    elif _shows(low, high):
        of = "texts" if isinstance(column.of, types.StringType) else "numbers"
        yield "inverted bounds in a nested field" if nested else f"inverted bounds of {of}"
    if (low is None) != (high is None):
        yield "one bound alone"


def _nasty_values(column: Column, low: Any, values: list[Any]) -> Iterator[str]:
    if column.is_floating and len({math.copysign(1, v) for v in values if v == 0}) == 2:
        yield "both zeros"
    if low is None or not present(values) or low in values:
        return
    if isinstance(column.of, types.StringType):
        yield "a nested text cut short" if "." in column.name else "a text cut short"
    if isinstance(column.of, types.BinaryType):
        yield "bytes cut short"
