"""What column bounds of each type are: which bytes are one, how they compare, how they are written.

Writers and readers do not agree on every order. Where they do not, a type has several, and bounds
are used only where all of them say the same.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Order = Callable[[Any], Any]
_SIGNED = bytes(byte ^ 0x80 for byte in range(256))
MAX_DECIMAL_BYTES = 16


@dataclass(frozen=True, slots=True)
class BoundType:
    """Bounds of one type."""

    #: None for bytes that are no bound of this type.
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    orders: tuple[Order, ...]

    def inverted(self, lower: Any, upper: Any) -> bool:
        """True where the lower bound lies above the upper one in any of the orders."""
        return any(order(lower) > order(upper) for order in self.orders)

    def pick(self, values: Sequence[Any], choose: Callable[..., Any]) -> bytes | None:
        """The least or the greatest value, or None where the orders differ about it."""
        picked = {self.encode(choose(values, key=order)) for order in self.orders}
        return picked.pop() if len(picked) == 1 else None


def bound_type(of: str) -> BoundType | None:
    """How bounds of an Iceberg type are handled, or None for types without usable ones."""
    if of in _FIXED_TYPES:
        return _FIXED_TYPES[of]
    if of.startswith("timestamp"):
        return _number("<q")
    if found := re.fullmatch(r"decimal\((\d+), ?\d+\)", of):
        return _decimal(int(found[1]))
    if found := re.fullmatch(r"fixed\[(\d+)\]", of):
        return _binary(int(found[1]))
    return None


def _number(layout: str, before_promotion: str = "") -> BoundType:
    """A number of fixed width; a bound from before the column was widened is shorter."""
    by_length = {struct.calcsize(item): item for item in (layout, before_promotion) if item}

    def decode(bound: bytes) -> Any:
        found = by_length.get(len(bound))
        value = struct.unpack(found, bound)[0] if found else None
        # A bound of NaN is an old writer's, and says nothing of the other values.
        return None if value != value else value

    # As numbers -0.0 and 0.0 are equal; as bounds the first lies below.
    return BoundType(
        decode, lambda value: struct.pack(layout, value), (lambda v: (v, math.copysign(1, v)),)
    )


def _decimal(precision: int) -> BoundType:
    def decode(bound: bytes) -> int | None:
        value = int.from_bytes(bound, "big", signed=True)
        is_one = 0 < len(bound) <= MAX_DECIMAL_BYTES and abs(value) < 10**precision
        return value if is_one else None

    def encode(value: int) -> bytes:
        bits = (value if value >= 0 else ~value).bit_length()
        return value.to_bytes(bits // 8 + 1, "big", signed=True)

    return BoundType(decode, encode, (int,))


def _binary(max_length: int | None = None) -> BoundType:
    """Bytes are unsigned; writers that took them for signed ones exist."""

    def decode(bound: bytes) -> bytes | None:
        return bound if max_length is None or len(bound) <= max_length else None

    return BoundType(decode, bytes, (bytes, lambda value: value.translate(_SIGNED)))


def _text(bound: bytes) -> str | None:
    try:
        return bound.decode()
    except UnicodeDecodeError:
        return None


def _boolean(bound: bytes) -> bool | None:
    return {b"\x00": False, b"\x01": True}.get(bound)


def _uuid(bound: bytes) -> bytes | None:
    return bound if len(bound) == 16 else None


_FIXED_TYPES = {
    "boolean": BoundType(_boolean, lambda value: bytes([value]), (bool,)),
    "int": _number("<i"),
    "date": _number("<i"),
    "long": _number("<q", "<i"),
    "time": _number("<q"),
    "float": _number("<f"),
    "double": _number("<d", "<f"),
    # By code points, as UTF-8 is; and by UTF-16 units, where surrogates come before U+E000.
    "string": BoundType(_text, str.encode, (str, lambda value: value.encode("utf-16-be"))),
    "binary": _binary(),
    # By unsigned bytes; and by two signed longs, as java.util.UUID compares.
    "uuid": BoundType(_uuid, bytes, (bytes, lambda value: struct.unpack(">qq", value))),
}
