from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.types import DecimalType, DoubleType, LongType, StringType
from pyiceberg.utils.truncate import truncate_upper_bound_binary_string
from pyiceberg.utils.truncate import truncate_upper_bound_text_string as upper_text
from tests.unit.rows.tables import listed, table, tables

from neve.model.errors import RowsCorrupt
from neve.model.rewrite import ColumnMetrics
from neve.rows.metric_modes import COUNTS, FULL, NONE, TRUNCATE_16, MetricsMode, metric_modes
from neve.rows.metrics import column_metrics, measure, merge
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema, Type


def column(kind: Type) -> Schema:
    return Schema((Field(1, "c", False, kind),))


def of(values: Any, kind: Any, name: str | Type, mode: MetricsMode = TRUNCATE_16) -> ColumnMetrics:
    schema = column(Type(name) if isinstance(name, str) else name)
    found = measure(pa.table({"c": pa.array(values, kind)}), schema)
    return column_metrics(found, schema, {1: mode})


def leaves(rows: list[Any], fields: Any) -> dict[int, list[Any]]:
    """The values of every column outside of lists and maps, by the rules alone."""
    found: dict[int, list[Any]] = {}
    for field in fields:
        values = [None if row is None else row[field.name] for row in rows]
        if field.type.name == STRUCT:
            found |= leaves(values, field.type.children)
        elif field.type.name not in (LIST, MAP):
            found[field.id] = values
    return found


def order(value: Any) -> Any:
    return (value, math.copysign(1, value)) if isinstance(value, float) else value


@given(tables(), st.integers(0, 6))
def test_counts_and_bounds_of_any_table(drawn: Any, cut: int):
    schema, rows = drawn
    made = table(schema, rows)
    types = {field.id: field.type for _, field in schema.walk()}

    found = merge([measure(made.slice(0, cut), schema), measure(made.slice(cut), schema)])

    assert found == measure(made, schema)
    expected = leaves(rows, schema.fields)
    assert set(found) == set(expected)
    for field_id, values in expected.items():
        metrics = found[field_id]
        real = [v for v in values if v is not None and v == v]
        if types[field_id].name == "float":
            real = listed(pa.array(real, pa.float32()))
        assert (metrics.value_count, metrics.null_count) == (len(values), values.count(None))
        is_float = types[field_id].name in ("float", "double")
        nans = len(values) - values.count(None) - len(real)
        assert metrics.nan_count == (nans if is_float else None)
        for bound, choose in ((metrics.lower, min), (metrics.upper, max)):
            if not real:
                assert bound is None
            elif types[field_id].name == "string":
                assert bound == choose(value.encode() for value in real)
            elif types[field_id].name == "decimal":
                assert (
                    bound == int(choose(real).scaleb(types[field_id].scale)) or len(str(bound)) > 27
                )
            else:
                assert order(bound) == choose(map(order, real))


@pytest.mark.conformance("truncated bounds")
@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=40), st.integers(1, 20))
def test_text_bounds_enclose_the_text_and_are_short(text: str, length: int):
    found = of([text], pa.string(), "string", MetricsMode(bound_length=length))

    lower, upper = found.lower_bounds[1], (found.upper_bounds or {}).get(1)
    assert lower == text[:length].encode()
    assert upper is None or (upper >= text.encode() and len(upper.decode()) <= length)
    # pyiceberg gives up at characters before the surrogates.
    if "\ud7ff" not in text[:length]:
        raised = upper_text(text, length)
        assert upper == (None if raised is None else raised.encode())


@given(st.binary(min_size=1, max_size=40), st.integers(1, 20))
def test_binary_bounds_as_pyiceberg_makes_them(value: bytes, length: int):
    found = of([value], pa.binary(), "binary", MetricsMode(bound_length=length))

    assert found.lower_bounds == {1: value[:length]}
    raised = truncate_upper_bound_binary_string(value, length)
    assert (found.upper_bounds or {}).get(1) == raised


