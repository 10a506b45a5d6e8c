"""The three operations that Trino runs on an Iceberg table."""

from __future__ import annotations

from neve.trino.cursor import Cursor, run
from neve.trino.quoting import duration_literal, quote_identifier, quote_table, size_literal
from neve.trino.tables import DEFAULT_CATALOG, DEFAULT_SCHEMA

DEFAULT_FILE_SIZE_THRESHOLD = "10MB"
DEFAULT_RETENTION = "7d"


def run_optimize(
    cursor: Cursor,
    table: str,
    *,
    catalog: str = DEFAULT_CATALOG,
    schema: str = DEFAULT_SCHEMA,
    file_size_threshold: str = DEFAULT_FILE_SIZE_THRESHOLD,
) -> None:
    """Rewrite files under the threshold into larger ones; the rows stay the same."""
    name = quote_table(catalog, schema, table)
    threshold = size_literal(file_size_threshold)
    run(cursor, f"ALTER TABLE {name} EXECUTE optimize(file_size_threshold => {threshold})")


def run_expire_snapshots(
    cursor: Cursor,
    table: str,
    retention: str = DEFAULT_RETENTION,
    *,
    catalog: str = DEFAULT_CATALOG,
    schema: str = DEFAULT_SCHEMA,
    min_retention: str | None = None,
) -> None:
    """Forget snapshots older than the retention, with the files that only they use.

    Trino refuses less than 7 days; `min_retention` lowers that floor for the cursor's session.
    """
    name = quote_table(catalog, schema, table)
    threshold = duration_literal(retention)
    _lower_floor(cursor, catalog, "expire_snapshots_min_retention", min_retention)
    run(cursor, f"ALTER TABLE {name} EXECUTE expire_snapshots(retention_threshold => {threshold})")


def run_remove_orphan_files(
    cursor: Cursor,
    table: str,
    retention: str = DEFAULT_RETENTION,
    *,
    catalog: str = DEFAULT_CATALOG,
    schema: str = DEFAULT_SCHEMA,
    min_retention: str | None = None,
) -> None:
    """Delete files older than the retention that no snapshot uses.

    The retention protects writes that are under way: their files belong to no snapshot yet.
    Trino refuses less than 7 days; `min_retention` lowers that floor for the cursor's session.
    """
    name = quote_table(catalog, schema, table)
    threshold = duration_literal(retention)
    _lower_floor(cursor, catalog, "remove_orphan_files_min_retention", min_retention)
    run(
        cursor,
        f"ALTER TABLE {name} EXECUTE remove_orphan_files(retention_threshold => {threshold})",
    )


def _lower_floor(cursor: Cursor, catalog: str, setting: str, floor: str | None) -> None:
    if floor is not None:
        literal = duration_literal(floor)
        run(cursor, f"SET SESSION {quote_identifier(catalog)}.{setting} = {literal}")
