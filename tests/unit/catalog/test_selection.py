"""A file is selected wherever a row in it matches: checked against evaluating every row."""

from __future__ import annotations

import math
import operator
import struct
import uuid
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import parse_transform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros

from neve.catalog.filters import FileSelector
from neve.catalog.manifests import Entry, Metrics
from neve.model.predicate import And, In, IsNull, Not, Or
from neve.planning.filters import parse_filter

TODAY = date(2026, 1, 15)
OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def quoted(value):
    return "'" + str(value).replace("'", "''") + "'"


def moments(**options):
    return st.datetimes(datetime(1960, 1, 1), datetime(2040, 1, 1), **options)


#: For each type: values, how a filter spells one, and how Iceberg stores it.
TYPES = {
    "int": (IntegerType(), st.integers(-9, 9) | st.integers(-(2**31), 2**31 - 1), str, None),
    "long": (LongType(), st.integers(-9, 9) | st.integers(-(2**63), 2**63 - 1), str, None),
    "float": (
        FloatType(),
        st.sampled_from([-0.5, 0.0, 0.1, 1e30]).map(
            lambda f: struct.unpack("f", struct.pack("f", f))[0]
        )
        | st.floats(width=32, allow_infinity=False),
        lambda value: format(Decimal(value), "f"),
        None,
    ),
    "double": (
        DoubleType(),
        st.sampled_from([-0.5, 0.0, 0.1, 1e300]) | st.floats(allow_infinity=False),
        lambda value: format(Decimal(value), "f"),
        None,
    ),
    "decimal": (
        DecimalType(9, 2),
        st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
        lambda value: format(value, "f"),
        None,
    ),
    "date": (
        DateType(),
        st.dates(date(1960, 1, 1), date(2040, 1, 1)),
        lambda value: f"DATE '{value}'",
        date_to_days,
    ),
    "timestamp": (
        TimestampType(),
        moments(),
        lambda value: f"TIMESTAMP '{value}'",
        datetime_to_micros,
    ),
    "timestamptz": (
        TimestamptzType(),
        moments(timezones=st.just(UTC)),
        lambda value: f"TIMESTAMP '{value}'",
        datetime_to_micros,
    ),
    "string": (StringType(), st.text("ab'é😀", max_size=4), quoted, None),
    "boolean": (BooleanType(), st.booleans(), str, None),
    "uuid": (UUIDType(), st.integers(0, 2**128 - 1).map(lambda n: uuid.UUID(int=n)), quoted, None),
}
TIME_UNITS = ("year", "month", "day", "hour")
TRANSFORMS = {
    "int": ("identity", "bucket[4]", "truncate[10]", "void"),
    "long": ("identity", "bucket[4]", "truncate[10]"),
    "float": ("identity",),
    "double": ("identity",),
    "decimal": ("identity", "bucket[4]", "truncate[10]"),
    "string": ("identity", "bucket[4]", "truncate[2]"),
    "date": ("identity", "year", "month", "day", "bucket[4]"),
    "timestamp": ("identity", *TIME_UNITS),
    "timestamptz": ("identity", *TIME_UNITS),
    "boolean": ("identity",),
    "uuid": ("identity", "bucket[4]"),
}


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


@cache
def metadata_of(name, transform):
    schema = Schema(NestedField(1, "x", TYPES[name][0], required=False))
    fields = [PartitionField(1, 1000, parse_transform(transform), "p")] if transform else []
    return new_table_metadata(schema, PartitionSpec(*fields), UNSORTED_SORT_ORDER, "/t", {})


def metrics_of(name, rows):
    of, _, _, store = TYPES[name]
    known = [row for row in rows if row is not None and not is_nan(row)]

    def bound(choose):
        # Numbers in the forms that writers give to pyiceberg's own encoder.
        value = choose(known)
        return {1: to_bytes(of, store(value) if store else value)}

    return Metrics(
        record_count=len(rows),
        value_counts={1: len(rows)},
        null_value_counts={1: rows.count(None)},
        nan_value_counts={1: sum(map(is_nan, rows))},
        lower_bounds=bound(min) if known else {},
        upper_bounds=bound(max) if known else {},
    )


