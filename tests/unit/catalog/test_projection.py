"""Lists and maps of structs keep their nulls, in what is written and in what is read."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.io import pyarrow as projecting
from pyiceberg.io.pyarrow import _to_requested_schema, schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from neve.catalog.projection import keep_nulls

POINT = StructType(NestedField(10, "x", LongType(), required=False))
OTHER = StructType(NestedField(9, "y", LongType(), required=False))
THIRD = StructType(NestedField(11, "x", LongType(), required=False))
SCHEMA = Schema(
    NestedField(1, "many", ListType(2, POINT, element_required=False), required=False),
    NestedField(3, "named", MapType(4, StringType(), 5, THIRD, False), required=False),
    NestedField(6, "deep", ListType(7, ListType(8, OTHER, False), False), required=False),
)
ROWS = [
    {"many": None, "named": None, "deep": None},
    {"many": [], "named": [], "deep": []},
    {"many": [{"x": 1}, None, {"x": None}], "named": [("k", {"x": 2})], "deep": [[{"y": 1}], []]},
    {"many": None, "named": [("k", None)], "deep": None},
    {"many": [None], "named": None, "deep": [[None]]},
]


def projected(batch):
    made = _to_requested_schema(SCHEMA, SCHEMA, batch, include_field_ids=False)
    return pa.Table.from_batches([made]).to_pylist()


@pytest.mark.promise(53, 54)
@pytest.mark.parametrize("start", [0, 1, 3])
def test_nulls_stay_nulls(start):
    keep_nulls()
    batch = pa.RecordBatch.from_pylist(ROWS, schema=schema_to_pyarrow(SCHEMA))
    assert projected(batch.slice(start)) == ROWS[start:]


def test_the_library_alone_would_make_them_empty():
    """Where it does not any more, `neve.catalog.projection` can go."""
    keep_nulls()
    own = projecting.ArrowProjectionVisitor
    projecting.ArrowProjectionVisitor = own.__mro__[1]
    try:
        batch = pa.RecordBatch.from_pylist(ROWS, schema=schema_to_pyarrow(SCHEMA))
        assert projected(batch)[0]["many"] == []
    finally:
        projecting.ArrowProjectionVisitor = own
