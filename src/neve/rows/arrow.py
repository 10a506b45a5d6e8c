"""Iceberg's types as Arrow's, so that what Arrow writes are Iceberg's physical types in Parquet.

Decimals become INT32 or INT64 where they fit only if the writer is told so: see `encode.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

from neve.model.errors import RowsCorrupt
from neve.rows.schema import LIST, MAP, STRUCT, UNKNOWN, Field, Schema, Type

FIELD_ID: Final = b"PARQUET:field_id"

_PRIMITIVES: Final[dict[str, Callable[[], Any]]] = {
    "boolean": pa.bool_,
    "int": pa.int32,
    "long": pa.int64,
    "float": pa.float32,
    "double": pa.float64,
    "date": pa.date32,
    "time": lambda: pa.time64("us"),
    "timestamp": lambda: pa.timestamp("us"),
    "timestamptz": lambda: pa.timestamp("us", tz="UTC"),
    "timestamp_ns": lambda: pa.timestamp("ns"),
    "timestamptz_ns": lambda: pa.timestamp("ns", tz="UTC"),
    "string": pa.string,
    "uuid": pa.uuid,
    "binary": pa.binary,
    UNKNOWN: pa.null,
}


def arrow_schema(schema: Schema) -> Any:
    """The schema of what is written. Columns of type unknown have only nulls, and are left out."""
    return pa.schema([arrow_field(field) for field in stored(schema.fields)])


def stored(fields: Sequence[Field]) -> list[Field]:
    """Those fields that files hold."""
    return [field for field in fields if field.type.name != UNKNOWN]


def arrow_field(field: Field, of: Any = None) -> Any:
    """A field with its id; `of` is a type of the same values, laid out in another way."""
    kind = arrow_type(field.type) if of is None else of
    metadata = {FIELD_ID: str(field.id).encode()}
    return pa.field(field.name, kind, nullable=not field.required, metadata=metadata)


def arrow_type(kind: Type) -> Any:
    """The type of values in memory."""
    match kind.name:
        case "decimal":
            return pa.decimal128(kind.precision, kind.scale)
        case "fixed":
            return pa.binary(kind.length)
        case name if name == STRUCT:
            return pa.struct([arrow_field(field) for field in stored(kind.children)])
        case name if name == LIST:
            return pa.list_(arrow_field(kind.children[0]))
        case name if name == MAP:
            return pa.map_(*(arrow_field(field) for field in kind.children))
        case name:
            return _PRIMITIVES[name]()


def field_id(field: Any) -> int | None:
    """The id that a field of a file carries."""
    found = (field.metadata or {}).get(FIELD_ID)
    try:
        return None if found is None else int(found)
    except ValueError:
        raise RowsCorrupt(f"The file's column {field.name!r} has no number as its id.") from None


def children(kind: Any) -> list[Any]:
    """The fields inside a type: of a list its element, of a map key and value."""
    if pa.types.is_struct(kind):
        return [kind.field(position) for position in range(kind.num_fields)]
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.value_field] if is_list(kind) else []


def is_list(kind: Any) -> bool:
    """Whether it is a list, in any of Arrow's layouts."""
    return any(
        check(kind)
        for check in (
            pa.types.is_list,
            pa.types.is_large_list,
            pa.types.is_fixed_size_list,
            pa.types.is_list_view,
            pa.types.is_large_list_view,
        )
    )
