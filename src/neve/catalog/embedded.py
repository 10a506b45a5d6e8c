"""A SQL catalog in a SQLite file, read without SQLAlchemy.

pyiceberg's SqlCatalog reads the same tables, but importing its ORM takes longer than everything
else that a health check does. Nothing is written here, and looking never creates a database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from neve.catalog.careful_tables import static_table
from neve.model.errors import CatalogError

#: Catalogs made before views existed have no column for the type.
TABLES_WITHOUT_TYPE = (
    "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables "
    "WHERE catalog_name = ?"
)
TABLES = f"{TABLES_WITHOUT_TYPE} AND (iceberg_type IS NULL OR iceberg_type = 'TABLE')"
NAMESPACES = "SELECT DISTINCT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?"
LOCATION = (
    "SELECT metadata_location, previous_metadata_location FROM iceberg_tables "
    "WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
)
#: Namespace, name and metadata file of a table.
Row = tuple[str, str, str | None]


def is_embedded(properties: Mapping[str, str]) -> bool:
    return properties.get("uri", "").startswith("sqlite:///")


def database_of(properties: Mapping[str, str]) -> Path:
    """The file of an embedded catalog, whether or not it is there."""
    return Path(properties["uri"].removeprefix("sqlite:///").partition("?")[0]).absolute()


def with_escaped_path(properties: Mapping[str, str]) -> dict[str, str]:
    """The same database for SQLAlchemy, which takes `%41` in its path for `A`.

    Here and for Spark's driver a path means what is written.
    """
    if not is_embedded(properties):
        return dict(properties)
    path, mark, query = properties["uri"].partition("?")
    return {**properties, "uri": path.replace("%", "%25") + mark + query}


def with_plain_path(properties: Mapping[str, str]) -> dict[str, str]:
    """The other way about, for what was written for pyiceberg."""
    if not is_embedded(properties):
        return dict(properties)
    path, mark, query = properties["uri"].partition("?")
    return {**properties, "uri": unquote(path) + mark + query}


class EmbeddedCatalog:
    """Namespaces, tables and metadata locations of one catalog in a SQLite file."""

    def __init__(self, name: str, properties: Mapping[str, str]) -> None:
        self._name = name
        self._properties = dict(properties)
        self._path = database_of(properties)
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
        names += [namespace for namespace, _, _ in self.entries()]
        return sorted({tuple(name.split(".")) for name in names})

    def list_tables(self, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
        wanted = ".".join(namespace)
        return [(*namespace, name) for space, name, _ in self.entries() if space == wanted]

    def load_table(self, identifier: tuple[str, ...]) -> Table:
        return static_table(self.metadata_locations(identifier)[0], self._properties)

    def metadata_locations(self, identifier: tuple[str, ...]) -> tuple[str, str | None]:
        """The table's metadata file and the one before it, neither of them opened."""
        rows = self._select(LOCATION, ".".join(identifier[:-1]), identifier[-1])
        if not rows or not rows[0][0]:
            raise NoSuchTableError(".".join(identifier))
        return rows[0][0], rows[0][1]

    def entries(self) -> list[Row]:
        """Every table, as the database has it now."""
        with self._opened() as db:
            columns = {row[1] for row in db.execute("PRAGMA table_info(iceberg_tables)")}
            if not columns:
                return []
            query = TABLES if "iceberg_type" in columns else TABLES_WITHOUT_TYPE
            return db.execute(query, (self._name,)).fetchall()

    def require_list(self) -> None:
        """Raise where there is no list of tables; an empty one is a list, too."""
        with self._opened() as db:
            if not db.execute("PRAGMA table_info(iceberg_tables)").fetchall():
                raise CatalogError(
                    f"Catalog {self._name} has no list of tables: {self._path} is not the "
                    "database of a catalog, or nobody has made a table in it yet.",
                    next_step=f"See that catalogs.{self._name}.uri in neve.yaml names the file.",
                )

    def _select(self, query: str, *parameters: str) -> list[tuple[str, ...]]:
        with self._opened() as db:
            if not db.execute("PRAGMA table_info(iceberg_tables)").fetchall():
                return []
            return db.execute(query, (self._name, *parameters)).fetchall()

    def _opened(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True))
