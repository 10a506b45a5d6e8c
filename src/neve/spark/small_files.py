"""Small files of a table, read and written whole by the driver through the table's own FileIO."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from neve.model.errors import EngineDied, ExecutionError, RowsCorrupt
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.tables import load_table


class TableFiles:
    """Reaches whatever Iceberg itself reaches, with the credentials that the catalog vends."""

    def __init__(self, session: SparkSession, table: TableRef) -> None:
        self._io: Any = load_table(session, table).io()

    def read(self, path: str) -> bytes:
        """All bytes; raises RowsCorrupt where the file cannot be read."""
        try:
            with engine_errors(f"Reading {path}"):
                stream = self._io.newInputFile(path).newStream()
                try:
                    return bytes(stream.readAllBytes())
                finally:
                    stream.close()
        except EngineDied:
            raise
        except ExecutionError as error:
            raise RowsCorrupt(error.message) from error

    def write(self, path: str, data: bytes) -> None:
        """A new file; Iceberg refuses a name that is taken."""
        with engine_errors(f"Writing {path}"):
            stream = self._io.newOutputFile(path).create()
            try:
                stream.write(bytearray(data))
            finally:
                stream.close()
