from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg import transforms as theirs
from pyiceberg import types as iceberg
from tests.unit.rows.tables import PRIMITIVES, array, listed

from neve.model.errors import RowsUnsupported
from neve.rows.schema import LIST, Field, Type
from neve.rows.transforms import transformed

TYPES: dict[str, Any] = {
    "boolean": iceberg.BooleanType(),
    "int": iceberg.IntegerType(),
    "long": iceberg.LongType(),
    "float": iceberg.FloatType(),
    "double": iceberg.DoubleType(),
    "date": iceberg.DateType(),
    "time": iceberg.TimeType(),
    "timestamp": iceberg.TimestampType(),
    "timestamptz": iceberg.TimestamptzType(),
    "timestamp_ns": iceberg.TimestampNanoType(),
    "string": iceberg.StringType(),
    "uuid": iceberg.UUIDType(),
    "binary": iceberg.BinaryType(),
    "fixed": iceberg.FixedType(5),
    "small": iceberg.DecimalType(7, 2),
    "large": iceberg.DecimalType(38, 0),
}
TRANSFORMS = {
    "identity": theirs.IdentityTransform(),
    "year": theirs.YearTransform(),
    "month": theirs.MonthTransform(),
    "day": theirs.DayTransform(),
    "hour": theirs.HourTransform(),
    "bucket[1]": theirs.BucketTransform(1),
    "bucket[16]": theirs.BucketTransform(16),
    "bucket[1000003]": theirs.BucketTransform(1000003),
    "truncate[1]": theirs.TruncateTransform(1),
    "truncate[10]": theirs.TruncateTransform(10),
}
PAIRS = [
    (name, transform)
    for name, kind in TYPES.items()
    for transform, their in TRANSFORMS.items()
    if their.can_transform(kind)
]


def field(name: str) -> Field:
    return Field(1, "c", False, PRIMITIVES[name][0])


#: Python's own dates, in which pyiceberg counts, end at both ends.
_DAYS = st.integers(-719_162, 2_932_896)
_MICROS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
_NARROW: dict[tuple[str, str], Any] = {
    **{("date", of): _DAYS for of in ("year", "month")},
    **{(name, of): _MICROS for name in ("timestamp", "timestamptz") for of in ("year", "month")},
    # What leaves its type is tested below.
    ("int", "truncate[10]"): st.integers(-(2**31) + 10, 2**31 - 1),
    ("long", "truncate[10]"): st.integers(-(2**63) + 10, 2**63 - 1),
    ("small", "truncate[10]"): st.integers(-999_999, 9_999_999).map(
        lambda v: Decimal(v).scaleb(-2)
    ),
    ("large", "truncate[10]"): st.integers(-(10**27), 10**27).map(Decimal),
    ("float", "identity"): st.floats(width=32, allow_nan=False),
}


@settings(max_examples=3 * settings().max_examples)
@given(st.sampled_from(PAIRS), st.data())
def test_every_transform_is_pyicebergs(pair: tuple[str, str], data: Any):
    name, transform = pair
    values = _NARROW.get(pair, PRIMITIVES[name][1])
    rows = data.draw(st.lists(st.none() | values, max_size=12))
    their = TRANSFORMS[transform].transform(TYPES[name])

    made = array(field(name), rows)
    found = transformed(pa.chunked_array([made.slice(0, 3), made.slice(3)]), field(name), transform)

    assert repr(listed(found)) == repr([None if row is None else their(row) for row in rows])
    if name in ("string", "binary", "int"):
        encoded = made.dictionary_encode()
        assert transformed(encoded, field(name), transform).equals(found)


@given(st.lists(st.integers(-800_000, 3_000_000)))
def test_years_and_months_beyond_pythons_dates(days: list[int]):
    years = transformed(pa.array(days, pa.int32()).view(pa.date32()), field("date"), "year")
    months = transformed(pa.array(days, pa.int32()).view(pa.date32()), field("date"), "month")

    # The calendar repeats after 400 years.
    era = 146_097
    shifted = [day % era for day in days]
    known = transformed(pa.array(shifted, pa.int32()).view(pa.date32()), field("date"), "month")
    expected = [m + (d // era) * 4800 for m, d in zip(known.to_pylist(), days, strict=True)]
    assert months.to_pylist() == expected
    assert years.to_pylist() == [month // 12 for month in expected]


@pytest.mark.parametrize(
    ("name", "transform"),
    [
        (name, transform)
        for name in TYPES
        for transform in TRANSFORMS
        if (name, transform) not in PAIRS
    ],
)
def test_what_iceberg_cannot_transform_is_refused(name: str, transform: str):
    with pytest.raises(RowsUnsupported):
        transformed(array(field(name), [None]), field(name), transform)


@pytest.mark.parametrize("transform", ["bucket[0]", "bucket", "truncate[-1]", "zorder", "days"])
def test_other_transforms_are_refused(transform: str):
    with pytest.raises(RowsUnsupported):
        transformed(pa.array([1], pa.int32()), field("int"), transform)


def test_nested_columns_are_no_sources():
    many = Field(1, "c", False, Type(LIST, (Field(2, "element", False, Type("int")),)))

    with pytest.raises(RowsUnsupported, match="nested"):
        transformed(pa.array([[1]]), many, "identity")


def test_void_is_null():
    assert transformed(pa.array([1], pa.int32()), field("int"), "void").to_pylist() == [None]


def test_numbers_below_the_least_one_wrap_as_in_java():
    found = transformed(pa.array([-(2**31)], pa.int32()), field("int"), "truncate[10]")

    assert found.to_pylist() == [2**31 - 2]


def test_a_decimal_that_leaves_its_type_is_refused():
    with pytest.raises(RowsUnsupported, match="fit"):
        transformed(array(field("small"), [Decimal("-99999.99")]), field("small"), "truncate[10]")


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (34, Type("int"), 2017239379),
        (34, Type("long"), 2017239379),
        ("iceberg", Type("string"), 1210000089),
        (b"\x00\x01\x02\x03", Type("binary"), -188683207 & 0x7FFFFFFF),
    ],
)
def test_hashes_of_the_specification(value: Any, kind: Type, expected: int):
    source = Field(1, "c", False, kind)

    found = transformed(array(source, [value]), source, f"bucket[{2**31 - 1}]")

    assert found.to_pylist() == [expected % (2**31 - 1)]
