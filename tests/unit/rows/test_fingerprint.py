from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.rows.tables import table, tables

from neve.model.errors import RowsUnsupported
from neve.rows import hashing
from neve.rows.evolve import evolve
from neve.rows.fingerprint import Fingerprint, fingerprint
from neve.rows.hashing import hash_rows
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema, Type


def column(kind: Type) -> Schema:
    return Schema((Field(1, "c", False, kind),))


def of(values: Any, kind: Any, schema: Schema) -> Fingerprint:
    return fingerprint(pa.table({"c": pa.array(values, kind)}), schema)


def canonical(value: Any) -> Any:
    """A value that compares as the fingerprint should: NaN is itself, -0.0 is not 0.0."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, dict):
        return tuple((name, canonical(each)) for name, each in sorted(value.items()))
    if isinstance(value, list | tuple):
        return tuple(canonical(each) for each in value)
    return value


@given(tables(max_rows=8))
def test_rows_have_equal_hashes_exactly_if_they_are_equal(drawn: Any):
    schema, rows = drawn
    high, low = hash_rows(table(schema, rows), schema)

    hashes = list(zip(high.tolist(), low.tolist(), strict=True))

    seen = [canonical(row) for row in rows]
    for one in range(len(rows)):
        for other in range(one):
            assert (hashes[one] == hashes[other]) == (seen[one] == seen[other])


@given(tables(), st.randoms())
def test_order_layout_and_chunks_do_not_matter(drawn: Any, random: Any):
    schema, rows = drawn
    expected = fingerprint(table(schema, rows), schema)
    shuffled = random.sample(rows, len(rows))
    made = table(schema, shuffled)
    cut = random.randint(0, len(rows))

    before, after = made.slice(0, cut), made.slice(cut)
    assert fingerprint(pa.concat_tables([before, after]), schema) == expected
    assert fingerprint(before, schema) + fingerprint(after, schema) == expected
    assert expected - fingerprint(after, schema) == fingerprint(before, schema)
    backwards = replace(schema, fields=schema.fields[::-1])
    assert fingerprint(made, backwards) == expected


@given(tables())
def test_parquet_and_a_rename_do_not_matter(drawn: Any):
    schema, rows = drawn
    made = table(schema, rows)
    target = io.BytesIO()
    pq.write_table(made, target, store_decimal_as_integer=True, row_group_size=2)
    read = pq.ParquetFile(io.BytesIO(target.getvalue())).read()
    renamed = Schema(tuple(replace(field, name=f"r{field.id}") for field in schema.fields))

    assert fingerprint(evolve(read, renamed), renamed) == fingerprint(made, schema)


LAYOUTS = [
    ("string", pa.large_string()),
    ("string", pa.string_view()),
    ("string", pa.dictionary(pa.int8(), pa.string())),
    ("string", pa.dictionary(pa.int32(), pa.large_string())),
    ("binary", pa.large_binary()),
    ("binary", pa.binary_view()),
    ("binary", pa.dictionary(pa.uint16(), pa.binary())),
]


@pytest.mark.parametrize(("name", "kind"), LAYOUTS)
def test_texts_are_the_same_in_every_layout(name: str, kind: Any):
    texts = ["", "a", None, "abcdefgh", "abcdefghi", "ä" * 40, "a", "x" * 1000]
    values = [None if t is None else t.encode() if name == "binary" else t for t in texts]
    plain = pa.string() if name == "string" else pa.binary()
    schema = column(Type(name))

    assert of(values, kind, schema) == of(values, plain, schema)
    sliced = pa.table({"c": pa.array([values[3], *values], kind).slice(1)})
    assert fingerprint(sliced, schema) == of(values, plain, schema)


@pytest.mark.parametrize("kind", [pa.decimal32(7, 2), pa.decimal64(7, 2), pa.decimal256(7, 2)])
def test_decimals_are_the_same_however_they_are_stored(kind: Any):
    schema = column(Type("decimal", precision=7, scale=2))
    values = pa.array([-100, 0, None, 99], pa.int32()).cast(pa.decimal128(12, 2))

    stored = pa.table({"c": values.cast(pa.decimal128(7, 2)).cast(kind)})

    assert fingerprint(stored, schema) == fingerprint(pa.table({"c": values}), schema)


def test_numbers_are_the_same_before_and_after_they_are_widened():
    for name, narrow, wide, values in (
        ("long", pa.int32(), pa.int64(), [-1, 5, None]),
        ("double", pa.float32(), pa.float64(), [0.5, -0.0, math.nan, None]),
    ):
        schema = column(Type(name))
        field = pa.field("c", narrow, metadata={"PARQUET:field_id": "1"})
        old = pa.table([pa.array(values, narrow)], pa.schema([field]))

        assert fingerprint(evolve(old, schema), schema) == of(values, wide, schema)


def test_every_nan_is_one_value_and_zeros_are_two():
    schema = column(Type("double"))
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000001], dtype=np.uint64).view(np.float64)

    assert of(nans[:1], None, schema) == of(nans[1:], None, schema)
    assert of([0.0], pa.float64(), schema) != of([-0.0], pa.float64(), schema)


def test_pairs_of_equal_rows_do_not_cancel_each_other():
    schema = column(Type("int"))

    assert of([1, 1], pa.int32(), schema) != of([2, 2], pa.int32(), schema)
    assert of([1, 1], pa.int32(), schema).total != of([], pa.int32(), schema).total


def test_values_may_not_change_places_between_rows_or_columns():
    schema = Schema((Field(1, "a", False, Type("int")), Field(2, "b", False, Type("int"))))

    def of_rows(*rows: tuple[int | None, int | None]) -> Fingerprint:
        columns = {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}
        arrays = {name: pa.array(each, pa.int32()) for name, each in columns.items()}
        return fingerprint(pa.table(arrays), schema)

    assert of_rows((1, 3), (2, 4)) != of_rows((1, 4), (2, 3))
    assert of_rows((1, None)) != of_rows((None, 1))
    assert of_rows((1, 2)) != of_rows((2, 1))
    assert of_rows((None, None)) != of_rows((0, 0))


def test_nested_values_keep_their_shape():
    many = Type(LIST, (Field(2, "element", False, Type("int")),))
    listed_kind = pa.list_(pa.field("element", pa.int32()))
    distinct = [None, [], [None], [1, 2], [2, 1], [1, 2, None], [0]]

    found = {of([value], listed_kind, column(many)).total for value in distinct}

    assert len(found) == len(distinct)
    for one, other in (([[1], [2]], [[1, 2], []]), ([[1], [2]], [[], [1, 2]])):
        assert of(one, listed_kind, column(many)) != of(other, listed_kind, column(many))


def test_the_order_of_a_maps_entries_counts():
    pairs = Type(
        MAP, (Field(2, "key", True, Type("string")), Field(3, "value", False, Type("int")))
    )
    kind = pa.map_(pa.string(), pa.int32())

    one = of([[("a", 1), ("b", 2)]], kind, column(pairs))

    assert one != of([[("b", 2), ("a", 1)]], kind, column(pairs))
    assert one != of([[("a", 2), ("b", 1)]], kind, column(pairs))


def test_a_null_struct_is_not_a_struct_of_nulls():
    inside = Type(STRUCT, (Field(2, "x", False, Type("int")),))
    kind = pa.struct([("x", pa.int32())])

    assert of([None], kind, column(inside)) != of([{"x": None}], kind, column(inside))


def test_what_lies_under_a_null_does_not_matter():
    garbage = pa.Array.from_buffers(
        pa.string(), 1, [pa.py_buffer(b"\0"), *pa.array(["hidden"]).buffers()[1:]]
    )
    schema = column(Type("string"))

    assert fingerprint(pa.table({"c": garbage}), schema) == of([None], pa.string(), schema)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch):
    schema = column(Type("string"))
    values = [None if at % 7 == 0 else f"text {at}" for at in range(1000)]
    expected = of(values, pa.string(), schema)

    monkeypatch.setattr(hashing, "BLOCK_ROWS", 13)

    assert of(values, pa.string(), schema) == expected
    assert of(values, pa.dictionary(pa.int32(), pa.string()), schema) == expected


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.timestamp("ms"), "timestamp"),
        (pa.timestamp("us"), "timestamptz"),
        (pa.int64(), "int"),
        (pa.int32(), "date"),
        (pa.string(), "binary"),
        (pa.list_(pa.int32()), "int"),
    ],
)
def test_values_of_another_type_have_no_fingerprint(kind: Any, name: str):
    with pytest.raises(RowsUnsupported):
        fingerprint(pa.table({"c": pa.nulls(1, kind)}), column(Type(name)))


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_bytes_of_any_length_differ(one: bytes, other: bytes):
    assume(one != other)
    schema = column(Type("binary"))

    assert of([one], pa.binary(), schema) != of([other], pa.binary(), schema)
    assert of([one + other], pa.binary(), schema) != of([one], pa.binary(), schema) or not other


def test_many_hashes_are_all_different_and_every_bit_is_used():
    schema = column(Type("long"))
    high, low = hash_rows(pa.table({"c": pa.array(np.arange(300_000))}), schema)

    for lane in (high, low):
        assert len(np.unique(lane)) == len(lane)
        ones = np.unpackbits(lane.view(np.uint8)).reshape(-1, 64).mean(axis=0)
        assert np.all(abs(ones - 0.5) < 0.01)


def test_a_fingerprint_is_the_same_tomorrow():
    """Fingerprints are compared with those that another version wrote down."""
    inside = Type(STRUCT, (Field(4, "x", False, Type("double")),))
    schema = Schema(
        (
            Field(1, "a", False, Type("long")),
            Field(2, "b", False, Type("string")),
            Field(3, "s", False, inside),
        )
    )
    rows = {"a": [1, None], "b": ["text of more than eight bytes", ""], "s": [{"x": 0.5}, None]}

    assert str(fingerprint(pa.table(rows), schema)) == "2:1f0f1b1a7cb103e4ca3810732969e1dd"
