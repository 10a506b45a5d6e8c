from __future__ import annotations

import io
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.rows.tables import PRIMITIVES, listed, table, tables

from neve.model.errors import RowsCorrupt, RowsUnsupported
from neve.rows.arrow import arrow_field, arrow_schema, arrow_type
from neve.rows.evolve import evolve
from neve.rows.names import parse_name_mapping
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema, Type

PROMOTIONS = {"int": Type("long"), "float": Type("double"), "date": Type("timestamp")}


def written(found: Any, **options: Any) -> Any:
    """The table as a reader gets it from a Parquet file."""
    target = io.BytesIO()
    pq.write_table(found, target, store_decimal_as_integer=True, **options)
    return pq.ParquetFile(io.BytesIO(target.getvalue())).read()


@st.composite
def changed(draw: Any, fields: tuple[Field, ...], new_ids: Any) -> tuple[Field, ...]:
    """The fields after some evolution: dropped, renamed, promoted, added, in another order."""
    kept = [draw(changed_field(field, new_ids)) for field in fields if draw(st.booleans())]
    for _ in range(draw(st.integers(0 if kept else 1, 2))):
        id_ = next(new_ids)
        default = draw(st.sampled_from([None, 7]))
        kept.append(Field(id_, f"n{id_}", default is not None, Type("long"), default))
    return tuple(draw(st.permutations(kept)))


@st.composite
def changed_field(draw: Any, field: Field, new_ids: Any) -> Field:
    kind = field.type
    if kind.name == STRUCT:
        kind = Type(STRUCT, draw(changed(kind.children, new_ids)))
    elif kind.name in (LIST, MAP):
        inside = tuple(replace(draw(changed_field(c, new_ids)), name=c.name) for c in kind.children)
        kind = Type(kind.name, inside)
    elif draw(st.booleans()):
        kind = PROMOTIONS.get(kind.name, kind)
        if kind.name == "decimal":
            kind = replace(kind, precision=min(38, kind.precision + 12))
    name = draw(st.sampled_from([field.name, f"renamed_{field.id}"]))
    required = field.required and (field.name == "key" or draw(st.booleans()))
    return replace(field, name=name, type=kind, required=required)


def expected(value: Any, old: Field, new: Field) -> Any:
    """One value after evolution, by the rules alone."""
    if value is None:
        return None
    if new.type.name == STRUCT:
        return expected_row(value, old.type.children, new.type.children)
    if new.type.name == LIST:
        return [expected(each, old.type.children[0], new.type.children[0]) for each in value]
    if new.type.name == MAP:
        pairs = list(zip(old.type.children, new.type.children, strict=True))
        return [tuple(expected(v, *p) for v, p in zip(pair, pairs, strict=True)) for pair in value]
    if old.type.name == "date" and new.type.name == "timestamp":
        return value * 86_400_000_000
    return value


def expected_row(row: dict[str, Any], old: Any, new: Any) -> dict[str, Any]:
    known = {field.id: field for field in old}
    return {
        field.name: expected(row[known[field.id].name], known[field.id], field)
        if field.id in known
        else field.initial_default
        for field in new
    }


def seen(found: Any) -> list[str]:
    """Rows in a form that compares NaN and -0.0 exactly."""
    columns = [listed(column) for column in found.columns]
    return [repr(row) for row in zip(*columns, strict=True)]


@given(st.data(), tables())
def test_any_evolution_gives_what_the_rules_say(data: Any, drawn: Any):
    schema, rows = drawn
    new = Schema(data.draw(changed(schema.fields, iter(range(50_000, 60_000)))))
    source = table(schema, rows)
    if data.draw(st.booleans()):
        source = written(source)

    found = evolve(source, new)

    wanted = table(new, [expected_row(row, schema.fields, new.fields) for row in rows])
    assert seen(found) == seen(wanted)
    assert written(found).schema.equals(written(wanted).schema, check_metadata=True)


@given(tables(), st.integers(0, 3))
def test_slices_and_chunks_are_evolved_as_they_are(drawn: Any, start: int):
    schema, rows = drawn
    whole = table(schema, rows)

    found = evolve(pa.concat_tables([whole.slice(start), whole.slice(0, 2)]), schema)

    assert seen(found) == seen(whole.slice(start)) + seen(whole.slice(0, 2))


