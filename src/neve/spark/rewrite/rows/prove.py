"""Rows of the sources against rows of the new file, read apart from how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from neve.model.errors import RowsCorrupt
from neve.rows.deletes import live_mask
from neve.rows.fingerprint import Fingerprint, fingerprint
from neve.rows.metrics import RowMetrics, measure, merge
from neve.rows.roaring import Positions
from neve.spark.rewrite.rows.layout import RowLayout
from neve.spark.rewrite.rows.source import OpenedSource

#: Rows of small files are hashed together: each call has its price.
_ROWS_AT_ONCE: Final = 128 * 1024


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What a new file holds."""

    rows: Fingerprint
    metrics: RowMetrics


def live_rows(sources: Iterable[tuple[OpenedSource, Positions]], layout: RowLayout) -> Fingerprint:
    """The fingerprint of what readers see in the sources."""
    total = Fingerprint()
    for table in _batched(_live_tables(sources, layout)):
        total += fingerprint(table, layout.stored)
    return total


def read_back(source: OpenedSource, layout: RowLayout) -> ReadBack:
    """What the new file holds, and its statistics."""
    total, parts = Fingerprint(), []
    for table in _batched(_tables(source, layout)):
        total += fingerprint(table, layout.stored)
        parts.append(measure(table, layout.stored))
    if not parts:
        raise RowsCorrupt("A new file has no rows.")
    return ReadBack(total, merge(parts))


def _live_tables(
    sources: Iterable[tuple[OpenedSource, Positions]], layout: RowLayout
) -> Iterator[Any]:
    for source, deleted in sources:
        first = 0
        for table in _tables(source, layout):
            rows = table.num_rows
            if len(deleted):
                table = table.filter(pa.array(live_mask(deleted, first, rows)))
            first += rows
            yield table


def _tables(source: OpenedSource, layout: RowLayout) -> Iterator[Any]:
    ids = [field.id for field in layout.stored.fields]
    for ordinal, first_row, _ in source.row_groups():
        yield source.rows.columns(source.file, ordinal, first_row, ids)


def _batched(tables: Iterable[Any]) -> Iterator[Any]:
    waiting: list[Any] = []
    rows = 0
    for table in tables:
        if waiting and (rows >= _ROWS_AT_ONCE or table.schema != waiting[0].schema):
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, rows = [], 0
        waiting.append(table)
        rows += table.num_rows
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()
