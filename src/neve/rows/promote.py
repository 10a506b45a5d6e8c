"""Values of a file in a column's current type, where that is certain to be the same value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from neve.model.errors import RowsUnsupported
from neve.rows.arrow import arrow_type
from neve.rows.schema import Field, Type

Check = Callable[[Any], bool]


def promoted(array: Any, field: Field) -> Any:
    """A column without children, in the type that it has now."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        values = promoted(array.dictionary, field)
        if isinstance(values.type, pa.BaseExtensionType):
            return promoted(array.dictionary_decode(), field)
        return pa.DictionaryArray.from_arrays(array.indices, values)
    if pa.types.is_run_end_encoded(kind):
        return promoted(pc.run_end_decode(array), field)
    if isinstance(kind, pa.BaseExtensionType):
        return promoted(array.storage, field)
    if not _ACCEPTED[field.type.name](kind, field.type):
        raise RowsUnsupported(
            f"Column {field.name!r} is {kind} in the file, which is not certain to be the same "
            f"values as {field.type}."
        )
    return _cast(array, field)


def _cast(array: Any, field: Field) -> Any:
    kind, target = array.type, arrow_type(field.type)
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, array)
    if kind == target or _is_large(kind):
        return array
    try:
        if pa.types.is_date32(kind) and pa.types.is_timestamp(target):
            # By way of seconds: not every day fits into a timestamp.
            return array.cast(pa.timestamp("s")).cast(target)
        return array.cast(target)
    except pa.ArrowInvalid:
        raise RowsUnsupported(
            f"Column {field.name!r} has a value that does not fit {field.type}."
        ) from None


def _is_large(kind: Any) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _one_of(*kinds: Any) -> Callable[[Any, Type], bool]:
    return lambda kind, _: kind in kinds


def _decimal(kind: Any, target: Type) -> bool:
    return bool(
        pa.types.is_decimal(kind)
        and kind.scale == target.scale
        and kind.precision <= target.precision
    )


def _timestamp(units: tuple[str, ...], zoned: bool) -> Callable[[Any, Type], bool]:
    def accepts(kind: Any, _: Type) -> bool:
        if not pa.types.is_timestamp(kind):
            # A date became a moment without a zone: its midnight.
            return bool(not zoned and pa.types.is_date32(kind))
        # What is UTC in the file is shown by a zone, whichever it is.
        return kind.unit in units and (kind.tz is not None) == zoned

    return accepts


_INTS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())
_STRINGS: Final = (pa.string(), pa.large_string(), pa.string_view())
_BINARIES: Final = (pa.binary(), pa.large_binary(), pa.binary_view())
_MICROS: Final = ("s", "ms", "us")
_ACCEPTED: Final[dict[str, Callable[[Any, Type], bool]]] = {
    "boolean": _one_of(pa.bool_()),
    "int": _one_of(*_INTS),
    "long": _one_of(*_INTS, pa.uint32(), pa.int64()),
    "float": _one_of(pa.float32()),
    "double": _one_of(pa.float32(), pa.float64()),
    "decimal": _decimal,
    "date": _one_of(pa.date32()),
    "time": _one_of(pa.time32("s"), pa.time32("ms"), pa.time64("us")),
    # Nanoseconds may be INT96, which Arrow lets overflow: read them as microseconds.
    "timestamp": _timestamp(_MICROS, zoned=False),
    "timestamptz": _timestamp(_MICROS, zoned=True),
    "timestamp_ns": _timestamp(("ns",), zoned=False),
    "timestamptz_ns": _timestamp(("ns",), zoned=True),
    "string": _one_of(*_STRINGS),
    "uuid": _one_of(pa.binary(16)),
    "binary": _one_of(*_BINARIES),
    "fixed": lambda kind, target: bool(kind == pa.binary(target.length)),
}
