from __future__ import annotations

import math
import struct
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.rewrite import ColumnMetrics, FileDetails, LeafColumn
from neve.planning.metrics import as_wide_as_sources, merge_metrics


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
    one = details(5, value_counts={1: 5, 2: 1}, null_value_counts={1: 1}, column_sizes={1: 100})
    two = details(7, value_counts={1: 7}, null_value_counts={1: 2}, column_sizes={1: 50})

    result = merged(one, two)

    assert result.value_counts == {1: 12}
    assert result.null_value_counts == {1: 3}
    assert result.column_sizes == {1: 150}
    assert result.nan_value_counts is None


def encode_decimal(value):
    unscaled = int(value * 100)
    # As few bytes as hold the number and its sign.
    return next(
        unscaled.to_bytes(length, "big", signed=True)
        for length in range(1, 17)
        if -(1 << 8 * length - 1) <= unscaled < 1 << 8 * length - 1
    )


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
        ("string", ["\ud7ff", "\ue000", ""], str.encode),
        ("binary", [b"\x00", b"\x7f", b"a"], bytes),
        ("fixed[2]", [b"\xff\x00", b"\x80", b"\xff\x01"], bytes),
        ("uuid", [UUID(int=7 << 100 | 1 << 63), UUID(int=9 << 100 | 1 << 63)], lambda v: v.bytes),
        ("time", [1, 86_399_999_999], long),
        ("timestamptz_ns", [-(2**63), 2**63 - 1], long),
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

    result = merged(bounded(zero, zero), bounded(minus, minus), of="double")

    assert (result.lower_bounds, result.upper_bounds) == ({1: minus}, {1: zero})


def double(value):
    return struct.pack("<d", value)


NEGATIVE, POSITIVE = UUID(int=1 << 127 | 5), UUID(int=3)


@pytest.mark.parametrize(
    ("of", "lower", "upper"),
    [
        ("double", double(math.nan), double(math.nan)),
        ("double", double(1), double(-math.nan)),
        ("double", double(math.nan), double(1)),
        ("double", double(2), double(1)),
        ("double", double(0.0), double(-0.0)),
        ("double", double(1), b"\x00" * 7),
        ("double", b"", double(1)),
        ("float", double(1), double(2)),
        ("int", long(1), long(2)),
        ("long", long(2), long(1)),
        ("long", b"\x01\x00", long(1)),
        ("date", long(1), long(2)),
        ("timestamp", struct.pack("<i", 1), struct.pack("<i", 2)),
        ("timestamptz", long(1), b"\x00" * 16),
        ("time", struct.pack("<i", 1), long(2)),
        ("boolean", b"\x01", b"\x00"),
        ("boolean", b"\x00", b"\x07"),
        ("boolean", b"", b"\x01"),
        ("decimal(4, 2)", b"\x02", b"\x01"),
        ("decimal(4, 2)", b"", b"\x01"),
        ("decimal(4, 2)", b"\x01", b"\x7f\xff"),
        ("decimal(38, 2)", b"\x00" * 17, b"\x01"),
        ("string", b"b", b"a"),
        ("string", b"a", b"\xff\xfe"),
        # By UTF-16 units the smiley comes first, by code points the other one.
        ("string", "\U0001f600".encode(), "\uffee".encode()),
        ("string", "\uffee".encode(), "\U0001f600".encode()),
        ("binary", b"\x01", b"\xff"),
        ("binary", b"\xff", b"\x01"),
        ("fixed[2]", b"\x01\x00\x00", b"\x02"),
        ("fixed[2]", b"\xff", b"\x01"),
        ("uuid", NEGATIVE.bytes, POSITIVE.bytes),
        ("uuid", POSITIVE.bytes, NEGATIVE.bytes),
        ("uuid", b"\x00" * 15, b"\x01" * 16),
        ("geometry", b"a", b"b"),
        ("unknown", b"a", b"b"),
    ],
)
def test_a_doubtful_bound_of_one_file_takes_both_away(of, lower, upper):
    decent = GOOD[of.partition("(")[0].partition("[")[0]]
    nans = {"nan_value_counts": {1: 0}} if of in ("double", "float") else {}

    for files in ((decent, (lower, upper)), ((lower, upper), decent)):
        result = merged(*(bounded(*each, **nans) for each in files), of=of)
        assert (result.lower_bounds, result.upper_bounds) == (None, None)
        assert result.value_counts == {1: 20}


