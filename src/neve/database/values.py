"""Values of JSON as values of a column; what does not fit exactly is refused with the reason."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal, InvalidOperation
from typing import TypeVar
from uuid import UUID

from neve.model.database import Column

Parsed = TypeVar("Parsed")
Reader = Callable[[object], object]

INT_BITS = {"int": 31, "long": 63}
MAX_FLOAT32 = 3.4028234663852886e38
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
CLOCK = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?", re.ASCII)
DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)", re.ASCII)
#: More digits than any column has.
EXACT = Context(prec=130)
NUMBER = re.compile(r"[+-]?\d{1,60}(\.\d{1,60})?", re.ASCII)


class Unfit(Exception):
    """The value is none of its column; the message says what is wanted."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        #: Where in the value, as `.city` or `[3]`.
        self.place = place


def reader_of(column: Column) -> Reader:
    """Reads values of that column."""
    if column.type == "struct":
        return _struct_reader(column.parts)
    if column.type == "list":
        return _list_reader(column.parts[0])
    if column.type == "map":
        return _map_reader(*column.parts)
    return _plain_reader(column.type)


def _part_reader(column: Column) -> Callable[[object, str], object]:
    """Reads a value inside of another, and says where it does not fit."""
    read = _unsupported("uuid in others") if column.type == "uuid" else reader_of(column)

    def read_part(value: object, place: str) -> object:
        if value is None and not column.required:
            return None
        try:
            if value is None:
                raise Unfit("it is required")
            return read(value)
        except Unfit as error:
            raise Unfit(str(error), place + error.place) from None

    return read_part


def _struct_reader(fields: Sequence[Column]) -> Reader:
    readers = {field.name: _part_reader(field) for field in fields}

    def read(value: object) -> object:
        if not isinstance(value, dict):
            raise Unfit("an object is wanted")
        for name in value:
            if name not in readers:
                raise Unfit(f"there is no field {name[:80]!r} in it")
        return {name: part(value.get(name), f".{name}") for name, part in readers.items()}

    return read


def _list_reader(element: Column) -> Reader:
    read_part = _part_reader(element)

    def read(value: object) -> object:
        if not isinstance(value, list):
            raise Unfit("a list is wanted")
        return [read_part(item, f"[{number}]") for number, item in enumerate(value)]

    return read


def _map_reader(key: Column, value: Column) -> Reader:
    """An object where keys are texts, or a list of pairs; no key may come twice."""
    read_key, read_value = _part_reader(key), _part_reader(value)

    def read(sent: object) -> object:
        pairs = list(sent.items()) if isinstance(sent, dict) else sent
        if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
            raise Unfit("an object is wanted, or a list of pairs of key and value")
        found = [
            (read_key(k, f"[{n}].key"), read_value(v, f"[{n}].value"))
            for n, (k, v) in enumerate(pairs)
        ]
        if len({repr(k) for k, _ in found}) < len(found):
            raise Unfit("a key comes twice")
        return found

    return read


def _is_pair(item: object) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2


def _plain_reader(kind: str) -> Reader:
    if kind in INT_BITS:
        return lambda value: _whole(value, INT_BITS[kind])
    if found := DECIMAL.fullmatch(kind):
        return lambda value: _decimal(value, int(found[1]), int(found[2]))
    return READERS.get(kind, _unsupported(kind))


def _unsupported(kind: str) -> Reader:
    def refuse(_: object) -> object:
        raise Unfit(f"columns of type {kind} cannot be written here")

    return refuse


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit("a text is wanted")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unfit("halves of characters cannot be stored") from None
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unfit("true or false is wanted")
    return value


def _whole(value: object, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unfit("a whole number is wanted")
    if not -(2**bits) <= value < 2**bits:
        raise Unfit(f"it does not fit into {bits + 1} bits")
    return value


def _double(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit("a number is wanted")
    try:
        number = float(value)
    except OverflowError:
        raise Unfit("it is too large") from None
    if not math.isfinite(number):
        raise Unfit("it must be finite")
    if isinstance(value, int) and int(number) != value:
        raise Unfit("it has more digits than the column holds")
    return number


def _float(value: object) -> float:
    number = _double(value)
    if abs(number) > MAX_FLOAT32:
        raise Unfit("it is too large for 32 bits")
    return number


def _decimal(value: object, precision: int, scale: int) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Unfit("a number is wanted, best as a text")
    written = value if isinstance(value, str) else f"{Decimal(str(value)):f}"
    if not NUMBER.fullmatch(written):
        raise Unfit("a decimal number is wanted")
    try:
        number = Decimal(written)
        fitted = number.quantize(Decimal(1).scaleb(-scale), context=EXACT)
    except InvalidOperation:
        raise Unfit(f"it has more than {precision} digits") from None
    if fitted != number:
        raise Unfit(f"it has more than {scale} digits after the point")
    if len(fitted.as_tuple().digits) > precision:
        raise Unfit(f"it has more than {precision} digits")
    return fitted


def _day(value: object) -> date:
    if not isinstance(value, str) or not DATE.fullmatch(value):
        raise Unfit("a day such as 2026-01-31 is wanted")
    return _parsed(date.fromisoformat, value, "there is no such day")


def _clock(value: object) -> time:
    if not isinstance(value, str) or not CLOCK.fullmatch(value):
        raise Unfit("a time such as 23:59:59 is wanted")
    return _parsed(time.fromisoformat, value, "there is no such time")


def _moment(value: object) -> datetime:
    found = _any_moment(value)
    if found.utcoffset() is not None:
        raise Unfit("the column has no time zone, so a moment without one is wanted")
    return found


def _moment_with_zone(value: object) -> datetime:
    found = _any_moment(value)
    if found.utcoffset() is None:
        raise Unfit("a moment with a time zone is wanted, such as 2026-01-31T23:59:59Z")
    try:
        return found.astimezone(UTC)
    except OverflowError:
        raise Unfit("in UTC it is before the year 1 or after 9999") from None


def _any_moment(value: object) -> datetime:
    if not isinstance(value, str) or not MOMENT.fullmatch(value):
        raise Unfit("a moment such as 2026-01-31T23:59:59 is wanted")
    return _parsed(datetime.fromisoformat, value, "there is no such moment")


def _parsed(parse: Callable[[str], Parsed], text: str, why: str) -> Parsed:
    try:
        return parse(text)
    except ValueError:
        raise Unfit(why) from None


def _uuid(value: object) -> bytes:
    if not isinstance(value, str):
        raise Unfit("a UUID is wanted")
    try:
        return UUID(value).bytes
    except ValueError:
        raise Unfit("a UUID is wanted") from None


def _bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise Unfit("bytes in base64 are wanted")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise Unfit("bytes in base64 are wanted") from None


READERS: dict[str, Reader] = {
    "string": _text,
    "boolean": _truth,
    "float": _float,
    "double": _double,
    "date": _day,
    "time": _clock,
    "timestamp": _moment,
    "timestamptz": _moment_with_zone,
    "uuid": _uuid,
    "binary": _bytes,
}
