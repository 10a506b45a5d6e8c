"""Rows of one replaced file as readers of the table see them, a row group at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neve.model.errors import ParquetCorrupt
from neve.model.rewrite import TaskInput
from neve.rows.arrow import children, field_id
from neve.rows.defaults import default_value, missing_column, repeated
from neve.rows.evolve import evolve
from neve.rows.lineage import lineage_columns
from neve.rows.names import with_ids
from neve.rows.schema import LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID, Schema
from neve.spark.rewrite.rows.kinds import FileKind
from neve.spark.rewrite.rows.layout import RowLayout

LINEAGE = (ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)


@dataclass(frozen=True, slots=True)
class FileRows:
    """What the columns of a file are to be found by, and what stands in for missing ones."""

    layout: RowLayout
    source: TaskInput
    #: Whether the file was written just now: then its row ids are what it stores, and no more.
    is_new: bool = False

    def columns(
        self, opened: OpenedSource, ordinal: int, first_row: int, ids: Sequence[int]
    ) -> Any:
        """Top-level columns of a row group in the order of `ids`, in the current types.

        `first_row` is the row group's place in the file.
        """
        layout, file, kind = self.layout, opened.file, opened.kind
        rows = file.metadata.row_group(ordinal).num_rows
        read = [id_ for id_ in ids if id_ in kind.names]
        if layout.has_lineage and not set(ids).isdisjoint(LINEAGE):
            read += [id_ for id_ in LINEAGE if id_ in kind.names and id_ not in read]
        found: dict[int, Any] = {}
        if read:
            names = [kind.names[id_] for id_ in read]
            table = file.read_row_group(ordinal, columns=names, use_threads=False)
            found = self._evolved(table, read, kind)
        found.update(
            {id_: self._missing(id_, rows) for id_ in ids if id_ not in kind.names}
            | self._lineage(found, ids, rows, first_row)
        )
        return self._table(found, ids)

    def batches(
        self, opened: OpenedSource, ordinal: int, ids: Sequence[int], rows: int
    ) -> Iterator[Any]:
        """The same of what was just written, which has the columns, so many rows at a time."""
        kind = opened.kind
        if lacking := [id_ for id_ in ids if id_ not in kind.names]:
            raise ParquetCorrupt(f"The new file lacks the columns of the ids {lacking}.")
        names = [kind.names[id_] for id_ in ids]
        for batch in opened.file.iter_batches(
            rows, row_groups=[ordinal], columns=names, use_threads=False
        ):
            found = self._evolved(pa.Table.from_batches([batch]), ids, kind)
            yield self._table(found, ids)

    @property
    def constants(self) -> dict[int, Any]:
        """Values of identity partition columns, as Arrow takes them."""
        fields = self.layout.fields
        return {
            id_: default_value(fields[id_].type, value)
            for id_, value in self.source.constants
            if id_ in fields
        }

    def _table(self, found: dict[int, Any], ids: Sequence[int]) -> Any:
        names = [self.layout.fields[id_].name for id_ in ids]
        return pa.Table.from_arrays([found[id_] for id_ in ids], names=names)

    def _evolved(self, table: Any, ids: Sequence[int], kind: FileKind) -> dict[int, Any]:
        constants = self.constants
        found = {
            id_: table.column(kind.names[id_])
            for id_ in ids
            if id_ in kind.unchanged and id_ not in constants
        }
        changed = tuple(self.layout.fields[id_] for id_ in ids if id_ not in found)
        if changed:
            others = table.select([kind.names[field.id] for field in changed])
            evolved = evolve(others, Schema(changed), self.layout.mapping, constants)
            found |= {field.id: evolved.column(field.name) for field in changed}
        return found

    def _missing(self, id_: int, rows: int) -> Any:
        field, constants = self.layout.fields[id_], self.constants
        if id_ in constants:
            return pa.chunked_array([repeated(constants[id_], field.type, rows)])
        return pa.chunked_array([missing_column(field, rows)])

    def _lineage(
        self, found: dict[int, Any], ids: Sequence[int], rows: int, first_row: int
    ) -> dict[int, Any]:
        if self.is_new or not self.layout.has_lineage or set(ids).isdisjoint(LINEAGE):
            return {}
        columns = lineage_columns(
            found.get(ROW_ID),
            found.get(LAST_UPDATED_SEQUENCE_NUMBER),
            rows=rows,
            first_position=first_row,
            first_row_id=self.source.first_row_id,
            data_sequence_number=self.source.data_sequence_number,
        )
        return {
            id_: pa.chunked_array([column]) for id_, column in zip(LINEAGE, columns, strict=True)
        }


def mapped_ids(schema: Any, layout: RowLayout) -> dict[tuple[str, ...], int]:
    """Ids by path for a file without any; what lies in lists and maps is decoded instead."""
    if any(field_id(field) is not None for field in schema):
        return {}
    return dict(_paths(list(with_ids(schema, layout.mapping)), ()))


def _paths(fields: Iterable[Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    for field in fields:
        path = (*above, field.name)
        id_ = field_id(field)
        if id_ is not None:
            yield path, id_
        if pa.types.is_struct(field.type):
            yield from _paths(children(field.type), path)


class OpenedSource:
    """A file as pyarrow opens it, and what it is to the table."""

    def __init__(
        self,
        rows: FileRows,
        opened: Any,
        *,
        dictionaries: Sequence[str] = (),
        schema_key: object = None,
    ) -> None:
        """Columns named in `dictionaries` are read as such.

        Files of one `schema_key` have the same schema in Arrow, if it is not None.
        """
        self.rows = rows
        self._opened, self._dictionaries, self._schema_key = opened, dictionaries, schema_key

    @cached_property
    def file(self) -> Any:
        """The file; its footer is read once."""
        # Arrow would look for a path in its file systems first: as long as the footer takes.
        source = pa.OSFile(self._opened) if isinstance(self._opened, str) else self._opened
        # Reading ahead, it would keep chunks as long as the file is open, and ask other threads
        # for what lies in memory or on this machine's disk.
        return pq.ParquetFile(source, read_dictionary=self._dictionaries or None, pre_buffer=False)

    @cached_property
    def kind(self) -> FileKind:
        """What files of its schema hold."""
        kinds = self.rows.layout.kinds
        if self._schema_key is None:
            return kinds.of(self.file.schema_arrow)
        return kinds.by_key(self._schema_key, lambda: self.file.schema_arrow)

    def row_groups(self) -> Iterator[tuple[int, int, int]]:
        """Number, first row and rows of every row group that has any."""
        metadata, first = self.file.metadata, 0
        for ordinal in range(metadata.num_row_groups):
            rows = metadata.row_group(ordinal).num_rows
            if rows:
                yield ordinal, first, rows
            first += rows
