"""What rows are, in 128 bits, whatever their order.

The hashes of all rows are added up modulo 2^128. A sum counts how often a row is there, where the
exclusive or of hashes would lose every pair of equal rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from neve.rows.hashing import Words, hash_rows
from neve.rows.schema import Schema

_MODULUS: Final = 2**128
_LOW: Final = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of rows under one schema. Two are equal if the rows are, and otherwise all but never."""

    rows: int = 0
    total: int = 0

    def __add__(self, other: Fingerprint) -> Fingerprint:
        """Of the rows of both."""
        return Fingerprint(self.rows + other.rows, (self.total + other.total) % _MODULUS)

    def __sub__(self, other: Fingerprint) -> Fingerprint:
        """Of the rows without the others, which must be among them."""
        return Fingerprint(self.rows - other.rows, (self.total - other.total) % _MODULUS)

    def __str__(self) -> str:
        return f"{self.rows}:{self.total:032x}"


def fingerprint(table: Any, schema: Schema) -> Fingerprint:
    """Of the rows of a table that has the columns of `schema`, by name.

    It is always taken after evolution to the current schema, so that a column that a file does not
    have counts with what readers see in it.
    """
    high, low = hash_rows(table, schema)
    return Fingerprint(table.num_rows, ((_sum(high) << 64) + _sum(low)) % _MODULUS)


def _sum(words: Words) -> int:
    """The exact sum, by halves that cannot overflow."""
    return int((words & _LOW).sum()) + (int((words >> np.uint64(32)).sum()) << 32)
