"""Column statistics of a file that is made of others, merged without reading it."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neve.model.rewrite import ColumnMetrics, FileDetails

Decode = Callable[[bytes], Any]


def merge_metrics(files: Sequence[FileDetails], types: Mapping[int, str]) -> ColumnMetrics:
    """What manifests may say about the rows of all files together.

    A statistic is kept for a column only where every file that has values in it tells it.
    """
    return ColumnMetrics(
        column_sizes=_sum([file.metrics.column_sizes for file in files]),
        value_counts=_sum([file.metrics.value_counts for file in files]),
        null_value_counts=_sum([file.metrics.null_value_counts for file in files]),
        nan_value_counts=_sum([file.metrics.nan_value_counts for file in files]),
        lower_bounds=_bounds(files, types, lambda m: m.lower_bounds, first=True),
        upper_bounds=_bounds(files, types, lambda m: m.upper_bounds, first=False),
    )


def _sum(counts: Sequence[dict[int, int] | None]) -> dict[int, int] | None:
    known = [count for count in counts if count is not None]
    if len(known) != len(counts) or not known:
        return None
    shared = set(known[0]).intersection(*known[1:])
    return {key: sum(count[key] for count in known) for key in sorted(shared)}


def _bounds(
    files: Sequence[FileDetails],
    types: Mapping[int, str],
    bounds_of: Callable[[ColumnMetrics], dict[int, bytes] | None],
    *,
    first: bool,
) -> dict[int, bytes] | None:
    columns = {column for file in files for column in bounds_of(file.metrics) or ()}
    merged: dict[int, bytes] = {}
    for column in sorted(columns):
        decode = decoder(types.get(column))
        if decode is None:
            continue
        found = [
            (bounds_of(file.metrics) or {}).get(column)
            for file in files
            if not _only_nulls(file, column)
        ]
        values = [bound for bound in found if bound is not None]
        # A file that has values but no bound may hold anything.
        if values and len(values) == len(found):
            pick = min if first else max
            merged[column] = pick(values, key=decode)
    return merged or None


def _only_nulls(file: FileDetails, column: int) -> bool:
    """True where the column has no value that a bound could speak of."""
    if file.record_count == 0:
        return True
    values = (file.metrics.value_counts or {}).get(column)
    nulls = (file.metrics.null_value_counts or {}).get(column)
    nans = (file.metrics.nan_value_counts or {}).get(column, 0)
    return values is not None and nulls is not None and values == nulls + nans


def decoder(of: str | None) -> Decode | None:
    """How bounds of a type compare, or None for types whose bounds are not merged."""
    if of is None:
        return None
    if of in ("int", "date"):
        return _number("<i")
    if of in ("long", "time") or of.startswith("timestamp"):
        return _number("<q")
    if of == "float":
        return _floating("<f")
    if of == "double":
        return _floating("<d")
    if of.startswith("decimal"):
        return lambda bound: int.from_bytes(bound, "big", signed=True)
    if of in ("string", "binary", "uuid", "boolean") or of.startswith("fixed"):
        return lambda bound: bound
    return None


def _number(layout: str) -> Decode:
    def decode(bound: bytes) -> Any:
        # A bound written before an int column became a long is shorter.
        if len(bound) == 4:
            return struct.unpack("<i", bound)[0]
        return struct.unpack(layout, bound)[0]

    return decode


def _floating(layout: str) -> Decode:
    def decode(bound: bytes) -> Any:
        value = struct.unpack("<f" if len(bound) == 4 else layout, bound)[0]
        # -0.0 is below +0.0 as a bound, although the numbers are equal.
        return (value, math.copysign(1.0, value))

    return decode
