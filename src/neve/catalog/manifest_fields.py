"""The fields of a manifest, each described once; every reader names those that it needs."""

from __future__ import annotations

from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)


def _map(field_id: int, name: str, key_id: int, value_id: int, value: Any) -> NestedField:
    of = MapType(key_id, IntegerType(), value_id, value, value_required=True)
    return NestedField(field_id, name, of, required=False)


def _list(field_id: int, name: str, element_id: int) -> NestedField:
    of = ListType(element_id, LongType(), element_required=True)
    return NestedField(field_id, name, of, required=False)


BOUNDS = (
    _map(125, "lower_bounds", 126, 127, BinaryType()),
    _map(128, "upper_bounds", 129, 130, BinaryType()),
)
COUNTS = (
    _map(109, "value_counts", 119, 120, LongType()),
    _map(110, "null_value_counts", 121, 122, LongType()),
    _map(137, "nan_value_counts", 138, 139, LongType()),
)
#: Names in the order in which readers of statistics unpack them.
BOUND_NAMES = tuple(field.name for field in BOUNDS)
COUNT_NAMES = tuple(field.name for field in COUNTS)

_ENTRY = {
    field.name: field
    for field in (
        NestedField(0, "status", IntegerType(), required=True),
        NestedField(1, "snapshot_id", LongType(), required=False),
        NestedField(3, "sequence_number", LongType(), required=False),
    )
}
_FILE = {
    field.name: field
    for field in (
        # Manifests of format 1 have none: all of theirs are data files.
        NestedField(134, "content", IntegerType(), required=False),
        NestedField(100, "file_path", StringType(), required=True),
        NestedField(101, "file_format", StringType(), required=True),
        # An empty struct stands for the fields that the manifest's own spec has.
        NestedField(102, "partition", StructType(), required=True),
        NestedField(103, "record_count", LongType(), required=True),
        NestedField(104, "file_size_in_bytes", LongType(), required=True),
        NestedField(131, "key_metadata", BinaryType(), required=False),
        _list(132, "split_offsets", 133),
        # Integers by the specification; pyiceberg 0.12 writes them as longs.
        _list(135, "equality_ids", 136),
        NestedField(140, "sort_order_id", IntegerType(), required=False),
        NestedField(142, "first_row_id", LongType(), required=False),
        NestedField(143, "referenced_data_file", StringType(), required=False),
        NestedField(144, "content_offset", LongType(), required=False),
        NestedField(145, "content_size_in_bytes", LongType(), required=False),
        _map(108, "column_sizes", 117, 118, LongType()),
        *COUNTS,
        *BOUNDS,
    )
}


def entry_schema(entry: str, file: tuple[str, ...]) -> Schema:
    """Entries with these fields, by name and in this order, and these of their files at the end."""
    own = [_ENTRY[name] for name in entry.split()]
    data_file = StructType(*(_FILE[name] for name in file))
    return Schema(*own, NestedField(2, "data_file", data_file, required=True))
