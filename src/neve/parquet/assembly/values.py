"""What the values of a column are, however its writer spelled the type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from neve.parquet import thrift
from neve.parquet.layout import Element, Physical

#: LogicalType's own field ids, and ConvertedType's numbers, that stand for the same values.
_LOGICAL_KINDS: Final = {1: "string", 6: "date", 14: "uuid"}
_CONVERTED_KINDS: Final = {0: "string", 5: "decimal", 6: "date"}
_LOGICAL_DECIMAL, _LOGICAL_TIME, _LOGICAL_TIMESTAMP, _LOGICAL_INTEGER = 5, 7, 8, 10
_CONVERTED_TIMES: Final = {
    7: ("time", 1),
    8: ("time", 2),
    9: ("timestamp", 1),
    10: ("timestamp", 2),
}
_CONVERTED_SIGNED: Final = range(15, 19)


@dataclass(frozen=True, slots=True)
class ValueType:
    """Physical type and meaning of a column's values."""

    physical: int
    #: "plain" for numbers, booleans and bytes as they are; a number for what Neve does not know.
    kind: str
    #: Of byte arrays of one length.
    length: int | None = None
    precision: int | None = None
    scale: int = 0
    #: Of times: 1 for milliseconds, 2 for microseconds, 3 for nanoseconds.
    unit: int | None = None
    #: Of timestamps; None where an old writer does not reporter.
    is_utc: bool | None = None

    def holds(self, source: ValueType) -> bool:
        """Whether bytes of the source's type are values of this one, unchanged."""
        if self.physical != source.physical or self.length != source.length:
            return False
        match self.kind:
            case "decimal":
                return self._holds_decimal(source)
            case "timestamp":
                same_unit = (source.kind, source.unit) == (self.kind, self.unit)
                return same_unit and source.is_utc in (self.is_utc, None)
            case "uuid":
                return source.kind in ("uuid", "plain")
            case _:
                return (source.kind, source.unit) == (self.kind, self.unit)

    def _holds_decimal(self, source: ValueType) -> bool:
        return (
            source.kind == "decimal"
            and source.scale == self.scale
            and (source.precision or 0) <= (self.precision or 0)
        )

    @property
    def iceberg_type(self) -> str | None:
        """The name of the Iceberg type with the same order of values, if there is one."""
        match self.kind:
            case "decimal":
                return f"decimal({self.precision}, {self.scale})"
            case "plain" if self.physical == Physical.FIXED_LEN_BYTE_ARRAY:
                return f"fixed[{self.length}]"
            case "plain":
                return _PLAIN_NAMES.get(self.physical)
            case "timestamp" | "time" | "date" | "string" | "uuid":
                return self.kind
            case _:
                return None


_PLAIN_NAMES: Final = {
    Physical.BOOLEAN: "boolean",
    Physical.INT32: "int",
    Physical.INT64: "long",
    Physical.FLOAT: "float",
    Physical.DOUBLE: "double",
    Physical.BYTE_ARRAY: "binary",
}


def value_type(element: thrift.Struct) -> ValueType:
    """The type of a leaf of the schema; its newer spelling counts where it has two."""
    physical = element.get(Element.TYPE)
    assert isinstance(physical, int)
    length = _number(element, Element.TYPE_LENGTH)
    length = length if physical == Physical.FIXED_LEN_BYTE_ARRAY else None
    logical = element.get(Element.LOGICAL_TYPE)
    if isinstance(logical, thrift.Struct) and logical.fields:
        return _logical(physical, length, logical.fields[0])
    return _converted(physical, length, element)


def _logical(physical: int, length: int | None, field: thrift.Field) -> ValueType:
    inside = field.value if isinstance(field.value, thrift.Struct) else thrift.Struct(())
    if field.id in _LOGICAL_KINDS:
        return ValueType(physical, _LOGICAL_KINDS[field.id], length)
    if field.id == _LOGICAL_DECIMAL:
        precision, scale = _number(inside, 2), _number(inside, 1) or 0
        return ValueType(physical, "decimal", length, precision=precision, scale=scale)
    if field.id in (_LOGICAL_TIME, _LOGICAL_TIMESTAMP):
        unit = inside.get(2)
        number = unit.fields[0].id if isinstance(unit, thrift.Struct) and unit.fields else None
        if field.id == _LOGICAL_TIME:
            # A time of day has no zone in Iceberg, and its writers differ in what they note.
            return ValueType(physical, "time", length, unit=number)
        is_utc = bool(inside.get(1))
        return ValueType(physical, "timestamp", length, unit=number, is_utc=is_utc)
    if field.id == _LOGICAL_INTEGER and inside.get(2) is True:
        return ValueType(physical, "plain", length)
    return ValueType(physical, f"logical {field.id}", length)


def _converted(physical: int, length: int | None, element: thrift.Struct) -> ValueType:
    number = _number(element, Element.CONVERTED_TYPE)
    if number is None or number in _CONVERTED_SIGNED:
        return ValueType(physical, "plain", length)
    if number in _CONVERTED_TIMES:
        kind, unit = _CONVERTED_TIMES[number]
        return ValueType(physical, kind, length, unit=unit)
    kind = _CONVERTED_KINDS.get(number, f"converted {number}")
    if kind != "decimal":
        return ValueType(physical, kind, length)
    precision, scale = _number(element, Element.PRECISION), _number(element, Element.SCALE) or 0
    return ValueType(physical, kind, length, precision=precision, scale=scale)


def _number(element: thrift.Struct, field_id: int) -> int | None:
    value = element.get(field_id)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
