"""Statistics of chunks that nobody decodes: what the new file's own footer says of them.

The footer has them from the sources, as far as their writers are to be believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from neve.parquet.assembly.columns import Column
from neve.parquet.assembly.encode import OWN_TRUST
from neve.parquet.assembly.source import SourceChunk, SourceGroup
from neve.parquet.assembly.statistics import decoded_bounds, read_statistics
from neve.rows.metrics import RowMetrics, ValueMetrics
from neve.rows.schema import Field

#: Types whose bounds in footers are the values themselves. Of floating-point numbers nobody has
#: counted NaNs, and their zeros have lost their signs.
_TOLD: Final = (
    "int",
    "long",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "timestamp_ns",
    "timestamptz_ns",
    "decimal",
    "string",
)


def told_by_footer(
    footer: bytes, group: SourceGroup, leaves: Sequence[tuple[Column, Field]]
) -> RowMetrics | None:
    """Statistics of the leaves of one column in a row group, or None where they must be read."""
    found = {}
    for column, field in leaves:
        metrics = _told(footer, group.chunks[column.index], column, field)
        if metrics is None:
            return None
        found[field.id] = metrics
    return found


def _told(footer: bytes, chunk: SourceChunk, column: Column, field: Field) -> ValueMetrics | None:
    if field.type.name not in _TOLD:
        return None
    statistics = read_statistics(footer, chunk.statistics_at, column.value, OWN_TRUST)
    nulls = statistics.nulls
    if nulls is None or nulls > chunk.values:
        return None
    if nulls == chunk.values:
        return ValueMetrics(chunk.values, nulls)
    bounds = decoded_bounds(statistics, column.value)
    if bounds is None:
        return None
    lower, upper = (each.encode() if isinstance(each, str) else each for each in bounds)
    return ValueMetrics(chunk.values, nulls, None, lower, upper)