def column(kind: Type, name: str = "c", **rest: Any) -> Schema:
    return Schema((Field(1, name, rest.pop("required", False), kind, **rest),))


def one(values: Any, kind: Any, id_: int | None = 1, name: str = "c") -> Any:
    metadata = {} if id_ is None else {"PARQUET:field_id": str(id_)}
    return pa.table([pa.array(values, kind)], pa.schema([pa.field(name, kind, metadata=metadata)]))


REFUSED = [
    (pa.int64(), Type("int")),
    (pa.uint32(), Type("int")),
    (pa.uint64(), Type("long")),
    (pa.float64(), Type("float")),
    (pa.float32(), Type("long")),
    (pa.decimal128(9, 2), Type("decimal", precision=12, scale=3)),
    (pa.decimal128(9, 2), Type("decimal", precision=8, scale=2)),
    (pa.timestamp("us"), Type("timestamptz")),
    (pa.timestamp("us", tz="UTC"), Type("timestamp")),
    (pa.timestamp("ns"), Type("timestamp")),
    (pa.timestamp("us"), Type("timestamp_ns")),
    (pa.date32(), Type("timestamptz")),
    (pa.timestamp("us"), Type("date")),
    (pa.time64("ns"), Type("time")),
    (pa.binary(), Type("string")),
    (pa.string(), Type("binary")),
    (pa.string(), Type("uuid")),
    (pa.binary(15), Type("uuid")),
    (pa.binary(4), Type("fixed", length=5)),
    (pa.binary(), Type("fixed", length=5)),
    (pa.bool_(), Type("int")),
    (pa.string(), Type(LIST, (Field(2, "element", False, Type("string")),))),
    (pa.list_(pa.string()), Type("string")),
    (pa.struct([pa.field("x", pa.int32())]), Type("int")),
]


@pytest.mark.parametrize(("kind", "target"), REFUSED)
def test_what_is_not_certain_is_refused(kind: Any, target: Type):
    with pytest.raises(RowsUnsupported):
        evolve(one([None], kind), column(target))


KEPT = [
    (pa.large_string(), "string", ["a", None]),
    (pa.string_view(), "string", ["a", None]),
    (pa.dictionary(pa.int32(), pa.string()), "string", ["a", "a", None]),
    (pa.large_binary(), "binary", [b"a", None]),
    (pa.int16(), "int", [-3, None]),
    (pa.uint16(), "long", [3, None]),
    (pa.uint32(), "long", [2**32 - 1, None]),
    (pa.timestamp("ms"), "timestamp", [1, None]),
    (pa.timestamp("us", tz="Europe/Berlin"), "timestamptz", [1, None]),
    (pa.time32("ms"), "time", [1, None]),
    (pa.binary(16), "uuid", [bytes(16), None]),
    (pa.dictionary(pa.int8(), pa.binary(16)), "uuid", [bytes(16), None]),
    (pa.dictionary(pa.int8(), pa.int32()), "long", [4, None]),
]


@pytest.mark.parametrize(("kind", "target", "values"), KEPT)
def test_the_same_values_in_another_layout_are_taken(kind: Any, target: str, values: list[Any]):
    source = one(values, kind)

    found = evolve(source, column(Type(target)))

    stored = written(found).column(0)
    assert stored.type in (arrow_type(Type(target)), found.column(0).type)
    whole = source.column(0).cast(arrow_type(PRIMITIVES[target][0])) if target != "uuid" else stored
    assert stored.to_pylist() == whole.to_pylist()
    assert written(found, store_schema=False).schema.field(0).type == arrow_type(Type(target))


def test_dictionaries_stay_dictionaries():
    found = evolve(one(["a", "a"], pa.dictionary(pa.int32(), pa.string())), column(Type("string")))

    assert pa.types.is_dictionary(found.column(0).type)


def test_a_day_that_no_timestamp_reaches_is_refused():
    with pytest.raises(RowsUnsupported, match="fit"):
        evolve(one([2**31 - 1], pa.date32()), column(Type("timestamp_ns")))


