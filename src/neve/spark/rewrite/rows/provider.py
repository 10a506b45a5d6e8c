"""Values for the assembly: new columns, other types, row groups without their deleted rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from neve.parquet.assembly.provide import SourceRows
from neve.rows.deletes import live_mask
from neve.rows.roaring import Positions
from neve.spark.rewrite.rows.source import FileRows


class LiveColumns:
    """Provides the columns of a plan's sources, by the number of the source."""

    def __init__(
        self, sources: Sequence[FileRows], deleted: Sequence[Positions], fields: Mapping[int, Any]
    ) -> None:
        self._sources = sources
        self._deleted = deleted
        #: Arrow's fields of the top-level columns, by id.
        self._fields = fields

    def columns(self, parts: Sequence[SourceRows], field_ids: Sequence[int]) -> Any:
        """The columns, part after part; of changed parts the rows that are left."""
        schema = pa.schema([self._fields[id_] for id_ in field_ids])
        return pa.concat_tables([self._part(part, field_ids).cast(schema) for part in parts])

    def _part(self, part: SourceRows, field_ids: Sequence[int]) -> Any:
        source = self._sources[part.source]
        if not field_ids:
            # Nothing is asked for but how many rows are left.
            field_ids = [next(iter(self._fields))]
        table = source.columns(part.open(), part.ordinal, part.first_row, field_ids)
        if not part.changed:
            return table
        return table.filter(
            pa.array(live_mask(self._deleted[part.source], part.first_row, part.rows))
        )
