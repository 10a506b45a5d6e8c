"""Every table of a SQL catalog with its metadata file, from one query.

Whoever asks before each deletion asks a thousand times for a thousand tables of which none has
changed, so that what is the same as before is the very same value.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neve.catalog.embedded import EmbeddedCatalog, Row
from neve.model.table import TableRef

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog


@dataclass(frozen=True, slots=True)
class Entries:
    """The tables of one catalog in their order, and where the metadata of each is."""

    rows: Sequence[Row]
    tables: Sequence[TableRef]
    locations: Mapping[TableRef, str]


def read_entries(name: str, catalog: object, last: Entries | None) -> Entries | None:
    """What the catalog has now; None where it cannot tell it for all tables at once."""
    rows = _rows(catalog)
    if rows is None:
        return None
    if last is not None and rows == last.rows:
        return last
    found = {TableRef(name, tuple(space.split(".")), table): at for space, table, at in rows}
    return Entries(rows, sorted(found), {table: at for table, at in found.items() if at})


def _rows(catalog: object) -> list[Row] | None:
    if isinstance(catalog, EmbeddedCatalog):
        return catalog.entries()
    # The ORM takes long to import, and has been where there is such a catalog.
    module = sys.modules.get("pyiceberg.catalog.sql")
    if module is not None and isinstance(catalog, module.SqlCatalog):
        return _rows_of_sql(catalog)
    return None


def _rows_of_sql(catalog: SqlCatalog) -> list[Row]:
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import select
    from sqlalchemy.orm import Session

    columns = (
        IcebergTables.table_namespace,
        IcebergTables.table_name,
        IcebergTables.metadata_location,
    )
    query = select(*columns).where(IcebergTables.catalog_name == catalog.name)
    with Session(catalog.engine) as session:
        return [(space, table, at) for space, table, at in session.execute(query)]
