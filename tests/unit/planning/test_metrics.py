from __future__ import annotations

import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.rewrite import ColumnMetrics, FileDetails, LeafColumn
from neve.planning.metrics import merge_metrics


def details(records=10, **metrics):
    return FileDetails("p", 0, (), 1, records, ColumnMetrics(**metrics))


def merged(*files, of="long"):
    return merge_metrics(files, [LeafColumn(1, of)])


def long(value):
    return struct.pack("<q", value)


def bounded(lower, upper, **metrics):
    counts = {"value_counts": {1: 10}, "null_value_counts": {1: 0}}
    return details(lower_bounds={1: lower}, upper_bounds={1: upper}, **{**counts, **metrics})


def test_counts_are_added():
    one = details(value_counts={1: 5, 2: 1}, null_value_counts={1: 1}, column_sizes={1: 100})
    two = details(value_counts={1: 7}, null_value_counts={1: 2}, column_sizes={1: 50})

    result = merged(one, two)

    assert result.value_counts == {1: 12}
    assert result.null_value_counts == {1: 3}
    assert result.column_sizes == {1: 150}
    assert result.nan_value_counts is None


def encode_decimal(value):
    unscaled = int(value * 100)
    return unscaled.to_bytes(max(1, (unscaled.bit_length() + 8) // 8), "big", signed=True)


@pytest.mark.parametrize(
    ("of", "values", "encode"),
    [
        ("long", [-5, 300, 7], long),
        ("timestamp", [-1, 10**15], long),
        ("int", [-5, 300, 7], lambda v: struct.pack("<i", v)),
        ("date", [-5, 300, 7], lambda v: struct.pack("<i", v)),
        ("double", [-1.5, 1e300, 0.0], lambda v: struct.pack("<d", v)),
        ("float", [-1.5, 8.0], lambda v: struct.pack("<f", v)),
        ("decimal(9, 2)", [Decimal("-1.28"), Decimal("1.27"), Decimal("300")], encode_decimal),
        ("string", ["a", "ab", "é"], str.encode),
        ("binary", [b"\x00", b"\xff", b"\x7f"], bytes),
        ("boolean", [False, True], lambda v: bytes([v])),
    ],
)
def test_bounds_are_compared_by_type(of, values, encode):
    files = [bounded(encode(value), encode(value)) for value in values]

    result = merged(*files, of=of)

    assert result.lower_bounds == {1: encode(min(values))}
    assert result.upper_bounds == {1: encode(max(values))}


def test_a_negative_zero_is_below_a_positive_one():
    zero, minus = struct.pack("<d", 0.0), struct.pack("<d", -0.0)

    result = merged(bounded(zero, minus), bounded(minus, zero), of="double")

    assert (result.lower_bounds, result.upper_bounds) == ({1: minus}, {1: zero})


def test_a_file_of_nulls_has_no_say():
    nulls = details(value_counts={1: 10}, null_value_counts={1: 10})

    assert merged(bounded(long(1), long(2)), nulls).lower_bounds == {1: long(1)}


def test_a_file_with_values_and_no_bounds_takes_the_bounds_away():
    silent = details(value_counts={1: 10}, null_value_counts={1: 0})

    assert merged(bounded(long(1), long(2)), silent).lower_bounds is None


def test_an_empty_file_has_no_say():
    assert merged(bounded(long(1), long(2)), details(records=0)).lower_bounds == {1: long(1)}


def test_bounds_of_unknown_types_are_dropped():
    assert merged(bounded(b"x", b"y"), of="variant").lower_bounds is None


def test_bounds_from_before_a_promotion_still_compare():
    promoted = bounded(struct.pack("<i", -7), struct.pack("<i", 9))

    assert merged(promoted, bounded(long(1), long(5))).lower_bounds == {1: struct.pack("<i", -7)}


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), min_size=1, max_size=6))
def test_merged_bounds_are_the_bounds_of_all_values(columns):
    files = [bounded(long(min(values)), long(max(values))) for values in columns]
    everything = [value for values in columns for value in values]

    result = merged(*files)

    assert result.lower_bounds == {1: long(min(everything))}
    assert result.upper_bounds == {1: long(max(everything))}