#: Bounds that would be merged.
GOOD = {
    "double": (double(5), double(6)),
    "float": (struct.pack("<f", 5), struct.pack("<f", 6)),
    "int": (struct.pack("<i", 5), struct.pack("<i", 6)),
    "long": (long(5), long(6)),
    "date": (struct.pack("<i", 5), struct.pack("<i", 6)),
    "timestamp": (long(5), long(6)),
    "timestamptz": (long(5), long(6)),
    "time": (long(5), long(6)),
    "boolean": (b"\x00", b"\x01"),
    "decimal": (b"\x05", b"\x06"),
    "string": (b"a", b"b"),
    "binary": (b"a", b"b"),
    "fixed": (b"a", b"b"),
    "uuid": (UUID(int=5).bytes, UUID(int=6).bytes),
    "geometry": (b"a", b"b"),
    "unknown": (b"a", b"b"),
}


@pytest.mark.parametrize("of", [of for of in GOOD if of not in ("geometry", "unknown")])
def test_bounds_without_doubt_are_merged(of):
    full = {"decimal": "decimal(4, 2)", "fixed": "fixed[2]"}.get(of, of)

    result = merged(bounded(*GOOD[of]), bounded(*GOOD[of]), of=full)

    assert (result.lower_bounds, result.upper_bounds) == ({1: GOOD[of][0]}, {1: GOOD[of][1]})


@pytest.mark.parametrize(
    ("of", "one", "other"),
    [
        ("string", "\U0001f600".encode(), "\uffee".encode()),
        ("binary", b"\x01", b"\xff"),
        ("uuid", NEGATIVE.bytes, POSITIVE.bytes),
        ("uuid", UUID(int=1).bytes, UUID(int=1 << 63).bytes),
    ],
)
def test_files_whose_bounds_writers_order_differently_give_none(of, one, other):
    result = merged(bounded(one, one), bounded(other, other), of=of)

    assert (result.lower_bounds, result.upper_bounds) == (None, None)


def test_a_missing_upper_bound_leaves_the_lower_ones():
    """A text whose end cannot be counted up has no upper bound."""
    open_ended = details(
        lower_bounds={1: b"b"}, value_counts={1: 10}, null_value_counts={1: 0}, upper_bounds={}
    )

    result = merged(bounded(b"a", b"c"), open_ended, of="string")

    assert (result.lower_bounds, result.upper_bounds) == ({1: b"a"}, None)


def test_decimals_of_different_widths_are_numbers():
    wide = bounded((-1).to_bytes(16, "big", signed=True), (300).to_bytes(9, "big"))

    result = merged(wide, bounded(b"\x05", b"\x06"), of="decimal(9, 2)")

    assert (result.lower_bounds, result.upper_bounds) == ({1: b"\xff"}, {1: b"\x01\x2c"})


def test_bounds_inside_lists_and_maps_are_dropped():
    files = [bounded(long(1), long(2))]

    assert merge_metrics(files, [LeafColumn(1, "long", repeated=True)]).lower_bounds is None


@pytest.mark.parametrize(
    "counts",
    [
        {"value_counts": {1: 10}, "null_value_counts": {1: 11}},
        {"value_counts": {1: 10}, "null_value_counts": {1: -1}},
        {"value_counts": {1: -10}, "null_value_counts": {1: 0}},
        {"value_counts": {1: 0}, "null_value_counts": {1: 0}},
        {"value_counts": {1: 11}, "null_value_counts": {1: 0}},
        {"value_counts": {1: 10}, "null_value_counts": {1: 6}, "nan_value_counts": {1: 6}},
        {"value_counts": {1: 10}, "null_value_counts": {1: 0}, "nan_value_counts": {1: -3}},
    ],
)
def test_counts_that_contradict_each_other_are_dropped_with_the_bounds(counts):
    good = {"value_counts": {1: 10, 2: 1}, "null_value_counts": {1: 0, 2: 0}}
    nans = {"nan_value_counts": {1: 0}} if "nan_value_counts" in counts else {}
    bad = {name: {**count, 2: 0} for name, count in counts.items()}

    result = merged(
        bounded(double(1), double(2), **good, **nans),
        bounded(double(1), double(2), **bad),
        of="double",
    )

    assert (result.lower_bounds, result.upper_bounds) == (None, None)
    assert (result.value_counts, result.null_value_counts) == ({2: 1}, {2: 0})


@pytest.mark.parametrize("count", ["null_value_counts", "nan_value_counts"])
@pytest.mark.parametrize("missing", [None, {}, {2: 0}])
def test_a_count_that_only_some_files_have_takes_the_bounds_away(count, missing):
    """Iceberg takes a missing count for zero and deletes whole files by their bounds."""
    known = {"null_value_counts": {1: 3}, "nan_value_counts": {1: 3}}
    unknown = {**known, count: missing}

    result = merged(
        bounded(double(1), double(2), **known),
        bounded(double(1), double(2), **unknown),
        of="double",
    )

    assert (result.lower_bounds, result.upper_bounds) == (None, None)
    assert not getattr(result, count)


