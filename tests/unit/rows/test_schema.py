from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from neve.model.errors import RowsCorrupt, RowsUnsupported
from neve.rows.arrow import arrow_schema
from neve.rows.schema import Field, Schema, Type, parse_schema, parse_type

PRIMITIVES = [
    BooleanType(),
    IntegerType(),
    LongType(),
    FloatType(),
    DoubleType(),
    DateType(),
    TimeType(),
    TimestampType(),
    TimestamptzType(),
    StringType(),
    UUIDType(),
    BinaryType(),
    FixedType(7),
    DecimalType(9, 2),
    DecimalType(18, 0),
    DecimalType(38, 38),
]


def nested_schema() -> IcebergSchema:
    """Every type at the top, and some of them in each other."""
    plain = [
        NestedField(position, f"p{position}", kind, required=position % 2 == 0)
        for position, kind in enumerate(PRIMITIVES, start=1)
    ]
    point = StructType(
        NestedField(101, "x", DoubleType(), required=True),
        NestedField(102, "tags", ListType(103, StringType(), element_required=False)),
    )
    inside = MapType(105, StringType(), 106, point, value_required=False)
    return IcebergSchema(*plain, NestedField(104, "places", inside, required=False))


def test_a_schema_of_pyiceberg_is_understood():
    document = json.loads(nested_schema().model_dump_json())

    schema = parse_schema(document)

    assert parse_schema(json.dumps(document)) == schema
    assert [str(field.type) for field in schema.fields[:-1]] == [str(kind) for kind in PRIMITIVES]
    names = schema.names()
    assert names == {id_: nested_schema().find_column_name(id_) for id_ in names}
    assert len(names) == len(PRIMITIVES) + 6


def test_parquet_gets_field_ids_and_physical_types_as_iceberg_writes_them():
    schema = parse_schema(json.loads(nested_schema().model_dump_json()))

    written = parquet_schema(schema)

    leaves = {leaf.path: leaf for leaf in map(written.column, range(len(written)))}
    assert "places.key_value.value.tags.list.element" in leaves
    assert leaves["p14"].physical_type == "INT32"
    assert leaves["p15"].physical_type == "INT64"
    assert (leaves["p16"].physical_type, leaves["p16"].length) == ("FIXED_LEN_BYTE_ARRAY", 16)
    assert json.loads(leaves["p11"].logical_type.to_json())["Type"] == "UUID"
    assert "isAdjustedToUTC=true" in str(leaves["p9"].logical_type)
    assert "isAdjustedToUTC=false, timeUnit=microseconds" in str(leaves["p8"].logical_type)
    text = str(written)
    assert all(f"field_id={field.id} " in text for _, field in schema.walk())


def parquet_schema(schema: Schema) -> Any:
    target = io.BytesIO()
    empty = arrow_schema(schema).empty_table()
    pq.write_table(empty, target, store_decimal_as_integer=True)
    return pq.ParquetFile(io.BytesIO(target.getvalue())).schema


@pytest.mark.parametrize("text", ["timestamp_ns", "timestamptz_ns"])
def test_nanoseconds_of_format_3(text: str):
    (found,) = arrow_schema(Schema((Field(1, "at", False, parse_type(text)),)))

    assert found.type == pa.timestamp("ns", tz="UTC" if "tz" in text else None)


def test_columns_of_unknown_type_are_not_stored():
    fields = (Field(1, "a", False, Type("unknown")), Field(2, "b", False, Type("int")))

    assert arrow_schema(Schema(fields)).names == ["b"]


@pytest.mark.parametrize(
    "text", ["variant", "geometry(srid:4326)", "geography", "interval", "decimal(39, 2)x"]
)
def test_other_types_are_refused(text: str):
    with pytest.raises(RowsUnsupported):
        parse_type(text)


def test_decimals_that_cannot_be_are_corrupt():
    with pytest.raises(RowsCorrupt):
        parse_type("decimal(39, 2)")
    with pytest.raises(RowsCorrupt):
        parse_type("decimal(3, 4)")


def test_a_field_id_that_is_used_twice_is_corrupt():
    field = {"id": 1, "name": "a", "required": False, "type": "int"}

    with pytest.raises(RowsCorrupt, match="twice"):
        parse_schema({"fields": [field, field | {"name": "b"}]})


@pytest.mark.parametrize("document", [{}, {"fields": [{}]}, {"fields": None}, {"fields": [7]}])
def test_what_is_no_schema_is_corrupt(document: Any):
    with pytest.raises(RowsCorrupt):
        parse_schema(document)


def test_selected_fields_keep_what_they_lie_in():
    schema = parse_schema(
        {
            "fields": [
                {"id": 9, "name": "b", "required": True, "type": "int"},
                {
                    "id": 2,
                    "name": "s",
                    "required": False,
                    "type": {
                        "type": "struct",
                        "fields": [
                            {"id": 3, "name": "x", "required": False, "type": "int"},
                            {"id": 4, "name": "y", "required": False, "type": "int"},
                        ],
                    },
                },
            ]
        }
    )

    chosen = schema.select([9, 4])

    assert [field.name for field in chosen.fields] == ["s", "b"]
    assert [child.name for child in chosen.fields[0].type.children] == ["y"]
    with pytest.raises(RowsUnsupported):
        schema.select([5])
