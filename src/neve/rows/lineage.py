"""Row ids and last updates of format 3, as columns of a file that holds moved rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neve.model.errors import RowsCorrupt
from neve.rows.arrow import arrow_field
from neve.rows.schema import Schema

_NAMES = ("_row_id", "_last_updated_sequence_number")


def lineage_columns(
    stored_ids: Any | None,
    stored_updates: Any | None,
    *,
    rows: int,
    first_position: int,
    first_row_id: int | None,
    data_sequence_number: int,
) -> tuple[Any, Any]:
    """`_row_id` and `_last_updated_sequence_number` of rows that follow each other in one file.

    What the file stores wins; else a row's id is the file's first one plus its position, and its
    last update is the file's data sequence number. Without a first row id both are null, and the
    commit assigns them.
    """
    if first_row_id is None:
        if any(_has_values(stored) for stored in (stored_ids, stored_updates)):
            raise RowsCorrupt("The file stores row ids, and its manifest entry has no first one.")
        return pa.nulls(rows, pa.int64()), pa.nulls(rows, pa.int64())
    numbers = np.arange(rows, dtype=np.int64) + (first_row_id + first_position)
    updates = np.full(rows, data_sequence_number, dtype=np.int64)
    return _filled(stored_ids, pa.array(numbers)), _filled(stored_updates, pa.array(updates))


def with_lineage(table: Any, schema: Schema, columns: tuple[Any, Any]) -> Any:
    """The evolved table with both columns at its end, in place of stored ones."""
    fields = {field.name: field for field in schema.with_lineage().fields}
    table = table.drop_columns([name for name in _NAMES if name in table.schema.names])
    for name, column in zip(_NAMES, columns, strict=True):
        table = table.append_column(arrow_field(fields[name]), column)
    return table


def _has_values(stored: Any | None) -> bool:
    return stored is not None and stored.null_count < len(stored)


def _filled(stored: Any | None, computed: Any) -> Any:
    if stored is None:
        return computed
    whole = stored.combine_chunks() if isinstance(stored, pa.ChunkedArray) else stored
    if len(whole) != len(computed) or not pa.types.is_int64(whole.type):
        raise RowsCorrupt("The file's row ids are not one for each row.")
    return whole.fill_null(computed) if whole.null_count else whole
