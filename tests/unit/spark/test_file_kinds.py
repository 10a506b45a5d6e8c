"""Files of one schema are understood once, and those of another never taken for them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.model.errors import RowsCorrupt, RowsUnsupported
from neve.rows.names import parse_name_mapping
from neve.rows.schema import LIST, STRUCT, Field, Type
from neve.spark.rewrite.rows.kinds import FileKinds


def field(id_, name, of, nullable=True):
    return pa.field(name, of, nullable, metadata={"PARQUET:field_id": str(id_)})


def kinds(*fields, mapping=None):
    return FileKinds({one.id: one for one in fields}, mapping)


LONG = Field(1, "a", False, Type("long"))
TEXT = Field(2, "b", False, Type("string"))


def test_schemas_that_differ_in_field_ids_alone_are_two():
    known = kinds(LONG, Field(2, "b", False, Type("long")))
    one = known.of(pa.schema([field(1, "x", pa.int64()), field(2, "y", pa.int64())]))
    other = known.of(pa.schema([field(2, "x", pa.int64()), field(1, "y", pa.int64())]))

    assert (one.names, other.names) == ({1: "x", 2: "y"}, {2: "x", 1: "y"})


@pytest.mark.parametrize(
    ("wanted", "found", "unchanged"),
    [
        (LONG, field(1, "old", pa.int64()), True),
        (LONG, field(1, "a", pa.int32()), False),
        (TEXT, field(2, "b", pa.large_string()), True),
        (TEXT, field(2, "b", pa.large_binary()), False),
        (TEXT, field(2, "b", pa.dictionary(pa.int32(), pa.string())), True),
        (TEXT, field(2, "b", pa.dictionary(pa.int32(), pa.large_string())), True),
        (TEXT, field(2, "b", pa.dictionary(pa.int32(), pa.binary())), False),
        (Field(1, "a", True, Type("long")), field(1, "a", pa.int64()), False),
        (Field(1, "a", True, Type("long")), field(1, "a", pa.int64(), False), True),
        (
            Field(1, "s", False, Type(STRUCT, (TEXT,))),
            field(1, "s", pa.struct([field(2, "b", pa.string())])),
            True,
        ),
        (
            Field(1, "s", False, Type(STRUCT, (TEXT,))),
            field(1, "s", pa.struct([field(3, "b", pa.string())])),
            False,
        ),
        (
            Field(1, "s", False, Type(STRUCT, (TEXT,))),
            field(1, "s", pa.struct([field(2, "b", pa.large_string())])),
            True,
        ),
        (
            Field(1, "s", False, Type(STRUCT, (TEXT,))),
            field(1, "s", pa.struct([field(3, "b", pa.large_string())])),
            False,
        ),
        (
            Field(1, "l", False, Type(LIST, (Field(2, "element", False, Type("string")),))),
            field(1, "l", pa.list_(field(2, "element", pa.large_string()))),
            True,
        ),
        (
            Field(1, "l", False, Type(LIST, (Field(2, "element", False, Type("string")),))),
            field(1, "l", pa.large_list(field(2, "element", pa.string()))),
            False,
        ),
        (
            Field(1, "s", False, Type(STRUCT, (TEXT,))),
            field(1, "s", pa.struct([field(2, "old", pa.string())])),
            False,
        ),
        (
            Field(1, "l", False, Type(LIST, (Field(2, "element", True, Type("long")),))),
            field(1, "l", pa.list_(field(2, "element", pa.int64()))),
            False,
        ),
    ],
)
def test_what_is_taken_as_it_is(wanted, found, unchanged):
    kind = kinds(wanted).of(pa.schema([found]))

    assert (wanted.id in kind.unchanged) is unchanged
    assert kind.names == {wanted.id: found.name}


def test_two_columns_of_one_id_are_corrupt():
    with pytest.raises(RowsCorrupt, match="two columns of field id 1"):
        kinds(LONG).of(pa.schema([field(1, "a", pa.int64()), field(1, "b", pa.int64())]))


def test_files_without_ids_need_a_mapping():
    schema = pa.schema([pa.field("a", pa.int64())])
    with pytest.raises(RowsUnsupported, match="no field ids"):
        kinds(LONG).of(schema)

    mapping = parse_name_mapping('[{"field-id": 1, "names": ["a"]}]')
    assert kinds(LONG, mapping=mapping).of(schema).unchanged == {1}
