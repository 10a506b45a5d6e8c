"""Schemas: leaves, field ids at every level, and equality that ignores only taste."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.model.errors import ParquetCorrupt
from neve.parquet import schema, thrift
from neve.parquet.footer import read_footer
from neve.parquet.schema import read_schema
from neve.parquet.thrift import Field, Struct
from neve.storage.readers import MemoryReader

REQUIRED, OPTIONAL, REPEATED = 0, 1, 2
MAP, LIST = 1, 3


def element(name: str, **values: int | Struct) -> Struct:
    ids = {"type": 1, "repetition": 3, "children": 5, "converted": 6, "field_id": 9, "logical": 10}
    fields = [Field(4, thrift.BINARY, name.encode())]
    for key, value in values.items():
        kind = thrift.STRUCT if isinstance(value, Struct) else thrift.I32
        fields.append(Field(ids[key], kind, value))
    return Struct(tuple(sorted(fields, key=lambda field: field.id)))


def encode(*elements: Struct) -> bytes:
    header = thrift.encode_list_header(thrift.STRUCT, len(elements))
    return header + b"".join(thrift.encode_struct(item) for item in elements)


def leaf(name: str, field_id: int | None = None) -> Struct:
    ids = {} if field_id is None else {"field_id": field_id}
    return element(name, type=1, repetition=OPTIONAL, **ids)


def with_ids(field: pa.Field, field_id: int) -> pa.Field:
    return field.with_metadata({"PARQUET:field_id": str(field_id)})


def test_leaves_have_paths_types_and_ids(write) -> None:
    fields = [
        with_ids(pa.field("a", pa.int64()), 1),
        with_ids(pa.field("s", pa.struct([with_ids(pa.field("b", pa.string()), 3)])), 2),
    ]
    table = pa.table([[1], [{"b": "x"}]], schema=pa.schema(fields))
    found = read_footer(MemoryReader(write(table))).schema

    assert [(leaf.path, leaf.physical_type, leaf.field_id) for leaf in found.leaves] == [
        (("a",), 2, 1),
        (("s", "b"), 6, 3),
    ]
    assert found.has_all_field_ids


def test_missing_ids_are_named_at_every_level(write) -> None:
    element_field = pa.field("element", pa.int32())
    fields = [
        with_ids(pa.field("l", pa.list_(element_field)), 1),
        with_ids(pa.field("s", pa.struct([pa.field("b", pa.string())])), 2),
        pa.field("c", pa.int8()),
    ]
    table = pa.table([[[1]], [{"b": "x"}], [1]], schema=pa.schema(fields))
    found = read_footer(MemoryReader(write(table))).schema

    assert found.without_field_id == ("l.list.element", "s.b", "c")


def test_repeated_groups_of_lists_and_maps_need_no_id() -> None:
    raw = encode(
        element("schema", children=2),
        element("l", repetition=OPTIONAL, children=1, converted=LIST, field_id=1),
        element("list", repetition=REPEATED, children=1),
        leaf("element", 2),
        element("m", repetition=OPTIONAL, children=1, converted=MAP, field_id=3),
        element("key_value", repetition=REPEATED, children=2),
        leaf("key", 4),
        leaf("value", 5),
    )

    assert read_schema(raw).has_all_field_ids


def test_a_legacy_list_element_needs_an_id() -> None:
    raw = encode(
        element("schema", children=1),
        element("l", repetition=OPTIONAL, children=1, converted=LIST, field_id=1),
        element("array", repetition=REPEATED, children=1),
        leaf("x", 2),
    )

    assert read_schema(raw).without_field_id == ("l.array",)


def test_the_inside_of_a_variant_needs_no_ids() -> None:
    variant = Struct((Field(16, thrift.STRUCT, Struct(())),))
    raw = encode(
        element("schema", children=2),
        element("v", repetition=OPTIONAL, children=2, field_id=1, logical=variant),
        leaf("metadata"),
        leaf("value"),
        leaf("a"),
    )

    assert read_schema(raw).without_field_id == ("a",)


def test_only_the_name_of_the_root_is_taste() -> None:
    one = read_schema(encode(element("schema", children=1), leaf("a", 1)))
    renamed = read_schema(encode(element("table", children=1, repetition=0), leaf("a", 1)))
    other_id = read_schema(encode(element("schema", children=1), leaf("a", 2)))
    other_name = read_schema(encode(element("schema", children=1), leaf("b", 1)))

    assert one.canonical == renamed.canonical
    assert len({one.canonical, other_id.canonical, other_name.canonical}) == 3


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ([], "not a list"),
        ([element("schema", children=2), leaf("a")], "fewer columns"),
        ([element("schema", children=1), leaf("a"), leaf("b")], "more columns"),
        ([element("schema", children=-1)], "no number of children"),
        ([element("schema", children=1), element("a", repetition=OPTIONAL)], "no number"),
        ([element("schema", children=1), element("a", type=1, children=1)], "unclear type"),
        ([element("schema", children=1), Struct((Field(1, thrift.I32, 1),))], "without a name"),
        (
            [element("schema", children=1), Struct((Field(4, thrift.BINARY, b"\xff"),))],
            "not UTF-8",
        ),
        ([Struct((Field(5, thrift.I32, 0), Field(5, thrift.I32, 1)))], "same thing twice"),
        ([element("g", children=1) for _ in range(80)] + [leaf("a")], "levels deep"),
    ],
)
def test_broken_trees_are_named(elements: list[Struct], message: str) -> None:
    with pytest.raises(ParquetCorrupt, match=message):
        read_schema(encode(*elements))


def test_schemas_are_understood_once() -> None:
    raw = encode(element("schema", children=1), leaf("once", 1))

    assert schema.read_schema(raw) is schema.read_schema(bytes(bytearray(raw)))