@pytest.mark.parametrize(
    ("text", "upper"),
    [
        ("aaaa", "ab"),
        ("aa", "aa"),
        ("a\U0010ffffz", "b"),
        ("\U0010ffff\U0010ffffz", None),
        ("a\ud7ffz", "a\ue000"),
        ("ééé", "éê"),
        ("a\U0001f600z", "a\U0001f601"),
    ],
)
def test_upper_bounds_of_text_are_raised_by_code_point(text: str, upper: str | None):
    found = of([text], pa.string(), "string", MetricsMode(bound_length=2))

    assert found.upper_bounds == (None if upper is None else {1: upper.encode()})


@pytest.mark.conformance("NaN at any place")
def test_zeros_and_nans():
    nan = math.nan

    def bounds(*values: float | None) -> tuple[Any, Any, Any]:
        found = of(values, pa.float64(), "double")
        pair = [(each or {}).get(1) for each in (found.lower_bounds, found.upper_bounds)]
        return found.nan_value_counts, *pair

    def packed(value: float) -> bytes:
        return to_bytes(DoubleType(), value)

    assert bounds(0.0, -0.0, nan) == ({1: 1}, packed(-0.0), packed(0.0))
    assert bounds(-0.0) == ({1: 0}, packed(-0.0), packed(-0.0))
    assert bounds(0.0, None) == ({1: 0}, packed(0.0), packed(0.0))
    assert bounds(nan, nan) == ({1: 2}, None, None)
    assert bounds(nan, 1.0, -math.inf) == ({1: 1}, packed(-math.inf), packed(1.0))


def test_single_values_are_those_of_pyiceberg():
    decimal = pa.array([-128, 127], pa.int64()).cast(pa.decimal128(38, 2))
    found = of(decimal, None, Type("decimal", precision=38, scale=2))
    low, high = decimal.to_pylist()

    assert found.lower_bounds == {1: to_bytes(DecimalType(38, 2), low)}
    assert found.upper_bounds == {1: to_bytes(DecimalType(38, 2), high)}
    assert of([5], pa.int64(), "long").lower_bounds == {1: to_bytes(LongType(), 5)}
    assert of(["é"], None, "string").lower_bounds == {1: to_bytes(StringType(), "é")}


def test_values_of_a_dictionary_that_no_row_has_do_not_count():
    array = pa.DictionaryArray.from_arrays(pa.array([1, None], pa.int8()), ["a", "m", None])

    found = of(array, None, "string")

    assert (found.lower_bounds, found.upper_bounds) == ({1: b"m"}, {1: b"m"})
    assert found.null_value_counts == {1: 1}
    nulls = pa.DictionaryArray.from_arrays(pa.array([2, 1, None], pa.int8()), ["a", "m", None])
    assert of(nulls, None, "string").null_value_counts == {1: 2}


def test_modes_leave_out_what_is_not_wanted():
    everything = of(["a" * 20], None, "string", FULL)

    assert everything.upper_bounds == {1: b"a" * 20}
    counts = of(["a"], None, "string", COUNTS)
    assert (counts.value_counts, counts.lower_bounds) == ({1: 1}, None)
    assert of(["a"], None, "string", NONE) == ColumnMetrics()


def test_a_file_without_rows_has_no_metrics():
    assert of([], pa.int64(), "long") == ColumnMetrics()


def uuids(*numbers: int | None) -> list[bytes | None]:
    return [None if number is None else number.to_bytes(16, "big") for number in numbers]