def files_of(name, transform, rows):
    """One file for each partition that the rows fall into, or one for all."""
    of, _, _, store = TYPES[name]
    parts = {}
    for row in rows:
        stored = store(row) if store and row is not None else row
        value = parse_transform(transform).transform(of)(stored) if transform else None
        parts.setdefault(value, []).append(row)
    return [
        (
            part,
            Entry(
                spec_id=0,
                snapshot_id=1,
                data_sequence_number=1,
                content=0,
                path="f",
                format="PARQUET",
                partition=Record(value) if transform else Record(),
                record_count=len(part),
                size_bytes=1,
                encrypted=False,
                row_groups=None,
                sort_order_id=None,
                referenced_path=None,
                metrics=metrics_of(name, part),
            ),
        )
        for value, part in parts.items()
    ]


def matches(predicate, row, read):
    """Three-valued logic: None where the row's null makes the answer unknown."""
    if isinstance(predicate, Not):
        inner = matches(predicate.operand, row, read)
        return None if inner is None else not inner
    if isinstance(predicate, And | Or):
        answers = [matches(operand, row, read) for operand in predicate.operands]
        decisive = isinstance(predicate, Or)
        return decisive if decisive in answers else None if None in answers else not decisive
    if isinstance(predicate, IsNull):
        return (row is None) is not predicate.negated
    if row is None:
        return None
    if isinstance(predicate, In):
        return (row in [read(value) for value in predicate.values]) is not predicate.negated
    if is_nan(row) and predicate.operator not in ("=", "<>"):
        # NaN has no place in Iceberg's order, and engines differ about it.
        return None
    return OPERATORS[predicate.operator](row, read(predicate.value))


def filters(name):
    """Filters on the column, as text."""
    _, values, spell, _ = TYPES[name]
    value = values.filter(lambda v: not is_nan(v)).map(spell)
    leaf = st.one_of(
        st.tuples(st.sampled_from(sorted(OPERATORS)), value).map(lambda p: f"x {p[0]} {p[1]}"),
        st.tuples(st.sampled_from(["IN", "NOT IN"]), st.lists(value, min_size=1, max_size=3)).map(
            lambda p: f"x {p[0]} ({', '.join(p[1])})"
        ),
        st.tuples(value, value).map(lambda p: f"x BETWEEN {p[0]} AND {p[1]}"),
        st.sampled_from(["x IS NULL", "x IS NOT NULL"]),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(lambda text: f"NOT ({text})"),
            st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
                lambda p: f"({p[0]}) {p[1]} ({p[2]})"
            ),
        ),
        max_leaves=3,
    )


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_a_file_with_a_matching_row_is_selected(name, data):
    transform = data.draw(st.sampled_from([None, *TRANSFORMS.get(name, ())]))
    rows = data.draw(st.lists(TYPES[name][1] | st.none(), min_size=1, max_size=6))
    predicate = parse_filter(data.draw(filters(name)), today=TODAY)
    selector = FileSelector(predicate, metadata_of(name, transform))
    read = uuid.UUID if name == "uuid" else lambda value: value

    for part, entry in files_of(name, transform, rows):
        if any(matches(predicate, row, read) for row in part):
            assert selector.selects(entry)


@pytest.mark.parametrize("text", ["x <> 1", "x NOT IN (1, 2)", "NOT x = 1", "x IS NOT NULL"])
@pytest.mark.parametrize("transform", [None, "identity"])
def test_a_file_of_nan_is_selected_by_what_nan_is_not(transform, text):
    predicate = parse_filter(text, today=TODAY)
    ((rows, entry),) = files_of("double", transform, [math.nan])

    assert all(matches(predicate, row, float) for row in rows)
    assert FileSelector(predicate, metadata_of("double", transform)).selects(entry)


