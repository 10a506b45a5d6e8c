"""Rows of one replaced file as readers of the table see them, a row group at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neve.model.errors import RowsCorrupt
from neve.model.rewrite import TaskInput
from neve.rows.arrow import arrow_field, children, field_id
from neve.rows.defaults import default_value, missing_column, repeated
from neve.rows.evolve import evolve
from neve.rows.lineage import lineage_columns
from neve.rows.names import with_ids
from neve.rows.schema import LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID, Field, Schema
from neve.spark.rewrite.rows.layout import RowLayout

LINEAGE = (ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)


@dataclass(frozen=True, slots=True)
class FileRows:
    """What the columns of a file are to be found by, and what stands in for missing ones."""

    layout: RowLayout
    source: TaskInput
    #: Whether the file was written just now: then its row ids are what it stores, and no more.
    is_new: bool = False

    def columns(self, file: Any, ordinal: int, first_row: int, ids: Sequence[int]) -> Any:
        """Top-level columns of a row group in the order of `ids`, in the current types.

        `file` is a pyarrow.parquet.ParquetFile, `first_row` the row group's place in it.
        """
        layout = self.layout
        fields = {field.id: field for field in layout.stored.fields}
        present = _present(file.schema_arrow, layout)
        rows = file.metadata.row_group(ordinal).num_rows
        read = [fields[id_] for id_ in ids if id_ in present]
        if layout.has_lineage and not set(ids).isdisjoint(LINEAGE):
            read += [fields[i] for i in LINEAGE if i in present and fields[i] not in read]
        found = self._read(file, ordinal, read, present)
        found.update(
            {id_: self._missing(fields[id_], rows) for id_ in ids if id_ not in present}
            | self._lineage(found, ids, rows, first_row)
        )
        arrays = [found[id_] for id_ in ids]
        named = [
            arrow_field(fields[id_], array.type) for id_, array in zip(ids, arrays, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(named))

    @property
    def constants(self) -> dict[int, Any]:
        """Values of identity partition columns, as Arrow takes them."""
        types = {field.id: field.type for field in self.layout.schema.fields}
        return {
            id_: default_value(types[id_], value)
            for id_, value in self.source.constants
            if id_ in types
        }

    def _read(
        self, file: Any, ordinal: int, fields: Sequence[Field], present: dict[int, str]
    ) -> dict[int, Any]:
        if not fields:
            return {}
        names = [present[field.id] for field in fields]
        table = file.read_row_group(ordinal, columns=names, use_threads=False)
        evolved = evolve(table, Schema(tuple(fields)), self.layout.mapping, self.constants)
        return {field.id: evolved.column(field.name) for field in fields}

    def _missing(self, field: Field, rows: int) -> Any:
        constants = self.constants
        if field.id in constants:
            return pa.chunked_array([repeated(constants[field.id], field.type, rows)])
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


def _present(schema: Any, layout: RowLayout) -> dict[int, str]:
    """Names of the file's top-level columns by field id."""
    named = with_ids(schema, layout.mapping)
    found: dict[int, str] = {}
    for field in named:
        id_ = field_id(field)
        if id_ is not None and found.setdefault(id_, field.name) != field.name:
            raise RowsCorrupt(f"The file has two columns of field id {id_}.")
    return found


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
    """A source as pyarrow opens it, with the rows that deletes take from it."""

    def __init__(self, rows: FileRows, opened: Any) -> None:
        self.rows = rows
        self._opened = opened

    @cached_property
    def file(self) -> Any:
        """The file; its footer is read once."""
        return pq.ParquetFile(self._opened)

    def row_groups(self) -> Iterator[tuple[int, int, int]]:
        """Number, first row and rows of every row group that has any."""
        metadata, first = self.file.metadata, 0
        for ordinal in range(metadata.num_row_groups):
            rows = metadata.row_group(ordinal).num_rows
            if rows:
                yield ordinal, first, rows
            first += rows
