"""Tables by the patterns that a user wrote: `table`, `schema.table` or `catalog.schema.table`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

from neve.model.errors import CatalogError, InputError
from neve.model.found import GLOB_CHARACTERS
from neve.model.table import TableRef
from neve.trino.cursor import Cursor, Errors, run
from neve.trino.quoting import quote_identifier
from neve.trino.sentences import error_sentence
from neve.trino.settings import MaintenanceSettings
from neve.trino.tables import get_user_tables, get_views

#: Trino's own schema is in every catalog, and nothing in it is a table of anybody's.
OWN_SCHEMA = "information_schema"


def select_tables(
    cursor: Cursor, patterns: Sequence[str], settings: MaintenanceSettings, errors: Errors
) -> list[TableRef]:
    """The user tables that match; without patterns those of the configured schema."""
    found: dict[TableRef, None] = {}
    for pattern in patterns or ("*",):
        catalog, schema, table = _parts(pattern, settings)
        with listing(catalog, schema, errors):
            found |= dict.fromkeys(_matching(cursor, catalog, schema, table))
    return list(found)


def user_tables(cursor: Cursor, catalog: str, schema: str) -> list[TableRef]:
    """The schema's tables, without its views and those of the lakehouse itself."""
    # In this order: the client would warn of parameters if its first statement had some.
    tables = get_user_tables(cursor, catalog=catalog, schema=schema)
    views = set(get_views(cursor, catalog=catalog, schema=schema))
    return [TableRef(catalog, (schema,), name) for name in tables if name not in views]


@contextmanager
def listing(catalog: str, schema: str, errors: Errors) -> Iterator[None]:
    """Errors of the driver, in words of what was to be found."""
    try:
        yield
    except errors as error:
        raise CatalogError(
            f"Trino did not list the tables of {catalog}.{schema}: {error_sentence(error)}",
            next_step="Check that Trino and its catalog are up and that the schema exists.",
        ) from error


def _parts(pattern: str, settings: MaintenanceSettings) -> tuple[str, str, str]:
    # Trino's names are lower case, however they are written.
    parts = pattern.lower().split(".")
    if len(parts) > 3 or not all(parts):
        raise InputError(
            f"{pattern!r} names no Trino table.",
            next_step="Write table, schema.table or catalog.schema.table; * and ? match.",
        )
    given = (settings.catalog, settings.schema)[: 3 - len(parts)]
    catalog, schema, table = (*given, *parts)
    return catalog, schema, table


def _matching(cursor: Cursor, catalog: str, schema: str, table: str) -> list[TableRef]:
    schemas = [schema]
    if any(character in schema for character in GLOB_CHARACTERS):
        listed = run(cursor, f"SHOW SCHEMAS IN {quote_identifier(catalog)}")
        names = sorted(str(name) for (name, *_) in listed)
        schemas = [n for n in names if n != OWN_SCHEMA and fnmatchcase(n, schema)]
    return [
        found
        for name in schemas
        for found in user_tables(cursor, catalog, name)
        if fnmatchcase(found.name, table)
    ]
