"""A SQL catalog in a SQLite file, read without SQLAlchemy.

pyiceberg's SqlCatalog reads the same tables, but importing its ORM takes longer than everything
else that a health check does. Nothing is written here, and looking never creates a database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import StaticTable, Table

from neve.model.errors import CatalogError

TABLES = (
    "SELECT table_namespace, table_name FROM iceberg_tables WHERE catalog_name = ? "
    "AND (iceberg_type IS NULL OR iceberg_type = 'TABLE')"
)
#: Catalogs made before views existed have no column for the type.
TABLES_WITHOUT_TYPE = (
    "SELECT table_namespace, table_name FROM iceberg_tables WHERE catalog_name = ?"
)
NAMESPACES = "SELECT DISTINCT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?"
LOCATION = (
    "SELECT metadata_location, previous_metadata_location FROM iceberg_tables "
    "WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
)
LOCATIONS = (
    "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables "
    "WHERE catalog_name = ?"
)


def is_embedded(properties: Mapping[str, str]) -> bool:
    return properties.get("uri", "").startswith("sqlite:///")


class EmbeddedCatalog:
    """Namespaces, tables and metadata locations of one catalog in a SQLite file."""

    def __init__(self, name: str, properties: Mapping[str, str]) -> None:
        self._name = name
        self._properties = dict(properties)
        named = properties["uri"].removeprefix("sqlite:///").partition("?")[0]
        self._path = Path(named).absolute()
        if not self._path.exists():
            raise CatalogError(
                f"Catalog {name} has no database yet: {self._path} does not exist.",
                next_step="Run `neve demo` for a first table, "
                f"or point catalogs.{name}.uri in neve.yaml to your catalog.",
            )

    def list_namespaces(self, namespace: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        if namespace:
            # All levels are listed at once.
            return []
        names = [row[0] for row in self._select(NAMESPACES)]
        names += [namespace for namespace, _ in self._tables()]
        return sorted({tuple(name.split(".")) for name in names})

    def list_tables(self, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
        wanted = ".".join(namespace)
        return [(*namespace, name) for space, name in self._tables() if space == wanted]

    def load_table(self, identifier: tuple[str, ...]) -> Table:
        return StaticTable.from_metadata(self.metadata_locations(identifier)[0], self._properties)

    def metadata_locations(self, identifier: tuple[str, ...]) -> tuple[str, str | None]:
        """The table's metadata file and the one before it, neither of them opened."""
        rows = self._select(LOCATION, ".".join(identifier[:-1]), identifier[-1])
        if not rows or not rows[0][0]:
            raise NoSuchTableError(".".join(identifier))
        return rows[0][0], rows[0][1]

    def all_metadata_locations(self) -> list[tuple[tuple[str, ...], str, str]]:
        """Namespace, name and metadata file of every entry that has one."""
        rows = self._select(LOCATIONS)
        return [(tuple(space.split(".")), name, at) for space, name, at in rows if at]

    def _tables(self) -> list[tuple[str, str]]:
        columns = {row[1] for row in self._query("PRAGMA table_info(iceberg_tables)", ())}
        rows = self._select(TABLES if "iceberg_type" in columns else TABLES_WITHOUT_TYPE)
        return [(row[0], row[1]) for row in rows]

    def _select(self, query: str, *parameters: str) -> list[tuple[str, ...]]:
        if not self._query("SELECT 1 FROM sqlite_master WHERE name = 'iceberg_tables'", ()):
            return []
        return self._query(query, (self._name, *parameters))

    def _query(self, query: str, parameters: tuple[str, ...]) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(query, parameters).fetchall()
