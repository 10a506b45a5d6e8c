"""Names in Spark SQL, with every part quoted: Spark takes fewer bare names than people write."""

from __future__ import annotations

from neve.model.table import TableRef


def sql_name(*parts: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def full_name(table: TableRef) -> str:
    return sql_name(table.catalog, *table.namespace, table.name)
