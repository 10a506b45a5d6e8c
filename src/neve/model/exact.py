"""Floating-point partition values: which of them are one partition."""

from __future__ import annotations

import math
import struct

_DOUBLE = struct.Struct("<d")
NAN_BITS = _DOUBLE.pack(math.nan)


class ExactFloat(float):
    """A float that equals only its own bits: -0.0 is not 0.0, and a NaN equals itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and _DOUBLE.pack(self) == _DOUBLE.pack(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        # Equal floats of both kinds share their hash; the one of a plain NaN is its identity's.
        return hash(NAN_BITS) if math.isnan(self) else float.__hash__(self)

    @property
    def is_unusual_nan(self) -> bool:
        """True for a NaN with a sign or a payload, which text cannot carry."""
        return math.isnan(self) and _DOUBLE.pack(self) != NAN_BITS


EXACT_NAN = ExactFloat(math.nan)


def exact(value: object) -> object:
    """The value so that Python's equality is equality of bytes."""
    return ExactFloat(value) if type(value) is float else value