DEFAULTS = [
    ("boolean", True, True),
    ("int", -5, -5),
    ("long", 2**40, 2**40),
    ("float", 0.1, pa.scalar(0.1, pa.float32()).as_py()),
    ("double", 0.1, 0.1),
    ("string", "é", "é"),
    ("uuid", "00000000-0000-0000-0000-00000000000a", bytes(15) + b"\n"),
    ("binary", "0aFF", b"\n\xff"),
    ("date", "1969-12-31", -1),
    ("time", "01:02:03.000004", 3_723_000_004),
    ("timestamp", "1969-12-31T23:59:59.999999", -1),
    ("timestamp", "1970-01-01T00:00", 0),
    ("timestamptz", "1970-01-01T00:00:01+00:00", 1_000_000),
    ("timestamp_ns", "1970-01-01T00:00:00.000000001", 1),
    ("timestamptz_ns", "1970-01-01T00:00:00.000000001+00:00", 1),
]


@pytest.mark.parametrize(("kind", "default", "value"), DEFAULTS)
def test_a_missing_column_has_its_initial_default(kind: str, default: Any, value: Any):
    schema = column(Type(kind), initial_default=default, required=True)

    found = evolve(one([1, 2], pa.int32(), id_=9), schema)

    assert found.schema.field(0).type == arrow_type(Type(kind))
    chunk = found.column(0).combine_chunks()
    raw = chunk.storage if kind == "uuid" else chunk
    if kind.startswith(("date", "time")):
        raw = raw.view(pa.int32() if kind == "date" else pa.int64())
    assert raw.to_pylist() == [value, value]
    assert found.schema == arrow_schema(schema)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("int", 2**31),
        ("int", "1"),
        ("int", True),
        ("boolean", 1),
        ("float", "1"),
        ("date", "yesterday"),
        ("time", "25"),
        ("timestamp", "1970-01-01T00:00:00+00:00"),
        ("timestamptz", "1970-01-01T00:00:00+01:00"),
        ("timestamp", "1970-01-01T00:00:00.0000001"),
        ("uuid", "x"),
        ("binary", "xx"),
        ("string", 1),
    ],
)
def test_what_is_no_default_is_corrupt(kind: str, default: Any):
    with pytest.raises(RowsCorrupt):
        evolve(one([1], pa.int32(), id_=9), column(Type(kind), initial_default=default))


def test_decimal_and_nested_defaults():
    money = Type("decimal", precision=9, scale=2)
    point = Type(STRUCT, (Field(2, "x", False, Type("int"), 3), Field(3, "y", False, money)))
    many = Type(LIST, (Field(5, "element", False, Type("int")),))
    pairs = Type(
        MAP, (Field(7, "key", True, Type("string")), Field(8, "value", False, Type("int")))
    )
    schema = Schema(
        (
            Field(1, "p", True, point, {"3": "1.50"}),
            Field(4, "l", True, many, [1, None]),
            Field(6, "m", True, pairs, {"keys": ["a"], "values": [None]}),
        )
    )

    (row,) = evolve(one([1], pa.int32(), id_=9), schema).to_pylist()

    assert row == {"p": {"x": 3, "y": Decimal("1.50")}, "l": [1, None], "m": [("a", None)]}
    with pytest.raises(RowsCorrupt):
        evolve(one([1], pa.int32(), id_=9), column(money, initial_default="1.5"))


def test_a_missing_required_column_is_corrupt():
    with pytest.raises(RowsCorrupt, match="lacks"):
        evolve(one([1], pa.int32(), id_=9), column(Type("int"), required=True))


def test_nulls_in_a_required_column_are_corrupt():
    with pytest.raises(RowsCorrupt, match="nulls"):
        evolve(one([1, None], pa.int32()), column(Type("int"), required=True))


def test_a_dropped_column_that_came_back_under_its_name_is_another_one():
    schema = Schema((Field(2, "c", False, Type("int")),))

    assert evolve(one([1, 2], pa.int32()), schema).to_pylist() == [{"c": None}, {"c": None}]


