"""Values that are not simply those of a source: new columns, other types, rows less deletes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from neve.model.errors import ParquetUnsupported
from neve.parquet.assembly.wanted import WantedSchema


@dataclass(frozen=True, slots=True)
class SourceRows:
    """A row group of a source, for whoever provides values of it."""

    #: The number of the source in the plan, and its path.
    source: int
    path: str
    #: The row group's number in the file, the position of its first row there, and its rows.
    ordinal: int
    first_row: int
    rows: int
    #: Whether rows are removed or changed.
    changed: bool
    #: The file as a pyarrow.parquet.ParquetFile, opened once however often it is asked for.
    open: Callable[[], Any] = field(repr=False, compare=False)


class ColumnProvider(Protocol):
    """Gives the values of top-level columns in the wanted types.

    A changed row group is asked for alone and may come back with fewer rows, the same ones however
    often it is asked for; any other must come back with all of its rows, in order.
    """

    def columns(self, parts: Sequence[SourceRows], field_ids: Sequence[int]) -> Any:
        """A pyarrow.Table with the columns in the order of `field_ids`, part after part."""


class NullColumns:
    """Nulls for columns that were added to the table since the sources were written."""

    def __init__(self, wanted: WantedSchema) -> None:
        self._fields = dict(zip(wanted.top_field_ids, wanted.arrow, strict=True))

    def columns(self, parts: Sequence[SourceRows], field_ids: Sequence[int]) -> Any:
        """Nulls, or ParquetUnsupported where a source does have the column."""
        for part in parts:
            present = _top_field_ids(part.open().schema_arrow)
            if part.changed or present & set(field_ids):
                raise ParquetUnsupported(f"{part.path} needs values that nobody provides.")
        rows = sum(part.rows for part in parts)
        fields = [self._fields[field_id] for field_id in field_ids]
        for one in fields:
            if not one.nullable:
                raise ParquetUnsupported(f"Column {one.name} is required, and no source has it.")
        arrays = [pa.nulls(rows, one.type) for one in fields]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _top_field_ids(schema: Any) -> set[int]:
    keys = ((one.metadata or {}).get(b"PARQUET:field_id") for one in schema)
    return {int(key) for key in keys if key is not None}