@pytest.mark.parametrize(
    ("numbers", "is_bounded"),
    [
        ((5, 9, None), True),
        ((1 << 127, (1 << 127) + 9), True),
        ((1 << 63, (1 << 63) + 5), True),
        ((5, 1 << 127), False),
        # Both ends are of one sign, and what is between them is not.
        (((1 << 64) + 5, (1 << 64) + (1 << 63), 2 << 64), False),
        ((None, None), False),
    ],
)
def test_uuids_whose_orders_differ_have_no_bounds(numbers, is_bounded):
    """Java takes a UUID for two signed longs, and would look elsewhere for its rows."""
    found = of(uuids(*numbers), pa.binary(16), "uuid")

    known = sorted(value for value in uuids(*numbers) if value is not None)
    assert found.lower_bounds == ({1: known[0]} if is_bounded else None)
    assert found.upper_bounds == ({1: known[-1]} if is_bounded else None)


def test_uuids_of_two_parts_of_which_each_has_one_order_have_no_bounds():
    schema = column(Type("uuid"))
    parts = [
        measure(pa.table({"c": pa.array(uuids(*numbers), pa.binary(16)).slice(1)}), schema)
        for numbers in ((0, 5, 6), (0, (1 << 63) + 5))
    ]

    assert column_metrics(merge(parts), schema, {1: FULL}).lower_bounds is None
    assert column_metrics(merge(parts[:1]), schema, {1: FULL}).lower_bounds == {1: uuids(5)[0]}


def test_fixed_and_uuid_are_never_cut():
    assert of([b"x" * 20], pa.binary(20), Type("fixed", length=20)).upper_bounds == {1: b"x" * 20}
    assert of([bytes(16)], pa.binary(16), "uuid").upper_bounds == {1: bytes(16)}


def wide(count: int) -> Schema:
    return Schema(tuple(Field(at, f"c{at}", False, Type("int")) for at in range(1, count + 1)))


def test_modes_of_columns():
    schema = Schema((*wide(3).fields, Field(9, "s", False, Type(STRUCT, wide(0).fields))))
    properties = {
        "write.metadata.metrics.default": "counts",
        "write.metadata.metrics.column.c1": "FULL",
        "write.metadata.metrics.column.c2": "truncate(4)",
        "write.metadata.metrics.column.c3": "truncate(0)",
    }

    found = metric_modes(schema, properties)

    assert found == {1: FULL, 2: MetricsMode(bound_length=4), 3: COUNTS, 9: COUNTS}


def test_columns_that_rows_are_sorted_by_get_bounds():
    order = {
        "order-id": 1,
        "fields": [
            {"source-id": 1, "transform": "identity"},
            {"source-id": 2, "transform": "bucket[4]"},
            {"source-id": 3, "transform": "truncate[4]"},
        ],
    }

    found = metric_modes(wide(3), {"write.metadata.metrics.default": "none"}, order)

    assert found == {1: TRUNCATE_16, 2: NONE, 3: TRUNCATE_16}
    assert set(metric_modes(wide(3), {}, order).values()) == {TRUNCATE_16}


def test_only_the_first_hundred_columns_are_inferred():
    inside = Type(STRUCT, (Field(200, "x", False, Type("int")),))
    many = Type(LIST, (Field(201, "element", False, Type("int")),))
    fields = (Field(150, "s", False, inside), Field(151, "l", False, many), *wide(98).fields)

    # The struct and the element count as well.
    found = metric_modes(Schema(fields), {})
    kept = {field_id for field_id, mode in found.items() if mode != NONE}

    assert kept == {*range(1, 99), 200, 201}
    assert set(metric_modes(wide(100), {}).values()) == {TRUNCATE_16}
    found = metric_modes(wide(101), {})
    assert [mode for mode in found.values() if mode == NONE] == [NONE]
    assert found[101] == NONE
    three = metric_modes(wide(5), {"write.metadata.metrics.max-inferred-column-defaults": "3"})
    assert [three[at] == NONE for at in range(1, 6)] == [False, False, False, True, True]


def test_a_limit_that_is_no_number_is_told():
    with pytest.raises(RowsCorrupt, match="many"):
        metric_modes(wide(1), {"write.metadata.metrics.max-inferred-column-defaults": "many"})
