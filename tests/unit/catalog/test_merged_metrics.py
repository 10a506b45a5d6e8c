"""Merged statistics never say more than those of every source, whatever the sources say.

A reader that leaves the merged file out by a predicate left out each source; one that takes all of
its rows without reading them took all rows of each source.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pyiceberg import expressions as iceberg
from pyiceberg.conversions import to_bytes
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator, _StrictMetricsEvaluator
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from neve.catalog.details import leaf_columns
from neve.model.rewrite import ColumnMetrics, FileDetails
from neve.planning.metrics import merge_metrics

pytestmark = pytest.mark.promise(1)

FLOATS = [-math.inf, -1.5, -0.0, 0.0, 1.0, 2.5, math.inf]
TEXTS = ["", "a", "ab", "b", "é", "\uffee", "\U0001f600", "\U0001f600b"]
BYTES = [b"", b"\x00", b"a", b"\x7f", b"\x80", b"\xff", b"\xff\x01"]
VALUES = {
    IntegerType(): [-5, 0, 3, 2**31 - 1],
    LongType(): [-(2**63), -5, 0, 3, 2**40],
    FloatType(): FLOATS,
    DoubleType(): FLOATS,
    DecimalType(9, 2): [Decimal("-1.28"), Decimal("0.00"), Decimal("1.27"), Decimal("300.00")],
    StringType(): TEXTS,
    BinaryType(): BYTES,
    FixedType(2): [b"\x00\x00", b"\x7f\xff", b"\x80\x00", b"\xff\xff"],
    BooleanType(): [False, True],
    DateType(): [-400, 0, 20_000],
    TimeType(): [0, 5, 86_399_999_999],
    TimestampType(): [-5, 0, 10**15],
    TimestamptzType(): [-5, 0, 10**15],
}


@dataclass(frozen=True)
class File:
    """With the names that pyiceberg's evaluators use."""

    record_count: int
    value_counts: dict[int, int] | None
    null_value_counts: dict[int, int] | None
    nan_value_counts: dict[int, int] | None
    lower_bounds: dict[int, bytes] | None
    upper_bounds: dict[int, bytes] | None


@cache
def bounds(of):
    """Mostly bounds, sometimes bytes that are none."""
    strange = [b"", b"\x01", b"\xff\xfe\xfd", b"\x00" * 4, b"\x00" * 8, b"\x07" * 17]
    if isinstance(of, FloatType | DoubleType):
        layout = "<f" if isinstance(of, FloatType) else "<d"
        strange += [struct.pack(layout, math.nan)] * 4
    if isinstance(of, LongType):
        strange.append(struct.pack("<i", -7))
    if isinstance(of, DoubleType):
        strange.append(struct.pack("<f", 0.5))
    decent = st.sampled_from([to_bytes(of, value) for value in VALUES[of]])
    return st.one_of(decent, decent, decent, st.sampled_from(strange))


@cache
def counts(key, at_most):
    decent = st.integers(0, at_most)
    number = st.one_of(decent, st.just(0), st.just(at_most), st.integers(-1, 2 * at_most))
    return st.one_of(
        number.map(lambda n: {key: n}), number.map(lambda n: {key: n}), st.sampled_from([{}, None])
    )


@st.composite
def files(draw, key, of):
    records = draw(st.integers(0, 4))
    low, high = sorted([draw(bounds(of)), draw(bounds(of))], key=draw(st.sampled_from([None, len])))
    if draw(st.booleans()):
        low, high = high, low
    told = draw(st.sampled_from(["both", "both", "both", "lower", "upper", "neither"]))
    return File(
        records,
        draw(st.one_of(st.just({key: records}), counts(key, records))),
        draw(st.one_of(st.just({key: 0}), counts(key, records))),
        draw(st.one_of(st.just({key: 0}), st.none(), counts(key, records))),
        {key: low} if told in ("both", "lower") else draw(st.sampled_from([{}, None])),
        {key: high} if told in ("both", "upper") else draw(st.sampled_from([{}, None])),
    )


@cache
def predicates(name, of):
    value = st.sampled_from(VALUES[of])
    compared = [
        iceberg.EqualTo,
        iceberg.NotEqualTo,
        iceberg.LessThan,
        iceberg.LessThanOrEqual,
        iceberg.GreaterThan,
        iceberg.GreaterThanOrEqual,
    ]
    found = [
        st.tuples(st.sampled_from(compared), value).map(lambda p: p[0](name, p[1])),
        st.tuples(
            st.sampled_from([iceberg.In, iceberg.NotIn]), st.sets(value, min_size=2, max_size=3)
        ).map(lambda p: p[0](name, p[1])),
        st.sampled_from([iceberg.IsNull(name), iceberg.NotNull(name)]),
    ]
    if isinstance(of, FloatType | DoubleType):
        found.append(st.sampled_from([iceberg.IsNaN(name), iceberg.NotNaN(name)]))
    if isinstance(of, StringType):
        prefixed = st.sampled_from([iceberg.StartsWith, iceberg.NotStartsWith])
        found.append(
            st.tuples(prefixed, st.sampled_from(["a", "é", "\U0001f600"])).map(
                lambda p: p[0](name, p[1])
            )
        )
    return st.one_of(found)


def answer(evaluator, file, *, if_unreadable):
    try:
        return evaluator.eval(file)
    except (ValueError, struct.error, TypeError):
        return if_unreadable


def merged(sources, schema):
    details = [
        FileDetails(
            "p",
            0,
            (),
            1,
            file.record_count,
            ColumnMetrics(
                None,
                file.value_counts,
                file.null_value_counts,
                file.nan_value_counts,
                file.lower_bounds,
                file.upper_bounds,
            ),
        )
        for file in sources
    ]
    result = merge_metrics(details, leaf_columns(schema))
    return File(
        sum(file.record_count for file in sources),
        result.value_counts,
        result.null_value_counts,
        result.nan_value_counts,
        result.lower_bounds,
        result.upper_bounds,
    )


@pytest.mark.parametrize(
    ("of", "nested"),
    [*((of, False) for of in VALUES), (DoubleType(), True), (StringType(), True)],
    ids=str,
)
@given(data=st.data())
def test_merged_statistics_exclude_and_include_no_more_than_every_source(of, nested, data):
    column = NestedField(2, "x", of, required=False)
    parent = NestedField(1, "s", StructType(column), required=False)
    schema = Schema(parent if nested else column)
    sources = data.draw(st.lists(files(2, of), min_size=1, max_size=3))
    predicate = data.draw(predicates("s.x" if nested else "x", of))
    together = merged(sources, schema)

    filled = [file for file in sources if file.record_count]
    inclusive = _InclusiveMetricsEvaluator(schema, predicate, include_empty_files=True)
    strict = _StrictMetricsEvaluator(schema, predicate)

    event(f"bounds: {bool(together.lower_bounds)}")
    # What is merged can be read: no error is swallowed here.
    if filled and not inclusive.eval(together):
        assert not any(answer(inclusive, file, if_unreadable=True) for file in filled)
    # pyiceberg asks this of top-level columns only.
    if filled and not nested and strict.eval(together):
        assert all(answer(strict, file, if_unreadable=False) for file in filled)
