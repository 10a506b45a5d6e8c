"""Appending rows to a table in one request, without a retry that would delete files.

pyiceberg's own append deletes manifests of a commit that it believes to have failed. A catalog may
answer so after it has applied the commit, and the table would be unreadable from then on.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID

from neve.catalog.errors import failures, first_line, table_errors
from neve.catalog.metadata_commit import REFUSED, unsure
from neve.model.database import Column, Row, WriteKey
from neve.model.errors import (
    CatalogError,
    CommitConflict,
    CommitUnknown,
    ExecutionError,
    NeveError,
)
from neve.model.table import TableRef
from neve.model.write_keys import from_text, to_text

if TYPE_CHECKING:
    import pyarrow as pa

#: In a snapshot's summary: the commit's own id, and the keys of the writes that are in it.
WRITE_ID = "neve.write-id"
WRITE_KEYS = "neve.write-keys"
#: The newest format version that pyiceberg writes.
MAX_FORMAT_VERSION = 2


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
        return tuple(
            Column(field.name, str(field.field_type), field.required)
            for field in self._table.schema().fields
        )

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

        arrow = arrow_rows(self._table, rows)
        try:
            files = _dataframe_to_data_files(self._table.metadata, arrow, self._table.io)
            return DataFiles(tuple(files))
        except failures() as error:
            raise CatalogError(
                f"Rows for {self._ref} could not be written: {first_line(error)}"
            ) from error

    def commit(self, staged: object, keys: Sequence[WriteKey], write_id: str) -> int:
        """One request against this state; what an error means is read from the table."""
        assert isinstance(staged, DataFiles)
        properties = {WRITE_ID: write_id}
        if keys:
            properties[WRITE_KEYS] = to_text(keys)
        transaction = self._table.transaction()
        producer = transaction._append_snapshot_producer(properties)
        for file in staged.files:
            producer.append_data_file(file)
        try:
            updates, requirements = producer._commit()
        except failures() as error:
            raise CatalogError(
                f"Manifests of {self._ref} could not be written: {first_line(error)}"
            ) from error
        asserted = (*requirements, AssertTableUUID(uuid=self._table.metadata.table_uuid))
        # What pyiceberg wraps around it would send the request again.
        send = inspect.unwrap(type(self._catalog).commit_table)
        try:
            send(self._catalog, self._table, asserted, updates)
        except unsure() as error:
            self._settle(write_id, error)
        return producer.snapshot_id

    def _settle(self, write_id: str, error: BaseException) -> None:
        try:
            now = open_table(self._ref, self._catalog)
        except NeveError as silent:
            raise self._unknown(error) from silent
        if now.has_landed(write_id):
            return
        if isinstance(error, iceberg.CommitFailedException) or "database is locked" in str(error):
            raise CommitConflict(
                f"Others write to table {self._ref} all the time.", next_step="Send it again."
            ) from error
        if isinstance(error, REFUSED):
            raise ExecutionError(
                f"The catalog refused to append to {self._ref}: {first_line(error)}",
                next_step="See that the catalog's user may commit to the table.",
            ) from error
        raise self._unknown(error) from error

    def _unknown(self, error: BaseException) -> CommitUnknown:
        return CommitUnknown(
            f"Whether the rows are in {self._ref} is not known: {first_line(error)}",
            next_step="Send it again with the same idempotency key: it counts once. Without a key, "
            "look at the table first.",
        )


def open_table(ref: TableRef, catalog: Catalog) -> PyicebergTable:
    with table_errors(ref):
        return PyicebergTable(ref, catalog, catalog.load_table((*ref.namespace, ref.name)))


def arrow_rows(table: Table, rows: Sequence[Row]) -> pa.Table:
    """Rows in the table's columns; what a row does not name is null."""
    import pyarrow as pa
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.table(columns, schema=schema)
