"""Changes of metadata alone, each committed against exactly the state that it was judged by."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from neve.catalog.connect import Catalogs
from neve.catalog.errors import first_line, table_errors, unreachable
from neve.catalog.file_commit import commit_file
from neve.catalog.rest_commit import commit_rest, refuse_lost_refs
from neve.catalog.survey import survey
from neve.model.errors import (
    CatalogError,
    CommitConflict,
    CommitUnknown,
    ExecutionError,
    TableNotFound,
)
from neve.model.facts import TableFacts
from neve.model.metadata_change import MetadataChange
from neve.model.table import TableRef
from neve.planning.metadata_changes import has_landed, why_not

#: Answers by which a server says that it will not do it.
REFUSED = (
    iceberg.BadRequestError,
    iceberg.ForbiddenError,
    iceberg.UnauthorizedError,
    iceberg.AuthorizationExpiredError,
    NotImplementedError,
)


def unsure() -> tuple[type[BaseException], ...]:
    """Errors after which the table itself must tell whether a commit was applied."""
    told = (iceberg.CommitFailedException, iceberg.NoSuchTableError, *REFUSED)
    return (*told, *unreachable(), OSError, ValueError)


class CatalogMetadataWriter:
    """Commits to the tables of the configured catalogs, without a JVM and without a retry."""

    def __init__(self, catalogs: Catalogs, clock: Callable[[], datetime]) -> None:
        self._catalogs = catalogs
        self._clock = clock

    def commit(
        self, change: MetadataChange, still_held: Callable[[], None] | None = None
    ) -> TableFacts:
        """Make the change, or raise CommitConflict and say who came in between."""
        catalog = self._catalogs.writable(change.table.catalog)
        judged, facts = self._look(catalog, change)
        if reason := why_not(change, facts):
            raise _conflict(change, reason)
        try:
            after = self._send(catalog, judged, change, still_held or _not_asked)
        except unsure() as error:
            after = self._read_back(catalog, change, facts, error)
        if change.remove_snapshots and _is_rest(catalog):
            refuse_lost_refs(judged, after.metadata, change)
        # The answer is the table with the change: whoever works on it need not load it again.
        self._catalogs.recent.add(change.table, after)
        outline = self._outline(change.table, after)
        if not has_landed(change, facts, outline):
            # Some catalogs take tags, say so, and keep none.
            raise ExecutionError(
                f"{change.purpose}: the catalog took the change, and the table does not show it.",
                next_step="Its catalog does not keep what was asked for; nothing else was changed.",
            )
        return outline

    def _look(self, catalog: Catalog, change: MetadataChange) -> tuple[Table, TableFacts]:
        table = change.table
        try:
            with table_errors(table):
                loaded = catalog.load_table((*table.namespace, table.name))
        except TableNotFound as error:
            reason = f"Table {table} is gone: somebody dropped or renamed it."
            raise _conflict(change, reason) from error
        return loaded, self._outline(table, loaded)

    def _outline(self, table: TableRef, loaded: Table) -> TableFacts:
        return survey(table, loaded, now=self._clock(), with_files=False)

    def _send(
        self,
        catalog: Catalog,
        judged: Table,
        change: MetadataChange,
        still_held: Callable[[], None],
    ) -> Table:
        if _is_rest(catalog):
            return commit_rest(catalog, judged, change, still_held)
        now_ms = int(self._clock().timestamp() * 1000)
        return commit_file(catalog, judged, change, now_ms, still_held)

    def _read_back(
        self, catalog: Catalog, change: MetadataChange, judged: TableFacts, error: BaseException
    ) -> Table:
        """An error tells little about a commit; the table decides."""
        try:
            found, facts = self._look(catalog, change)
        except CatalogError as silent:
            raise _unknown(change, error) from silent
        if has_landed(change, judged, facts):
            return found
        if isinstance(error, iceberg.CommitFailedException):
            reason = why_not(change, facts)
            moment = f"Somebody else changed table {change.table} at the same moment."
            raise _conflict(change, reason or moment) from error
        if isinstance(error, REFUSED):
            raise ExecutionError(
                f"{change.purpose} was refused by the catalog: {first_line(error)}",
                next_step="See that the catalog's user may commit to the table.",
            ) from error
        raise _unknown(change, error) from error


def _not_asked() -> None:
    """Nobody else can take the table, or it does not matter."""


def _is_rest(catalog: Catalog) -> bool:
    # Importing the class would import its HTTP client, which other catalogs do without.
    return any(kind.__name__ == "RestCatalog" for kind in type(catalog).__mro__)


def _conflict(change: MetadataChange, reason: str) -> CommitConflict:
    return CommitConflict(
        f"{reason} {change.purpose} was judged before that, so nothing was changed.",
        next_step="Look at the table, and run the command again if it is still wanted.",
    )


def _unknown(change: MetadataChange, error: BaseException) -> CommitUnknown:
    return CommitUnknown(
        f"{change.purpose}: the answer to the commit was lost, and the table does not show it "
        f"so far: {first_line(error)}",
        next_step="Look at the table in a while: the commit may still arrive.",
    )
