from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.rows.tables import PRIMITIVES, table

from neve.model.errors import RowsUnsupported
from neve.rows import equality
from neve.rows.equality import ColumnRange, collect_deletes
from neve.rows.evolve import evolve
from neve.rows.schema import LIST, STRUCT, Field, Schema, Type

SCHEMA = Schema(
    (
        Field(1, "id", False, Type("long")),
        Field(2, "name", False, Type("string")),
        Field(3, "at", False, Type("double")),
        Field(4, "other", False, Type("int")),
    )
)
DOUBLES = [0.0, -0.0, 1.5, math.nan, struct.unpack("<d", b"\1\0\0\0\0\0\xf8\xff")[0], None]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from([1, 2, 3, None]),
            "name": st.sampled_from(["a", "", None]),
            "at": st.sampled_from(DOUBLES),
            "other": st.just(7),
        }
    ),
    max_size=12,
)


def key(row: dict[str, Any], names: list[str]) -> tuple[Any, ...]:
    """A key that compares as a Java set of rows does."""
    found = (row[name] for name in names)
    return tuple(
        ("nan" if math.isnan(v) else struct.pack("<d", v)) if isinstance(v, float) else v
        for v in found
    )


def keys_of(rows: list[dict[str, Any]], ids: list[int], schema: Schema = SCHEMA) -> Any:
    return evolve(table(schema, rows), schema.select(ids))


@given(
    ROWS,
    st.lists(st.tuples(ROWS, st.integers(1, 5)), max_size=4),
    st.sampled_from([[1], [2], [3], [3, 1], [1, 2, 3]]),
    st.integers(0, 5),
)
def test_rows_are_deleted_as_by_a_set_of_newer_keys(
    rows: Any, files: Any, ids: list[int], data_sequence_number: int
):
    names = [field.name for field in SCHEMA.select(ids).fields]
    newer = {
        key(row, names) for file, number in files if number > data_sequence_number for row in file
    }

    deletes = collect_deletes(SCHEMA, ids, [(keys_of(file, ids), n) for file, n in files])

    found = deletes.deleted(table(SCHEMA, rows), data_sequence_number)
    assert list(found) == [key(row, names) in newer for row in rows]
    assert deletes.keys.num_rows == len({key(row, names) for file, _ in files for row in file})


def test_keys_are_read_in_chunks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(equality, "CHUNK_KEYS", 50)
    files = [
        (pa.table({"id": pa.array(range(start, start + 40))}), number)
        for number, start in enumerate([0, 20, 100, 10, 5000], start=1)
    ]

    deletes = collect_deletes(SCHEMA, [1], files)

    rows = pa.table({"id": pa.array(range(6000))})
    for data_sequence_number in range(6):
        newer = {v for t, n in files if n > data_sequence_number for v in t["id"].to_pylist()}
        found = np.flatnonzero(deletes.deleted(rows, data_sequence_number))
        assert set(found) == newer


def test_a_key_of_a_narrower_type_finds_its_rows():
    field = pa.field("old", pa.int32(), metadata={"PARQUET:field_id": "1"})
    file = pa.table([pa.array([2, None], pa.int32())], pa.schema([field]))

    deletes = collect_deletes(SCHEMA, [1], [(evolve(file, SCHEMA.select([1])), 2)])

    rows = pa.table({"id": pa.array([1, 2, None])})
    assert list(deletes.deleted(rows, 1)) == [False, True, True]
    assert list(deletes.deleted(rows, 2)) == [False, False, False]


def test_dictionaries_of_keys_and_rows_do_not_matter():
    texts = pa.array(["a", "b", "a", None]).dictionary_encode()
    deletes = collect_deletes(
        SCHEMA, [2], [(pa.table({"name": texts}), 2), (pa.table({"name": ["c"]}), 3)]
    )

    rows = pa.table({"name": pa.array(["c", "x", "a", None]).dictionary_encode()})

    assert list(deletes.deleted(rows, 1)) == [True, False, True, True]
    assert list(deletes.deleted(rows, 2)) == [True, False, False, False]


def test_no_deletes_delete_nothing():
    deletes = collect_deletes(SCHEMA, [1], [])

    assert list(deletes.deleted(pa.table({"id": [1]}), 0)) == [False]
    assert not deletes.may_hold({}, 0)


def test_two_keys_of_one_hash_are_refused(monkeypatch: pytest.MonkeyPatch):
    def same(found: Any, schema: Schema) -> Any:
        return tuple(np.zeros(found.num_rows, dtype=np.uint64) for _ in range(2))

    monkeypatch.setattr(equality, "hash_rows", same)

    with pytest.raises(RowsUnsupported, match="hash"):
        collect_deletes(SCHEMA, [1], [(pa.table({"id": [1, 2]}), 2)])
    deletes = collect_deletes(SCHEMA, [1], [(pa.table({"id": [1, 1]}), 2)])
    with pytest.raises(RowsUnsupported, match="hash"):
        deletes.deleted(pa.table({"id": [5]}), 1)


