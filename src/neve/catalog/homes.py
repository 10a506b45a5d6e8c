"""Where tables live: asked of all catalogs before files of one table may be taken for orphans."""

from __future__ import annotations

from datetime import datetime, timedelta

from pyiceberg.table import Table

from neve.catalog.connect import Catalogs
from neve.model.errors import CatalogError, TableUnreadable
from neve.model.orphans import TableHome
from neve.model.table import TableRef

#: Files of a table that moved in the meantime are hours too young to be orphans.
FRESH = timedelta(minutes=10)


def home_of(table: TableRef, loaded: Table) -> TableHome:
    """What the table's metadata says of its place."""
    metadata = loaded.metadata
    return TableHome(
        table=table,
        table_uuid=str(metadata.table_uuid),
        location=metadata.location,
        properties=dict(metadata.properties),
        partition_fields=frozenset(
            field.name for spec in metadata.partition_specs for field in spec.fields
        ),
    )


class Homes:
    """Every table's home; sweeping a thousand tables must not load a million."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._known: dict[TableRef, tuple[datetime, TableHome]] = {}
        self._siblings: dict[TableRef, tuple[datetime, str]] = {}

    def read(self, now: datetime) -> list[TableHome]:
        """Homes of all tables that are listed now; an error for one is an error."""
        # Several tables may be swept at once: each sweep fills a mapping of its own.
        before = self._known
        known: dict[TableRef, tuple[datetime, TableHome]] = {}
        for table in self._catalogs.tables("*"):
            found = before.get(table)
            if found is None or now - found[0] >= FRESH:
                found = (now, self._home(table))
            known[table] = found
        self._known = known
        return [home for _, home in known.values()]

    def twin(self, table: TableRef, table_uuid: str, now: datetime) -> TableRef | None:
        """Another name in the namespace for the same table: it was registered twice."""
        for other in self._catalogs.siblings(table):
            if other.name.casefold() == table.name.casefold():
                # Some catalogs take a name in any case, and list it in one.
                continue
            found = self._siblings.get(other)
            if found is None or now - found[0] >= FRESH:
                try:
                    found = (now, str(self._catalogs.load(other).metadata.table_uuid))
                except CatalogError:
                    # That table's trouble is its own, and this one must not wait for it.
                    continue
                self._siblings[other] = found
            if found[1] == table_uuid:
                return other
        return None

    def _home(self, table: TableRef) -> TableHome:
        try:
            return home_of(table, self._catalogs.load(table))
        except TableUnreadable as error:
            # It may lie below any other: whoever sweeps that one must know why it waits.
            raise TableUnreadable(
                "Orphans are looked for only where the places of all tables are known. "
                + error.message,
                next_step=error.next_step,
            ) from error