def test_two_columns_of_one_id_are_corrupt():
    field = pa.field("c", pa.int32(), metadata={"PARQUET:field_id": "1"})
    doubled = pa.table([[1], [2]], pa.schema([field, field.with_name("d")]))

    with pytest.raises(RowsCorrupt, match="two columns"):
        evolve(doubled, column(Type("int")))


def test_files_without_ids_go_by_the_name_mapping():
    mapping = parse_name_mapping(
        '[{"field-id": 1, "names": ["old", "c"]}, {"field-id": 2, "names": ["s"], "fields": ['
        '{"field-id": 3, "names": ["x"]}, {"field-id": 4, "names": ["l"], "fields": ['
        '{"field-id": 5, "names": ["element"]}]}]}]'
    )
    many = Type(LIST, (Field(5, "element", False, Type("long")),))
    inside = Type(STRUCT, (Field(4, "items", False, many), Field(3, "why", False, Type("int"))))
    schema = Schema((Field(2, "place", False, inside), Field(1, "number", False, Type("int"))))
    made = pa.array([{"x": 1, "l": [2, None], "unmapped": 3}, None])
    source = pa.table({"old": pa.array([7, 8], pa.int32()), "s": made, "other": ["a", "b"]})
    source = source.set_column(
        1, "s", made.cast(pa.struct([("x", pa.int32()), ("l", pa.list_(pa.int32())), ("u", "i8")]))
    )

    found = evolve(written(source, use_compliant_nested_type=False), schema, mapping)

    assert found.to_pylist() == [
        {"place": {"items": [2, None], "why": 1}, "number": 7},
        {"place": None, "number": 8},
    ]


def test_files_without_ids_are_refused_without_a_mapping():
    with pytest.raises(RowsUnsupported, match="name mapping"):
        evolve(one([1], pa.int32(), id_=None), column(Type("int")))


def test_files_with_some_ids_are_refused():
    fields = [pa.field("c", pa.int32(), metadata={"PARQUET:field_id": "1"}), pa.field("d", "i4")]

    with pytest.raises(RowsUnsupported, match="some"):
        evolve(pa.table([[1], [2]], pa.schema(fields)), column(Type("int")))


@pytest.mark.parametrize(
    "text", ["{", "[7]", '[{"field-id": "x", "names": ["a"]}]', '[{"names": 4}]']
)
def test_what_is_no_name_mapping_is_corrupt(text: str):
    with pytest.raises(RowsCorrupt):
        parse_name_mapping(text)


def test_partition_values_stand_in_for_columns_of_imported_files():
    schema = Schema((Field(1, "c", False, Type("int")), Field(2, "day", False, Type("string"))))

    found = evolve(one([1, 2], pa.int32()), schema, constants={2: "monday"})

    assert found.column("day").to_pylist() == ["monday", "monday"]


@pytest.mark.parametrize(
    ("kind", "values", "constant", "agrees"),
    [
        (pa.string(), ["a", "a"], "a", True),
        (pa.dictionary(pa.int8(), pa.string()), ["a", "a"], "a", True),
        (pa.string(), ["a", "b"], "a", False),
        (pa.string(), ["a", None], "a", False),
        (pa.float64(), [float("nan")], float("nan"), True),
        (pa.float64(), [0.0], -0.0, False),
        (pa.string(), [], "a", True),
    ],
)
def test_a_file_that_contradicts_its_partition_is_corrupt(
    kind: Any, values: Any, constant: Any, agrees: bool
):
    schema = column(Type("double" if kind == pa.float64() else "string"))
    source = one(values, kind)

    if agrees:
        assert evolve(source, schema, constants={1: constant}).num_rows == len(values)
    else:
        with pytest.raises(RowsCorrupt, match="partition"):
            evolve(source, schema, constants={1: constant})


def test_lists_in_other_layouts_are_lists():
    many = Type(LIST, (Field(2, "element", False, Type("int")),))
    element = pa.field("item", pa.int32(), metadata={"PARQUET:field_id": "2"})

    for kind in (pa.large_list(element), pa.list_(element, 2)):
        found = evolve(one([[1, 2], None], kind), column(many))

        assert found.column(0).type == pa.list_(arrow_field(many.children[0]))
        assert found.column(0).to_pylist() == [[1, 2], None]
