"""What the database operations need from catalogs and from whoever answers queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from neve.model.database import (
    Column,
    NewTable,
    QueryLimits,
    QueryResult,
    Row,
    WriteKey,
)
from neve.model.query import QueryRelation, TableSource
from neve.model.table import TableRef


class StagedRows(Protocol):
    """Data files that were written and not committed."""

    @property
    def paths(self) -> Sequence[str]: ...


class OpenTable(Protocol):
    """A table as it was when it was opened; what is committed is committed against that state."""

    @property
    def uuid(self) -> str: ...

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def layout(self) -> tuple[int, int]:
        """The ids of schema and spec: rows that were staged for others do not fit."""
        ...

    def written(self, keys: Sequence[WriteKey]) -> dict[str, str]:
        """Of the keys, those that its snapshots name, each with the content it came with."""
        ...

    def has_landed(self, write_id: str) -> bool:
        """Whether one of its snapshots is the commit of that id."""
        ...

    def stage(self, rows: Sequence[Row]) -> StagedRows:
        """Write the rows into data files."""
        ...

    def commit(self, staged: StagedRows, keys: Sequence[WriteKey], write_id: str) -> int:
        """Append what was staged, with the keys in the snapshot itself; returns the snapshot's id.

        One request, against exactly this state. Raises CommitConflict where nothing was changed,
        and CommitUnknown where the table does not tell; no file is ever deleted.
        """
        ...


class Tables(Protocol):
    """Tables that can be made, written and read without an engine."""

    def create(self, table: TableRef, new: NewTable) -> None:
        """Make the table and its namespace, or raise TableExists."""
        ...

    def open(self, table: TableRef) -> OpenTable: ...

    def source(self, table: TableRef) -> TableSource:
        """The table as it is now, for whoever reads its rows."""
        ...


class Queries(Protocol):
    """Runs statements that were checked, on rows that it reads."""

    def run(
        self,
        statement: str,
        relations: Mapping[str, QueryRelation],
        limits: QueryLimits,
        seconds: float,
    ) -> QueryResult:
        """The rows, or QueryLimit where it takes too long or too much."""
        ...

    def close(self) -> None: ...
