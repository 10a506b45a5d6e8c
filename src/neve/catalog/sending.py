"""A commit in one request. What an error means is read from the table, and no file is deleted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID, TableRequirement, TableUpdate

from neve.catalog.careful_tables import refuse_lost_head, refuse_own_code
from neve.catalog.errors import damage, first_line, table_errors, unreachable
from neve.catalog.metadata_commit import REFUSED, unsure
from neve.model.errors import (
    CatalogError,
    CommitConflict,
    CommitUnknown,
    ExecutionError,
    NeveError,
    TableDamaged,
)
from neve.model.table import TableRef


def load(ref: TableRef, catalog: Catalog) -> Table:
    """The table as it is now, for a commit."""
    with table_errors(ref):
        table = catalog.load_table((*ref.namespace, ref.name))
        refuse_lost_head(ref, table)
    refuse_own_code(ref, table)
    return table


def send(
    ref: TableRef,
    catalog: Catalog,
    judged: Table,
    producer: Any,
    more_updates: Sequence[TableUpdate] = (),
    more_requirements: Sequence[TableRequirement] = (),
) -> int:
    """Commit what the producer has gathered, on exactly the head that it was made on.

    Raises CommitConflict where nothing was changed, and CommitUnknown where nobody can tell.
    """
    try:
        updates, requirements = producer._commit()
    except iceberg.ValidationException as error:
        raise CommitConflict(
            f"Table {ref} has changed meanwhile: {first_line(error)}", next_step="Try again."
        ) from error
    except damage() as error:
        is_damaged = not isinstance(error, (OSError, *unreachable()))
        kind = TableDamaged if is_damaged else CatalogError
        raise kind(f"Manifests of {ref} could not be written: {first_line(error)}") from error
    uuid = AssertTableUUID(uuid=judged.metadata.table_uuid)
    asserted = (*requirements, *more_requirements, uuid)
    # What pyiceberg wraps around it would send the request again.
    commit_table = inspect.unwrap(type(catalog).commit_table)
    snapshot_id: int = producer.snapshot_id
    try:
        commit_table(catalog, judged, asserted, (*updates, *more_updates))
    except unsure() as error:
        _settle(ref, catalog, lambda now: now.snapshot_by_id(snapshot_id) is not None, error)
    return snapshot_id


def _settle(
    ref: TableRef, catalog: Catalog, has_landed: Callable[[Table], bool], error: BaseException
) -> None:
    try:
        now = load(ref, catalog)
    except NeveError as silent:
        raise _unknown(ref, error) from silent
    if has_landed(now):
        return
    if isinstance(error, iceberg.CommitFailedException) or "database is locked" in str(error):
        raise CommitConflict(
            f"Others write to table {ref} all the time.", next_step="Try again."
        ) from error
    if isinstance(error, REFUSED):
        raise ExecutionError(
            f"The catalog refused a commit to {ref}: {first_line(error)}",
            next_step="See that the catalog's user may commit to the table.",
        ) from error
    raise _unknown(ref, error) from error


def _unknown(ref: TableRef, error: BaseException) -> CommitUnknown:
    return CommitUnknown(
        f"Whether table {ref} has the commit is not known: {first_line(error)}",
        next_step="Send a WRITE again with the same idempotency key: it counts once. Without a "
        "key, look at the table first.",
    )
