"""Tables by the patterns that a user wrote: `table`, `schema.table` or `catalog.schema.table`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from neve.model.errors import CatalogError, InputError
from neve.model.found import GLOB_CHARACTERS
from neve.trino.cursor import Cursor, run
from neve.trino.maintain import Errors, MaintenanceSettings
from neve.trino.quoting import quote_identifier
from neve.trino.sentences import error_sentence
from neve.trino.tables import get_user_tables, get_views

#: Trino's own schema is in every catalog, and nothing in it is a table of anybody's.
OWN_SCHEMA = "information_schema"


@dataclass(frozen=True, slots=True)
class Place:
    """One table to maintain, with the settings of its schema."""

    table: str
    settings: MaintenanceSettings

    def __str__(self) -> str:
        return f"{self.settings.catalog}.{self.settings.schema}.{self.table}"


def select_tables(
    cursor: Cursor, patterns: Sequence[str], settings: MaintenanceSettings, errors: Errors
) -> list[Place]:
    """The user tables that match; without patterns those of the configured schema."""
    found: dict[str, Place] = {}
    for pattern in patterns or ("*",):
        catalog, schema, table = _parts(pattern, settings)
        try:
            places = list(_matching(cursor, replace(settings, catalog=catalog), schema, table))
        except errors as error:
            raise CatalogError(
                f"Trino did not list the tables of {catalog}.{schema}: {error_sentence(error)}",
                next_step="Check that Trino and its catalog are up and that the schema exists.",
            ) from error
        found |= {str(place): place for place in places}
    return list(found.values())


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


def _matching(
    cursor: Cursor, settings: MaintenanceSettings, schema: str, table: str
) -> list[Place]:
    schemas = [schema]
    if any(character in schema for character in GLOB_CHARACTERS):
        listed = run(cursor, f"SHOW SCHEMAS IN {quote_identifier(settings.catalog)}")
        names = sorted(str(name) for (name, *_) in listed)
        schemas = [n for n in names if n != OWN_SCHEMA and fnmatchcase(n, schema)]
    places = []
    for name in schemas:
        chosen = replace(settings, schema=name)
        place = {"catalog": chosen.catalog, "schema": name}
        tables = get_user_tables(cursor, **place)
        views = set(get_views(cursor, **place))
        places += [
            Place(found, chosen)
            for found in tables
            if found not in views and fnmatchcase(found, table)
        ]
    return places