@pytest.mark.parametrize("nested", [LIST, STRUCT])
def test_nested_values_are_no_keys(nested: str):
    kind = Type(nested, (Field(9, "element", False, Type("int")),))
    schema = Schema((Field(8, "c", False, kind),))

    with pytest.raises(RowsUnsupported):
        collect_deletes(schema, [8], [])
    with pytest.raises(RowsUnsupported):
        collect_deletes(schema, [9], [])


@given(ROWS, st.lists(st.tuples(ROWS, st.integers(1, 3)), max_size=3), st.integers(0, 3))
def test_a_row_group_that_cannot_hold_a_key_has_none_of_them(rows: Any, files: Any, number: int):
    ids = [1, 2, 3]
    deletes = collect_deletes(SCHEMA, ids, [(keys_of(file, ids), n) for file, n in files])
    ranges = {}
    for field in SCHEMA.select(ids).fields:
        seen = [row[field.name] for row in rows]
        values = [v for v in seen if v is not None and v == v]
        ranges[field.id] = ColumnRange(
            min(values, default=None),
            max(values, default=None),
            sum(v is None for v in seen),
            pa.array(sorted(set(values))) if field.id == 2 and values else None,
        )

    if not deletes.may_hold(ranges, number):
        assert not deletes.deleted(table(SCHEMA, rows), number).any()


@pytest.mark.parametrize(
    ("ranges", "may"),
    [
        ({}, True),
        ({1: ColumnRange(5, 9, 0)}, True),
        ({1: ColumnRange(6, 9, 0)}, False),
        ({1: ColumnRange(1, 4, 0)}, False),
        ({1: ColumnRange(None, 4, 0)}, False),
        ({1: ColumnRange(1, 9, None)}, True),
        ({1: ColumnRange(1, 9, 0), 2: ColumnRange("a", "k", 0)}, False),
        ({1: ColumnRange(1, 9, 0), 2: ColumnRange("a", "z", 0)}, True),
        ({1: ColumnRange(1, 9, 0), 2: ColumnRange("a", "z", 0, pa.array(["a", "z"]))}, False),
        ({2: ColumnRange("a", "z", 0, pa.array(["kk"]).dictionary_encode())}, True),
        ({1: ColumnRange("no number", 9, 0)}, True),
    ],
)
def test_bounds_and_dictionaries_rule_keys_out(ranges: Any, may: bool):
    deletes = collect_deletes(SCHEMA, [1, 2], [(pa.table({"id": [5], "name": ["kk"]}), 2)])

    assert deletes.may_hold(ranges, 1) is may
    assert not deletes.may_hold(ranges, 2)


@pytest.mark.parametrize(("null_count", "may"), [(None, True), (0, False), (1, True)])
def test_a_null_key_needs_a_null(null_count: int | None, may: bool):
    deletes = collect_deletes(SCHEMA, [1], [(pa.table({"id": pa.nulls(1, pa.int64())}), 2)])

    assert deletes.may_hold({1: ColumnRange(1, 2, null_count)}, 1) is may


@pytest.mark.parametrize("value", [math.nan, -0.0])
def test_bounds_of_numbers_do_not_rule_out_nan_or_another_zero(value: float):
    deletes = collect_deletes(SCHEMA, [3], [(pa.table({"at": [value]}), 2)])

    assert deletes.may_hold({3: ColumnRange(0.0, 2.0, 0, pa.array([1.0]))}, 1)


@given(st.data(), st.sampled_from(sorted(PRIMITIVES)))
def test_keys_of_every_type(data: Any, name: str):
    kind, values = PRIMITIVES[name]
    schema = Schema((Field(1, "c", False, kind),))
    rows = [{"c": value} for value in data.draw(st.lists(st.none() | values, max_size=4))]
    file = [{"c": value} for value in data.draw(st.lists(st.none() | values, max_size=4))]

    deletes = collect_deletes(schema, [1], [(table(schema, file + rows[:1]), 2)])

    expected = {key(row, ["c"]) for row in file + rows[:1]}
    found = deletes.deleted(table(schema, rows), 1)
    assert list(found) == [key(row, ["c"]) in expected for row in rows]
    if rows and rows[0]["c"] is not None:
        (first,) = table(schema, rows[:1]).column("c")
        bound = first.value if name == "uuid" else first
        assert deletes.may_hold({1: ColumnRange(bound, bound, 0)}, 1)
