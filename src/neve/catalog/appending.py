"""Appending rows to a table in one request, without a retry that would delete files.

pyiceberg's own append deletes manifests of a commit that it believes to have failed. A catalog may
answer so after it has applied the commit, and the table would be unreadable from then on.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.types import ListType, MapType, NestedField, StructType

from neve.catalog.errors import failures, first_line, unreachable
from neve.catalog.projection import keep_nulls
from neve.catalog.sending import load, send
from neve.model.database import MAX_FORMAT_VERSION, Column, Row, WriteKey
from neve.model.errors import CatalogError, ExecutionError, RecordsRefused
from neve.model.table import TableRef
from neve.model.write_keys import from_text, to_text

if TYPE_CHECKING:
    import pyarrow as pa

#: In a snapshot's summary: the commit's own id, and the keys of the writes that are in it.
WRITE_ID = "neve.write-id"
WRITE_KEYS = "neve.write-keys"


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Data files that were written for a table."""

    files: tuple[DataFile, ...]

    @property
    def paths(self) -> list[str]:
        return [file.file_path for file in self.files]


class PyicebergTable:
    """A table as it was when it was loaded."""

    def __init__(self, ref: TableRef, catalog: Catalog, table: Table) -> None:
        self._ref, self._catalog, self._table = ref, catalog, table

    @property
    def uuid(self) -> str:
        return str(self._table.metadata.table_uuid)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column_of(field) for field in self._table.schema().fields)

    @property
    def layout(self) -> tuple[int, int]:
        metadata = self._table.metadata
        return metadata.current_schema_id, metadata.default_spec_id

    def has_landed(self, write_id: str) -> bool:
        return any(summary.get(WRITE_ID) == write_id for summary in self._summaries())

    def written(self, keys: Sequence[WriteKey]) -> dict[str, str]:
        wanted = {key.key for key in keys}
        found: dict[str, str] = {}
        for summary in self._summaries():
            if text := summary.get(WRITE_KEYS):
                found |= {key: c for key, c in from_text(text).items() if key in wanted}
        return found

    def _summaries(self) -> list[dict[str, str]]:
        snapshots = self._table.metadata.snapshots
        return [s.summary.additional_properties for s in snapshots if s.summary is not None]

    def stage(self, rows: Sequence[Row]) -> DataFiles:
        if self._table.format_version > MAX_FORMAT_VERSION:
            raise ExecutionError(
                f"Table {self._ref} has format version {self._table.format_version}, and WRITE "
                f"knows those up to {MAX_FORMAT_VERSION}.",
                next_step="Write to it with Spark.",
            )
        # Importing Arrow takes longer than a health check, which stages nothing.
        from pyiceberg.io.pyarrow import _dataframe_to_data_files

        keep_nulls()
        try:
            arrow = arrow_rows(self._table, rows)
            files = _dataframe_to_data_files(self._table.metadata, arrow, self._table.io)
            return DataFiles(tuple(files))
        except unwritten() as error:
            kind = RecordsRefused if _is_about_values(error) else CatalogError
            raise kind(f"Rows for {self._ref} could not be written: {first_line(error)}") from error

    def commit(self, staged: object, keys: Sequence[WriteKey], write_id: str) -> int:
        """One request against this state; what an error means is read from the table."""
        assert isinstance(staged, DataFiles)
        properties = {WRITE_ID: write_id}
        if keys:
            properties[WRITE_KEYS] = to_text(keys)
        # Never merging manifests: pyiceberg would write those of others anew as it reads them.
        producer = self._table.transaction().update_snapshot(properties).fast_append()
        for file in staged.files:
            producer.append_data_file(file)
        return send(self._ref, self._catalog, self._table, producer)


def column_of(field: NestedField) -> Column:
    """A field of a schema, with those that it is made of."""
    kind = field.field_type
    if isinstance(kind, StructType):
        parts, name = kind.fields, "struct"
    elif isinstance(kind, ListType):
        parts, name = (kind.element_field,), "list"
    elif isinstance(kind, MapType):
        parts, name = (kind.key_field, kind.value_field), "map"
    else:
        return Column(field.name, str(kind), field.required)
    return Column(field.name, name, field.required, tuple(map(column_of, parts)))


def unwritten() -> tuple[type[BaseException], ...]:
    """All that goes wrong where rows become files; of values without a transform, too."""
    return (*failures(), ArithmeticError, AttributeError)


def _is_about_values(error: BaseException) -> bool:
    """Whether other rows might be written; a partition's value becomes a part of a path."""
    if isinstance(error, OSError):
        return error.errno == errno.ENAMETOOLONG or "KeyTooLong" in str(error)
    return not isinstance(error, unreachable())


def open_table(ref: TableRef, catalog: Catalog) -> PyicebergTable:
    return PyicebergTable(ref, catalog, load(ref, catalog))


def arrow_rows(table: Table, rows: Sequence[Row]) -> pa.Table:
    """Rows in the table's columns; what a row does not name is null."""
    import pyarrow as pa
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.table(columns, schema=schema)