def test_nans_of_a_column_that_has_none_take_the_bounds_away():
    result = merged(bounded(long(1), long(2)), bounded(long(1), long(2), nan_value_counts={1: 3}))

    assert (result.lower_bounds, result.upper_bounds, result.value_counts) == (None, None, {})


def test_a_file_of_nan_has_no_say():
    nans = details(value_counts={1: 10}, null_value_counts={1: 0}, nan_value_counts={1: 10})
    known = {"nan_value_counts": {1: 0}}

    result = merged(bounded(double(1), double(2), **known), nans, of="double")

    assert (result.lower_bounds, result.nan_value_counts) == ({1: double(1)}, {1: 10})


def test_a_file_of_nulls_and_nans_takes_the_bounds_away():
    """Readers open it, and Spark finds its NaNs above every number."""
    mixed = details(value_counts={1: 10}, null_value_counts={1: 4}, nan_value_counts={1: 6})
    known = {"nan_value_counts": {1: 0}}

    result = merged(bounded(double(1), double(2), **known), mixed, of="double")

    assert (result.lower_bounds, result.upper_bounds) == (None, None)
    assert result.nan_value_counts == {1: 6}


SEVEN_NANS = {"nan_value_counts": {1: 7}}
#: What a source with values tells, and the bounds that are left of measured ones of 1 and 2.
ABOVE_NANS = {
    "a higher bound": (bounded(double(0), double(9), **SEVEN_NANS), (1, 9)),
    "a lower bound": (bounded(double(0), double(1), **SEVEN_NANS), (1, 2)),
    "a higher bound without NaNs": (
        bounded(double(0), double(9), nan_value_counts={1: 0}),
        (1, 2),
    ),
    "no counts of NaNs": (bounded(double(0), double(9)), (1, 9)),
    "no bounds": (details(value_counts={1: 10}, null_value_counts={1: 0}), None),
    "nulls alone": (details(value_counts={1: 10}, null_value_counts={1: 10}), (1, 2)),
    "NaNs alone": (details(value_counts={1: 10}, nan_value_counts={1: 10}), (1, 2)),
    "nulls and NaNs": (
        details(value_counts={1: 10}, null_value_counts={1: 3}, **SEVEN_NANS),
        None,
    ),
    "a bound of NaN": (bounded(double(0), double(math.nan), **SEVEN_NANS), None),
    "no rows": (details(0), (1, 2)),
}


@pytest.mark.parametrize("source", ABOVE_NANS)
def test_measured_bounds_hide_no_nan_that_those_of_sources_did_not_hide(source):
    file, left = ABOVE_NANS[source]
    own = bounded(double(1), double(2), **SEVEN_NANS).metrics

    result = as_wide_as_sources(own, [file], [LeafColumn(1, "double")])

    bounds = tuple(each and each[1] for each in (result.lower_bounds, result.upper_bounds))
    assert bounds == ((double(left[0]), double(left[1])) if left else (None, None))
    assert result.nan_value_counts == {1: 7}


def test_measured_bounds_without_nans_stay():
    own = bounded(double(1), double(2), nan_value_counts={1: 0}).metrics

    assert as_wide_as_sources(own, [details()], [LeafColumn(1, "double")]) == own


@pytest.mark.parametrize(
    "counts",
    [
        {"value_counts": {1: 5}, "null_value_counts": {1: 5}},
        {"value_counts": {1: 10}, "null_value_counts": {1: 0}, "nan_value_counts": {1: 10}},
        {"null_value_counts": {1: 10}},
    ],
)
def test_a_file_that_only_seems_to_be_of_nulls_takes_the_bounds_away(counts):
    """Some writers do not count nulls as values; NaNs of a number that has none prove nothing."""
    assert merged(bounded(long(1), long(2)), details(**counts)).lower_bounds is None


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

    assert merged(promoted, bounded(long(1), long(5))).lower_bounds == {1: long(-7)}


def test_bounds_of_floats_are_widened_with_their_column():
    promoted = bounded(struct.pack("<f", -0.5), struct.pack("<f", 0.1))

    result = merged(promoted, bounded(double(0), double(0.05)), of="double")

    assert result.lower_bounds == {1: double(-0.5)}
    assert result.upper_bounds == {1: double(struct.unpack("<f", struct.pack("<f", 0.1))[0])}


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), min_size=1, max_size=6))
def test_merged_bounds_are_the_bounds_of_all_values(columns):
    files = [bounded(long(min(values)), long(max(values))) for values in columns]
    everything = [value for values in columns for value in values]

    result = merged(*files)

    assert result.lower_bounds == {1: long(min(everything))}
    assert result.upper_bounds == {1: long(max(everything))}
