"""Statements of Spark SQL that a person may run, with every name and text quoted."""

from __future__ import annotations

from neve.model.table import TableRef
from neve.planning.sql_names import sql_name


def sql_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def register_table(table: TableRef, metadata_file: str) -> str:
    return (
        f"CALL {sql_name(table.catalog)}.system.register_table("
        f"table => {sql_text(sql_name(*table.namespace, table.name))}, "
        f"metadata_file => {sql_text(metadata_file)})"
    )


def set_current_snapshot(table: TableRef, snapshot_id: int) -> str:
    return (
        f"CALL {sql_name(table.catalog)}.system.set_current_snapshot("
        f"table => {sql_text(sql_name(*table.namespace, table.name))}, "
        f"snapshot_id => {snapshot_id})"
    )


def rewrite_position_deletes(table: TableRef) -> str:
    return (
        f"CALL {sql_name(table.catalog)}.system.rewrite_position_delete_files("
        f"table => {sql_text(sql_name(*table.namespace, table.name))})"
    )