@pytest.mark.parametrize(
    ("name", "low", "high", "inside", "outside"),
    [
        ("int", 1, 5, ["x = 3", "x < 2", "x IN (0, 5)", "NOT x < 5"], ["x = 6", "x < 1", "x > 5"]),
        ("double", 0.5, 1.5, ["x = 1", "x >= 1.5"], ["x < 0.5", "x > 1.5", "x IN (0, 2)"]),
        (
            "decimal",
            Decimal("1.00"),
            Decimal("2.50"),
            ["x = 2.5"],
            ["x > 2.5", "x BETWEEN 3 AND 4"],
        ),
        (
            "date",
            date(2025, 1, 1),
            date(2025, 1, 31),
            ["x = '2025-01-31'", "x < current_date"],
            ["x >= '2025-02-01'", "x >= current_date - 7"],
        ),
        (
            "timestamptz",
            datetime(2025, 1, 1, tzinfo=UTC),
            datetime(2025, 1, 2, tzinfo=UTC),
            ["x = '2025-01-02T01:00:00+01:00'", "x = DATE '2025-01-01'"],
            ["x > '2025-01-02'", "x = '2025-01-01T01:00:00+02:00'"],
        ),
        ("string", "b", "d", ["x = 'cc'", "x <> 'b'"], ["x = 'a'", "x > 'd'", "x IS NULL"]),
        ("boolean", False, False, ["x = FALSE", "x <> TRUE"], ["x = TRUE"]),
    ],
)
def test_a_file_whose_statistics_exclude_a_match_is_left_out(name, low, high, inside, outside):
    ((_, entry),) = files_of(name, None, [low, high])

    selected = [
        FileSelector(parse_filter(text, today=TODAY), metadata_of(name, None)).selects(entry)
        for text in inside + outside
    ]

    assert selected == [True] * len(inside) + [False] * len(outside)


@pytest.mark.parametrize(
    ("name", "transform", "row", "inside", "outside"),
    [
        ("int", "truncate[10]", 15, "x = 12", "x = 20"),
        ("int", "bucket[4]", 15, "x = 15", "x = 16"),
        ("int", "void", 15, "x = 16", None),
        ("date", "month", date(2025, 1, 5), "x > '2025-01-20'", "x > '2025-02-01'"),
        (
            "timestamp",
            "hour",
            datetime(2025, 1, 5, 7, 30),
            "x > '2025-01-05 07:45'",
            "x < DATE '2025-01-05'",
        ),
        ("string", "truncate[2]", "abc", "x = 'abz'", "x = 'acz'"),
        (
            "uuid",
            "identity",
            uuid.UUID(int=7),
            f"x = '{uuid.UUID(int=7)}'",
            f"x > '{uuid.UUID(int=7)}'",
        ),
    ],
)
def test_a_partition_that_excludes_a_match_is_left_out(name, transform, row, inside, outside):
    ((_, entry),) = files_of(name, transform, [row])
    without_statistics = replace(entry, metrics=None)

    selected = [
        FileSelector(parse_filter(text, today=TODAY), metadata_of(name, transform)).selects(
            without_statistics
        )
        for text in (inside, outside)
        if text
    ]

    assert selected == [True, False][: len(selected)]


def test_a_file_without_statistics_is_selected():
    ((_, entry),) = files_of("int", None, [1])
    bare = replace(entry, metrics=Metrics(1, {}, {}, {}, {}, {}))

    assert FileSelector(parse_filter("x = 9", today=TODAY), metadata_of("int", None)).selects(bare)


def test_without_a_filter_every_file_is_selected():
    ((_, entry),) = files_of("int", "identity", [1])

    selector = FileSelector(None, metadata_of("int", "identity"))

    assert (selector.selects_all, selector.selects(entry)) == (True, True)
    assert selector.expression_json is None
