"""The maintenance log, written without an engine: a row is no reason to start a JVM."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from pyiceberg import exceptions as iceberg
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from neve.catalog.connect import Catalogs
from neve.catalog.errors import failures, first_line
from neve.model.errors import CatalogError, CommitUnknown, NeveError
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.planning.maintenance_log import JOB_COLUMN, LOG_COLUMNS, by_log, log_row
from neve.retries import RetryPolicy, Sleep, retrying

if TYPE_CHECKING:
    import pyarrow as pa

#: Types of a new log, and those that a log made by another engine may have instead.
TYPES: dict[str, tuple[IcebergType, ...]] = {
    "string": (StringType(),),
    "int": (IntegerType(), LongType()),
    "timestamp": (TimestampType(), TimestamptzType()),
}
NEW_LOG = Schema(
    *(
        NestedField(number, name, TYPES[kind][0], required=False)
        for number, (name, kind) in enumerate(LOG_COLUMNS.items(), 1)
    )
)
#: The newest format version that pyiceberg writes.
MAX_FORMAT_VERSION = 2
#: Tells the commit of one call from all others, where its answer was lost.
WRITE_PROPERTY = "neve.log-write"
POLICY = RetryPolicy(attempts=12, first_pause_seconds=0.05, max_pause_seconds=2.0)

Fallback = Callable[[Sequence[Outcome]], list[TableRef]]


class _NotForPyiceberg(Exception):
    """The log is of a kind that pyiceberg does not write."""


class CatalogLog:
    """Appends rows to the log beside each table; `fallback` writes what pyiceberg cannot."""

    def __init__(
        self,
        catalogs: Catalogs,
        fallback: Fallback,
        *,
        sleep: Sleep = time.sleep,
    ) -> None:
        self._catalogs = catalogs
        self._fallback = fallback
        self._sleep = sleep

    def write(self, outcomes: Sequence[Outcome]) -> list[TableRef]:
        """A row about each outcome, one commit for each log; a missing log is made."""
        logs = by_log(outcomes)
        for log, members in logs.items():
            try:
                with _log_errors(log):
                    self._append(log, members)
            except _NotForPyiceberg:
                self._fallback(members)
        return list(logs)

    def _append(self, log: TableRef, outcomes: Sequence[Outcome]) -> None:
        write_id = str(uuid.uuid4())
        # Again only where it is certain that nothing was committed.
        retrying(
            partial(self._append_once, log, outcomes, write_id),
            on=_was_refused,
            policy=POLICY,
            sleep=self._sleep,
        )

    def _append_once(self, log: TableRef, outcomes: Sequence[Outcome], write_id: str) -> None:
        table = self._open(log)
        # A refusal may have come after all: an attempt before this one is looked for.
        if _has_landed(table, write_id):
            return
        if table.format_version > MAX_FORMAT_VERSION:
            raise _NotForPyiceberg
        if JOB_COLUMN not in table.schema().column_names and not _why_unfit(table.schema()):
            # A log of an earlier version.
            with table.update_schema() as change:
                change.add_column(JOB_COLUMN, StringType())
        try:
            table.append(
                arrow_rows(log, table.schema(), outcomes),
                snapshot_properties={WRITE_PROPERTY: write_id},
            )
        except (ImportError, NotImplementedError, iceberg.NotInstalledError) as error:
            raise _NotForPyiceberg from error
        except iceberg.CommitStateUnknownException:
            if not _has_landed(self._open(log), write_id):
                raise

    def _open(self, log: TableRef) -> Table:
        """The log as it is now, made where there is none; another Neve may be faster."""
        catalog = self._catalogs.writable(log.catalog)
        identifier = (*log.namespace, log.name)
        try:
            return catalog.load_table(identifier)
        except iceberg.NoSuchTableError:
            pass
        try:
            return catalog.create_table(identifier, NEW_LOG)
        except iceberg.TableAlreadyExistsError:
            return catalog.load_table(identifier)


def arrow_rows(log: TableRef, schema: Schema, outcomes: Sequence[Outcome]) -> pa.Table:
    """Rows in the columns of the log that is there, in its order and of its types."""
    if problem := _why_unfit(schema):
        raise CatalogError(
            f"{log} is no maintenance log: {problem}.",
            next_step="Rename or drop that table; Neve makes a log that fits.",
        )
    # Importing Arrow takes longer than a health check, which logs nothing.
    import pyarrow as pa
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    rows = [log_row(outcome) for outcome in outcomes]
    arrow = schema_to_pyarrow(schema, include_field_ids=False)
    columns = []
    for field in arrow:
        is_moment = pa.types.is_timestamp(field.type)
        # Moments are given in UTC without a zone, and cast to the zone of the column.
        kind = pa.timestamp("us") if is_moment and field.name in LOG_COLUMNS else field.type
        columns.append(pa.array([row.get(field.name) for row in rows], kind).cast(field.type))
    return pa.table(columns, schema=arrow)


def _why_unfit(schema: Schema) -> str | None:
    fields = {field.name: field for field in schema.fields}
    for name, kind in LOG_COLUMNS.items():
        if name == JOB_COLUMN and name not in fields:
            continue
        if name not in fields:
            return f"it has no column {name}"
        if fields[name].field_type not in TYPES[kind]:
            return f"its column {name} is of type {fields[name].field_type}"
    for name, field in fields.items():
        if field.required and name not in LOG_COLUMNS:
            return f"its column {name} must not be empty, and Neve does not know it"
    return None


def _has_landed(table: Table, write_id: str) -> bool:
    return any(
        snapshot.summary is not None and snapshot.summary.get(WRITE_PROPERTY) == write_id
        for snapshot in table.metadata.snapshots
    )


def _was_refused(error: BaseException) -> bool:
    """Another writer was faster, or held the catalog's own lock."""
    refusals = (iceberg.CommitFailedException, iceberg.WaitingForLockException)
    return isinstance(error, refusals) or "database is locked" in str(error)


@contextmanager
def _log_errors(log: TableRef) -> Iterator[None]:
    try:
        yield
    except (NeveError, _NotForPyiceberg):
        raise
    except iceberg.NoSuchNamespaceError as error:
        raise CatalogError(f"There is no namespace for {log}.") from error
    except iceberg.CommitStateUnknownException as error:
        raise CommitUnknown(f"Whether the rows are in {log} is not known.") from error
    except failures() as error:
        raise CatalogError(f"Writing to {log} failed: {first_line(error)}") from error
