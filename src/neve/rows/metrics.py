"""Column statistics from values, as Iceberg's writers put them into manifests.

A field of a struct that is null counts as null, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neve.model.rewrite import ColumnMetrics
from neve.planning.bounds import bound_type
from neve.rows.metric_modes import MetricsMode
from neve.rows.sameness import FLOATING, plain_values
from neve.rows.schema import STRUCT, Field, Schema

_MAX_CODE_POINT: Final = 0x10FFFF


@dataclass(frozen=True, slots=True)
class ValueMetrics:
    """Of one column; bounds are exact values, and None where there is no value."""

    value_count: int
    null_count: int
    nan_count: int | None = None
    lower: Any = None
    upper: Any = None
    #: The pairs of signs that UUIDs have as two longs; more than one, and orders differ.
    signs: frozenset[int] = frozenset()

    def merged(self, other: ValueMetrics) -> ValueMetrics:
        """Of the values of both."""
        nans = None if self.nan_count is None else self.nan_count + (other.nan_count or 0)
        lowers = [each for each in (self.lower, other.lower) if each is not None]
        uppers = [each for each in (self.upper, other.upper) if each is not None]
        return ValueMetrics(
            self.value_count + other.value_count,
            self.null_count + other.null_count,
            nans,
            min(lowers, key=_order, default=None),
            max(uppers, key=_order, default=None),
            self.signs | other.signs,
        )


RowMetrics = Mapping[int, ValueMetrics]


def leaf_ids(schema: Schema) -> list[int]:
    """The columns that have statistics: those outside of lists and maps."""
    return [path[-1].id for path in measured_leaves(schema.fields)]


def measure(table: Any, schema: Schema) -> dict[int, ValueMetrics]:
    """Of every column outside of lists and maps; the table is evolved to the schema."""
    found = {}
    for path in measured_leaves(schema.fields):
        parts = [_of_chunk(chunk, path) for chunk in table.column(path[0].name).chunks]
        found[path[-1].id] = _all(parts, path[-1])
    return found


def merge(parts: Sequence[RowMetrics]) -> dict[int, ValueMetrics]:
    """Of the rows of all parts, which have the same columns."""
    merged: dict[int, ValueMetrics] = {}
    for part in parts:
        for field_id, metrics in part.items():
            known = merged.get(field_id)
            merged[field_id] = metrics if known is None else known.merged(metrics)
    return merged


def column_metrics(
    found: RowMetrics,
    schema: Schema,
    modes: Mapping[int, MetricsMode],
    column_sizes: Mapping[int, int] | None = None,
) -> ColumnMetrics:
    """What the manifest entry says. `column_sizes` are the compressed bytes of each leaf."""
    kept = {field_id: each for field_id, each in found.items() if modes[field_id].counts}
    sizes = {key: size for key, size in (column_sizes or {}).items() if modes[key].counts}
    if not any(each.value_count for each in found.values()):
        return ColumnMetrics(column_sizes=sizes or None)
    types = {field.id: field for _, field in schema.walk()}
    lower, upper = {}, {}
    for field_id, each in kept.items():
        length = modes[field_id].bound_length
        if length == 0:
            continue
        low, high = _serialised(each, types[field_id], length)
        if low is not None:
            lower[field_id] = low
        if high is not None:
            upper[field_id] = high
    nans = {key: each.nan_count for key, each in kept.items() if each.nan_count is not None}
    return ColumnMetrics(
        column_sizes=sizes or None,
        value_counts={key: each.value_count for key, each in kept.items()} or None,
        null_value_counts={key: each.null_count for key, each in kept.items()} or None,
        nan_value_counts=nans or None,
        lower_bounds=lower or None,
        upper_bounds=upper or None,
    )


def measured_leaves(
    fields: Sequence[Field], above: tuple[Field, ...] = ()
) -> Iterator[tuple[Field, ...]]:
    """The ways to the columns that have statistics."""
    for field in fields:
        if field.type.name == STRUCT:
            yield from measured_leaves(field.type.children, (*above, field))
        elif not field.type.is_nested and field.type.name != "unknown":
            yield (*above, field)


def _all(parts: Sequence[ValueMetrics], field: Field) -> ValueMetrics:
    found = ValueMetrics(0, 0, 0 if field.type.name in FLOATING else None)
    for part in parts:
        found = found.merged(part)
    return found


def _of_chunk(array: Any, path: Sequence[Field]) -> ValueMetrics:
    for field in path[1:]:
        array = pc.struct_field(array, [field.name])
    field = path[-1]
    nulls = array.null_count
    if pa.types.is_dictionary(array.type):
        # A null may also be a value of the dictionary.
        nulls = pc.sum(pc.is_null(array)).as_py() or 0
        if array.dictionary.null_count:
            array = array.dictionary_decode()
            nulls = array.null_count
    if field.type.name in FLOATING:
        return _of_floats(plain_values(array, field), nulls)
    used = _used(array)
    lower, upper = _extremes(used, field)
    signs = _signs(plain_values(used, field)) if field.type.name == "uuid" else frozenset()
    return ValueMetrics(len(array), nulls, None, lower, upper, signs)


def _signs(array: Any) -> frozenset[int]:
    """Java compares UUIDs as two signed longs, others by unsigned bytes."""
    values = array.drop_null()
    if not len(values):
        return frozenset()
    data = np.frombuffer(values.buffers()[1], dtype=np.uint8, offset=16 * values.offset)
    signs = data[: 16 * len(values)].reshape(-1, 2, 8)[:, :, 0] >> 7
    return frozenset(np.unique(signs @ np.array([2, 1], dtype=np.uint8)).tolist())


def _used(array: Any) -> Any:
    """Of a dictionary those values that rows refer to."""
    if not pa.types.is_dictionary(array.type):
        return array
    return array.dictionary.take(array.indices.drop_null().unique())


def _of_floats(array: Any, nulls: int) -> ValueMetrics:
    numbers = array.drop_null().to_numpy()
    is_nan = np.isnan(numbers)
    numbers = numbers[~is_nan]
    lower, upper = None, None
    if len(numbers):
        lower, upper = float(numbers.min()), float(numbers.max())
        negative_zeros = np.signbit(numbers[numbers == 0])
        if lower == 0:
            lower = -0.0 if negative_zeros.any() else 0.0
        if upper == 0:
            upper = -0.0 if negative_zeros.all() else 0.0
    return ValueMetrics(len(array), nulls, int(is_nan.sum()), lower, upper)


def _extremes(array: Any, field: Field) -> tuple[Any, Any]:
    values = plain_values(array, field)
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    found = pc.min_max(values)
    if not found["min"].is_valid:
        return None, None
    return _plain(found["min"].as_py(), field), _plain(found["max"].as_py(), field)


def _plain(value: Any, field: Field) -> Any:
    if field.type.name == "string":
        return value.encode()
    if field.type.name == "decimal":
        sign, digits, exponent = value.as_tuple()
        unscaled = int("".join(map(str, digits))) * 10 ** (exponent + field.type.scale)
        return -unscaled if sign else unscaled
    return value


def _order(value: Any) -> Any:
    return (value, math.copysign(1, value)) if isinstance(value, float) else value


def _serialised(
    found: ValueMetrics, field: Field, length: int | None
) -> tuple[bytes | None, bytes | None]:
    of = bound_type(str(field.type))
    if of is None or found.lower is None or len(found.signs) > 1:
        return None, None
    low, high = found.lower, found.upper
    if field.type.name == "string":
        text = low.decode()
        low, high = text[:length], _raised_text(high.decode(), length)
    elif field.type.name == "binary":
        low, high = low[:length], _raised(high, length, bytes, 0xFF)
    return of.encode(low), None if high is None else of.encode(high)


def _raised_text(value: str, length: int | None) -> str | None:
    """The least text of this length that is not below the value, or None if there is none."""

    def text(points: Sequence[int]) -> str:
        # Surrogates are no characters: the next one after U+D7FF is U+E000.
        return "".join(chr(0xE000 if point == 0xD800 else point) for point in points)

    raised = _raised([ord(char) for char in value], length, text, _MAX_CODE_POINT)
    return None if raised is None else str(raised)


def _raised(
    units: Sequence[int], length: int | None, join: Callable[[Sequence[int]], Any], last: int
) -> Any:
    if length is None or len(units) <= length:
        return join(units)
    kept = list(units[:length])
    while kept and kept[-1] == last:
        kept.pop()
    if not kept:
        return None
    kept[-1] += 1
    return join(kept)
