"""Which tables there are, and how many snapshots and files each one has."""

from __future__ import annotations

from neve.trino.cursor import Cursor, run
from neve.trino.quoting import quote_identifier, quote_metadata_table

DEFAULT_CATALOG = "iceberg"
DEFAULT_SCHEMA = "lakehouse"


def get_user_tables(
    cursor: Cursor, *, catalog: str = DEFAULT_CATALOG, schema: str = DEFAULT_SCHEMA
) -> list[str]:
    """The schema's tables by name, without those of the lakehouse itself (`_…`).

    Trino lists views among the tables: see `get_views`.
    """
    listed = run(cursor, f"SHOW TABLES IN {quote_identifier(catalog)}.{quote_identifier(schema)}")
    return sorted(name for (name, *_) in listed if not name.startswith("_"))


def get_views(
    cursor: Cursor, *, catalog: str = DEFAULT_CATALOG, schema: str = DEFAULT_SCHEMA
) -> list[str]:
    """The schema's views by name: `get_user_tables` lists them, but they have no files."""
    views = f"{quote_identifier(catalog)}.information_schema.views"
    listed = run(cursor, f"SELECT table_name FROM {views} WHERE table_schema = ?", [schema])
    return sorted(name for (name, *_) in listed)


def get_snapshot_count(
    cursor: Cursor, table: str, *, catalog: str = DEFAULT_CATALOG, schema: str = DEFAULT_SCHEMA
) -> int:
    return _count(cursor, quote_metadata_table(catalog, schema, table, "snapshots"))


def get_file_count(
    cursor: Cursor, table: str, *, catalog: str = DEFAULT_CATALOG, schema: str = DEFAULT_SCHEMA
) -> int:
    """The files of the current snapshot: data files, and delete files where there are any."""
    return _count(cursor, quote_metadata_table(catalog, schema, table, "files"))


def _count(cursor: Cursor, metadata_table: str) -> int:
    ((count, *_),) = run(cursor, f"SELECT count(*) FROM {metadata_table}")
    return int(count)
