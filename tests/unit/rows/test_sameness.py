"""Tables are called equal only where they surely are: doubt is left to the fingerprint."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.rows.tables import table, tables

from neve.rows.fingerprint import fingerprint
from neve.rows.sameness import surely_equal
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema, Type
from neve.rows.streams import RowStream


def schema(kind: Type) -> Schema:
    return Schema((Field(1, "c", False, kind),))


def of(values: Any, kind: Any = None) -> pa.Table:
    return pa.table({"c": pa.array(values, kind) if kind else values})


def nan(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


@given(tables(max_rows=6))
def test_what_is_surely_equal_has_one_fingerprint(drawn: Any):
    of_schema, rows = drawn
    left = table(of_schema, rows)
    right = table(of_schema, rows[::-1])

    if surely_equal(left, right, of_schema):
        assert fingerprint(left, of_schema) == fingerprint(right, of_schema)
    assert not surely_equal(left, left.slice(0, 0), of_schema) or not rows


@given(tables(max_rows=6), st.integers(0, 6))
def test_chunks_do_not_matter(drawn: Any, at: int):
    of_schema, rows = drawn
    whole = table(of_schema, rows)
    parts = pa.concat_tables([whole.slice(0, at), whole.slice(min(at, len(rows)))])
    alike = table(of_schema, rows)

    assert surely_equal(whole, parts, of_schema) == surely_equal(whole, alike, of_schema)


@pytest.mark.parametrize(
    ("kind", "arrow", "left", "right", "same"),
    [
        ("double", pa.float64(), [0.0], [-0.0], False),
        ("float", pa.float32(), [0.0], [-0.0], False),
        ("double", pa.float64(), [nan(0x7FF8 << 48)], [nan(0x7FF8 << 48)], True),
        ("double", pa.float64(), [nan(0x7FF8 << 48)], [nan((0x7FF8 << 48) + 1)], False),
        ("double", pa.float64(), [1.5, None], [1.5, None], True),
        ("long", pa.int64(), [0], [None], False),
        ("long", pa.int64(), [1, 2], [2, 1], False),
        ("string", pa.string(), ["a", ""], ["a", None], False),
        ("string", pa.string(), ["a", None], ["a", None], True),
    ],
)
def test_values_are_compared_by_their_bits(kind, arrow, left, right, same):
    assert surely_equal(of(left, arrow), of(right, arrow), schema(Type(kind))) is same


@pytest.mark.parametrize(
    "layout", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_other_layouts_of_text_are_compared_too(layout):
    texts = ["a", None, "é", "a"]
    assert surely_equal(of(texts, layout), of(texts, pa.string()), schema(Type("string")))
    other = ["a", None, "é", "b"]
    assert not surely_equal(of(other, layout), of(texts, pa.string()), schema(Type("string")))


def test_other_layouts_of_text_inside_of_others_are_compared_too():
    kind = Type(
        LIST, (Field(2, "element", False, Type(STRUCT, (Field(3, "t", False, Type("string")),))),)
    )

    def rows(text, values):
        return of([[{"t": "a"}, None], None, [{"t": values}]], pa.list_(pa.struct([("t", text)])))

    assert surely_equal(rows(pa.large_string(), "b"), rows(pa.string(), "b"), schema(kind))
    assert not surely_equal(rows(pa.large_string(), "c"), rows(pa.string(), "b"), schema(kind))
    # Text for bytes, and numbers for text, are no other layouts.
    assert not surely_equal(rows(pa.binary(), b"b"), rows(pa.string(), "b"), schema(kind))


def test_numbers_of_another_type_are_in_doubt():
    assert not surely_equal(of([1], pa.int32()), of([1], pa.int64()), schema(Type("long")))


ELEMENT = Field(2, "element", False, Type("double"))
NESTED = {
    "list": (Type(LIST, (ELEMENT,)), pa.list_(pa.float64()), lambda n: [1.5, n, None]),
    "large list": (Type(LIST, (ELEMENT,)), pa.large_list(pa.float64()), lambda n: [n]),
    "struct": (
        Type(STRUCT, (replace(ELEMENT, name="x"),)),
        pa.struct([("x", pa.float64()), ("t", pa.string())]),
        lambda n: {"x": n, "t": "a"},
    ),
    "map": (
        Type(MAP, (Field(3, "key", True, Type("string")), ELEMENT)),
        pa.map_(pa.string(), pa.float64()),
        lambda n: [("a", n), ("b", None)],
    ),
    "list of structs": (
        Type(LIST, (Field(3, "element", False, Type(STRUCT, (replace(ELEMENT, name="x"),))),)),
        pa.list_(pa.struct([("x", pa.float64())])),
        lambda n: [{"x": 1.0}, None, {"x": n}],
    ),
}


@pytest.mark.parametrize("case", NESTED)
def test_floating_point_numbers_inside_of_others_are_compared_by_their_bits(case):
    kind, arrow, value = NESTED[case]
    nans = [nan(0x7FF8 << 48), nan((0x7FF8 << 48) + 1)]

    def rows(number):
        return of([None, value(2.5), value(number), None], arrow)

    # A slice keeps the buffers of the whole.
    sliced = pa.concat_tables([rows(9.0), rows(0.0)]).combine_chunks().slice(4)
    assert surely_equal(sliced, rows(0.0), schema(kind))
    assert surely_equal(rows(nans[0]), rows(nans[0]), schema(kind))
    for one, other in ((0.0, -0.0), (nans[0], nans[1]), (0.0, None), (1.0, 2.0)):
        assert not surely_equal(rows(one), rows(other), schema(kind))


@pytest.mark.parametrize(
    "layout",
    [
        pa.list_(pa.float64(), 1),
        pa.list_view(pa.float64()),
        pa.list_(pa.list_view(pa.float64())),
        pa.list_(pa.dictionary(pa.int32(), pa.float64())),
    ],
    ids=str,
)
def test_floating_point_numbers_in_other_layouts_are_in_doubt(layout):
    many = schema(Type(LIST, (ELEMENT,)))
    value = [[0.0]] if pa.types.is_list_view(layout.value_type) else [0.0]
    assert not surely_equal(of([value], layout), of([value], layout), many)


@given(st.lists(st.integers(0, 4), max_size=6), st.lists(st.integers(0, 7), max_size=6))
def test_a_stream_gives_every_row_once_and_in_order(sizes, asked):
    rows = list(range(sum(sizes)))
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    stream = RowStream(
        of(rows[start : start + size], pa.int64())
        for start, size in zip(starts, sizes, strict=True)
    )
    told = []
    for count in asked:
        taken = [row for piece in stream.take(count) for row in piece["c"].to_pylist()]
        assert len(taken) == min(count, len(rows) - len(told))
        told += taken
    told += [row for piece in stream.rest() for row in piece["c"].to_pylist()]

    assert told == rows
