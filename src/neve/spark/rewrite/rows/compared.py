"""Rows that should be the same, compared by their values, and by fingerprints in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np
import pyarrow as pa

from neve.rows.arrow import arrow_field
from neve.rows.fingerprint import Fingerprint, fingerprint
from neve.rows.sameness import surely_equal
from neve.rows.schema import Field, Schema, Type
from neve.rows.vectors import ROW_POSITION
from neve.spark.rewrite.rows.layout import POSITION_NAME

#: Values are hashed with their place, so that they cannot change places with each other.
_POSITION: Final = Field(ROW_POSITION, POSITION_NAME, True, Type("long"))


class Compared:
    """What is expected and what is found, so many rows of each at a time.

    A row counts once for every set of columns that is compared.
    """

    def __init__(self) -> None:
        self.expected, self.found = Fingerprint(), Fingerprint()

    def add(self, expected: Sequence[Any], found: Any, schema: Schema, place: int) -> None:
        """Rows that should be the same. Where their values are equal, counting them is enough."""
        rows = sum(table.num_rows for table in expected)
        if rows == found.num_rows and _all_equal(expected, found, schema):
            self.expected += Fingerprint(rows)
            self.found += Fingerprint(rows)
            return
        self.found += _with_places(found, schema, place)
        self.add_missing(expected, schema, place)

    def add_missing(self, expected: Iterable[Any], schema: Schema, place: int) -> None:
        """Rows that were not found, or not as they should be."""
        for table in filter(len, expected):
            self.expected += _with_places(table, schema, place)
            place += table.num_rows


def _all_equal(expected: Sequence[Any], found: Any, schema: Schema) -> bool:
    if all(table.schema.equals(expected[0].schema) for table in expected[1:]):
        return surely_equal(pa.concat_tables(expected), found, schema)
    starts = accumulate((table.num_rows for table in expected), initial=0)
    return all(
        surely_equal(table, found.slice(start, table.num_rows), schema)
        for table, start in zip(expected, starts, strict=False)
    )


def _with_places(table: Any, schema: Schema, first: int) -> Fingerprint:
    places = pa.array(np.arange(first, first + table.num_rows, dtype=np.int64))
    placed = table.append_column(arrow_field(_POSITION), places)
    return fingerprint(placed, Schema((*schema.fields, _POSITION)))
