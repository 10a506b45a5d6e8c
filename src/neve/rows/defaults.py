"""Values that stand in for a column that a file does not have."""

from __future__ import annotations

import re
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import numpy as np
import pyarrow as pa

from neve.model.errors import RowsCorrupt
from neve.rows.arrow import arrow_type, stored
from neve.rows.schema import LIST, MAP, STRUCT, Field, Type

_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(.*)")
_TIME: Final = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?")
_UTC: Final = ("+00:00", "Z")


def missing_column(field: Field, rows: int) -> Any:
    """What readers see in a column that the file does not have: its initial default, or null."""
    if field.initial_default is None:
        if field.required:
            raise RowsCorrupt(f"The file lacks the required column {field.name!r}.")
        return pa.nulls(rows, arrow_type(field.type))
    return repeated(default_value(field.type, field.initial_default), field.type, rows)


def repeated(value: Any, kind: Type, rows: int) -> Any:
    """An array of one value, many times."""
    of = arrow_type(kind)
    storage = of.storage_type if isinstance(of, pa.BaseExtensionType) else of
    one = pa.array([value], storage)
    many = one.take(pa.array(np.zeros(rows, dtype=np.int64)))
    return pa.ExtensionArray.from_storage(of, many) if storage is not of else many


def default_value(kind: Type, value: Any) -> Any:
    """The value that JSON spells, as Arrow takes it."""
    if value is None:
        return None
    try:
        return _nested(kind, value) if kind.is_nested else _PARSERS[kind.name](kind, value)
    except (ValueError, TypeError, KeyError, InvalidOperation, OverflowError, struct.error):
        raise RowsCorrupt(f"{value!r} is no default of type {kind}.") from None


def _nested(kind: Type, value: Any) -> Any:
    match kind.name:
        case name if name == LIST and isinstance(value, list):
            return [default_value(kind.children[0].type, each) for each in value]
        case name if name == MAP and len(value["keys"]) == len(value["values"]):
            of_key, of_value = (child.type for child in kind.children)
            return [
                (default_value(of_key, key), default_value(of_value, each))
                for key, each in zip(value["keys"], value["values"], strict=True)
            ]
        case name if name == STRUCT and isinstance(value, dict):
            return {
                field.name: default_value(
                    field.type, value.get(str(field.id), field.initial_default)
                )
                for field in stored(kind.children)
            }
    raise ValueError(value)


def _exactly(of: type, check: Callable[[Any], bool] = lambda _: True) -> Callable[[Type, Any], Any]:
    def parse(kind: Type, value: Any) -> Any:
        if type(value) is not of or not check(value):
            raise ValueError(value)
        return value

    return parse


def _float(kind: Type, value: Any) -> float:
    # Engines write 1.0 as 1 or as 1.0, and the value is the same.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    if kind.name == "float":
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    return float(value)


def _decimal(kind: Type, value: Any) -> Decimal:
    found = Decimal(_text(value))
    digits = found.as_tuple()
    if digits.exponent != -kind.scale or len(digits.digits) > kind.precision:
        raise ValueError(value)
    return found


def _fixed(kind: Type, value: Any) -> bytes:
    found = bytes.fromhex(_text(value))
    if kind.name == "fixed" and len(found) != kind.length:
        raise ValueError(value)
    return found


def _date(kind: Type, value: Any) -> int:
    return int(np.datetime64(_text(value), "D").astype(np.int64))


def _time_nanos(text: str) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[:3])
    fraction = int((found[4] or "").ljust(9, "0"))
    return ((hours * 60 + minutes) * 60 + seconds) * 10**9 + fraction


def _time(kind: Type, value: Any) -> int:
    return _whole(_time_nanos(_text(value)), 1000)


def _timestamp(kind: Type, value: Any) -> int:
    found = _MOMENT.fullmatch(_text(value))
    wanted = _UTC if kind.name.startswith("timestamptz") else ("",)
    if found is None or found[3] not in wanted:
        raise ValueError(value)
    nanos = _date(kind, found[1]) * 86_400 * 10**9 + _time_nanos(found[2])
    return nanos if kind.name.endswith("_ns") else _whole(nanos, 1000)


def _whole(value: int, by: int) -> int:
    if value % by:
        raise ValueError(value)
    return value // by


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


_PARSERS: Final[dict[str, Callable[[Type, Any], Any]]] = {
    "boolean": _exactly(bool),
    "int": _exactly(int, lambda value: -(2**31) <= value < 2**31),
    "long": _exactly(int, lambda value: -(2**63) <= value < 2**63),
    "float": _float,
    "double": _float,
    "decimal": _decimal,
    "string": _exactly(str),
    "uuid": lambda _, value: uuid.UUID(_text(value)).bytes,
    "binary": _fixed,
    "fixed": _fixed,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "timestamptz": _timestamp,
    "timestamp_ns": _timestamp,
    "timestamptz_ns": _timestamp,
}
