"""Rows of a task's inputs as readers of the table see them, read once.

Whoever writes them gets them from here, and whoever proves what was written, too: each from the
read itself, and not from the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from neve.parquet.assembly.plan import Part
from neve.parquet.assembly.provide import SourceRows
from neve.rows.deletes import live_mask
from neve.spark.rewrite.rows.source import OpenedSource
from neve.spark.rewrite.rows.sources import Sources

#: Columns are asked for a few at a time, of the same files each time; each has a descriptor.
MAX_OPENED: Final = 128
#: Arrow takes about 4 KB for each column of an opened file.
MAX_OPENED_LEAVES: Final = 20_000


class LiveReads:
    """Plain reads of row groups, less the deleted rows; what was read is kept until it is let go.

    `share` are the inputs of a plan, by number. Columns of `dictionaries` stay dictionaries.
    """

    def __init__(
        self, sources: Sources, share: Sequence[int], dictionaries: frozenset[int] = frozenset()
    ) -> None:
        self._sources, self._share, self._dictionaries = sources, share, dictionaries
        self._opened: dict[int, OpenedSource] = {}
        self._opened_leaves = 0
        #: Columns by source and row group, and by field id.
        self._held: dict[tuple[int, int], dict[int, Any]] = defaultdict(dict)

    def rows(self, source: int, ordinal: int, first: int, count: int, ids: Sequence[int]) -> Any:
        """Columns of a row group, which has `count` rows from position `first` of its file on."""
        held = self._held[source, ordinal]
        if missing := [id_ for id_ in ids if id_ not in held]:
            opened = self._open(source)
            table = opened.rows.columns(opened, ordinal, first, missing)
            deleted = self._sources.deleted[self._share[source]]
            if len(deleted):
                table = table.filter(pa.array(live_mask(deleted, first, count)))
            held.update(zip(missing, table.columns, strict=True))
        names = [self._sources.layout.fields[id_].name for id_ in ids]
        return pa.Table.from_arrays([held[id_] for id_ in ids], names=names)

    def _open(self, source: int) -> OpenedSource:
        if source not in self._opened:
            leaves = self._leaves(source)
            while self._opened and (
                len(self._opened) == MAX_OPENED or self._opened_leaves + leaves > MAX_OPENED_LEAVES
            ):
                # The newest one: sources are read in the same order for every few columns, so
                # that of all of them it is wanted again last.
                self._opened_leaves -= self._leaves(self._opened.popitem()[0])
            self._opened[source] = self._sources.open(self._share[source], self._dictionaries)
            self._opened_leaves += leaves
        return self._opened[source]

    def _leaves(self, source: int) -> int:
        return len(self._sources.assembly[self._share[source]].schema.leaves)

    def let_go(self, parts: Iterable[Part], ids: Sequence[int]) -> None:
        """Forget columns of some row groups."""
        for part in parts:
            held = self._held.get((part.source, part.group.ordinal), {})
            for id_ in ids:
                held.pop(id_, None)


class LiveColumns:
    """Provides the columns of a plan's sources, by the number of the source."""

    def __init__(self, reads: LiveReads, fields: Mapping[int, Any]) -> None:
        self._reads = reads
        #: Arrow's fields of the top-level columns, by id.
        self._fields = fields

    def columns(self, parts: Sequence[SourceRows], field_ids: Sequence[int]) -> Any:
        """The columns, part after part; of changed parts the rows that are left."""
        # Where nothing is asked for but how many rows are left, any column tells.
        ids = field_ids or [next(iter(self._fields))]
        tables = [
            self._reads.rows(part.source, part.ordinal, part.first_row, part.rows, ids)
            for part in parts
        ]
        if any(not table.schema.equals(tables[0].schema) for table in tables[1:]):
            wanted = pa.schema([self._fields[id_] for id_ in ids])
            tables = [table.cast(wanted) for table in tables]
        return pa.concat_tables(tables)
