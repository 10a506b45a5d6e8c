"""Put names and values into a statement so that they stay names and values."""

from __future__ import annotations

import re

from neve.model.errors import InputError
from neve.model.table import TableRef

# Trino's own spelling of sizes and durations, without the spaces that it would tolerate.
_SIZE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?(B|kB|MB|GB|TB|PB)")
_DURATION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms|s|m|h|d)")


def quote_identifier(name: str) -> str:
    if not name or "\0" in name:
        raise InputError(f"{name!r} is not a name that Trino accepts.")
    return '"' + name.replace('"', '""') + '"'


def quote_table(catalog: str, schema: str, table: str) -> str:
    return ".".join(quote_identifier(part) for part in (catalog, schema, _plain(table)))


def quote_metadata_table(catalog: str, schema: str, table: str, kind: str) -> str:
    """Name a metadata table, such as the `snapshots` of a table."""
    return ".".join(quote_identifier(part) for part in (catalog, schema, f"{_plain(table)}${kind}"))


def place_of(table: TableRef) -> dict[str, str]:
    """The table's catalog and schema, in Trino's words."""
    if len(table.namespace) != 1:
        raise InputError(
            f"Trino cannot address the table {table}: its namespace has several levels.",
            next_step="Write catalog.schema.table, as Trino does.",
        )
    return {"catalog": table.catalog, "schema": table.namespace[0]}


def size_literal(text: str) -> str:
    """Quote a size; the procedures take no parameters, so it must be harmless by its form."""
    if not _SIZE.fullmatch(text):
        raise InputError(
            f"{text!r} is not a size.", next_step="Write a number and a unit, such as 10MB."
        )
    return f"'{text}'"


def duration_literal(text: str) -> str:
    if not _DURATION.fullmatch(text):
        raise InputError(
            f"{text!r} is not a duration.", next_step="Write a number and a unit, such as 7d."
        )
    return f"'{text}'"


def _plain(table: str) -> str:
    # Trino reads "sales$files" as the metadata table of another table, quoted or not.
    if "$" in table:
        raise InputError(f"Trino cannot address the table {table!r}: its name holds a dollar sign.")
    return table
