"""What values a file's columns are, in one word each: `int32`, `timestamp[ns]`, `decimal(9, 2)`.

Writers may annotate in the newer way, in the older one, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from neve.parquet import thrift
from neve.parquet.layout import Element, Physical
from neve.parquet.schema import Schema, decode_elements

_PLAIN: Final = {
    Physical.BOOLEAN: "boolean",
    Physical.INT32: "int32",
    Physical.INT64: "int64",
    Physical.INT96: "int96",
    Physical.FLOAT: "float",
    Physical.DOUBLE: "double",
    Physical.BYTE_ARRAY: "binary",
}
_UNITS: Final = {1: "ms", 2: "us", 3: "ns"}
#: Logical types without anything to say besides; text is bytes, whatever it is text of.
_LOGICAL: Final = {1: "string", 4: "string", 6: "date", 12: "string", 13: "binary"}
_DECIMAL, _TIME, _TIMESTAMP, _INTEGER, _UUID, _FLOAT16 = 5, 7, 8, 10, 14, 15
_CONVERTED: Final = {
    0: "string",
    4: "string",
    6: "date",
    7: "time[ms]",
    8: "time[us]",
    9: "timestamp[ms]",
    10: "timestamp[us]",
    11: "uint8",
    12: "uint16",
    13: "uint32",
    14: "uint64",
    15: "int8",
    16: "int16",
    17: "int32",
    18: "int64",
    19: "string",
    20: "binary",
    21: "interval",
}
_CONVERTED_DECIMAL: Final = 5


@dataclass(frozen=True, slots=True)
class LeafKind:
    """A column that holds values."""

    path: tuple[str, ...]
    field_id: int | None
    kind: str


def leaf_kinds(schema: Schema) -> Iterator[LeafKind]:
    """Every column of a file that holds values, in its order."""
    elements = [e for e in decode_elements(schema.raw)[1:] if e.get(Element.TYPE) is not None]
    for leaf, element in zip(schema.leaves, elements, strict=True):
        yield LeafKind(leaf.path, leaf.field_id, _kind(element))


def _kind(element: thrift.Struct) -> str:
    logical = element.get(Element.LOGICAL_TYPE)
    if isinstance(logical, thrift.Struct) and logical.fields:
        return _of_logical(logical.fields[0], element)
    converted = element.get(Element.CONVERTED_TYPE)
    if converted == _CONVERTED_DECIMAL:
        return _decimal(element)
    if isinstance(converted, int):
        return _CONVERTED.get(converted, f"converted {converted}")
    return _plain(element)


def _of_logical(field: thrift.Field, element: thrift.Struct) -> str:
    told = field.value if isinstance(field.value, thrift.Struct) else thrift.Struct(())
    match field.id:
        case id_ if id_ == _DECIMAL:
            return _decimal(element)
        case id_ if id_ in (_TIME, _TIMESTAMP):
            unit = told.get(2)
            of = unit.fields[0].id if isinstance(unit, thrift.Struct) and unit.fields else 0
            return f"{'time' if id_ == _TIME else 'timestamp'}[{_UNITS.get(of, '?')}]"
        case id_ if id_ == _INTEGER:
            return f"{'int' if told.get(2) else 'uint'}{_number(told, 1)}"
        case id_ if id_ == _UUID:
            return "uuid"
        case id_ if id_ == _FLOAT16:
            return "float16"
        case id_:
            return _LOGICAL.get(id_, f"logical {id_}")


def _decimal(element: thrift.Struct) -> str:
    return f"decimal({_number(element, Element.PRECISION)}, {_number(element, Element.SCALE)})"


def _plain(element: thrift.Struct) -> str:
    physical = _number(element, Element.TYPE)
    if physical == Physical.FIXED_LEN_BYTE_ARRAY:
        return f"fixed[{_number(element, Element.TYPE_LENGTH)}]"
    return _PLAIN.get(physical, f"physical {physical}")


def _number(told: thrift.Struct, field_id: int) -> int:
    value = told.get(field_id)
    return value if isinstance(value, int) else 0
