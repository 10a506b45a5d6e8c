"""The history of health: a row for each judgement, in a table beside those that were judged.

The maintenance log tells what was done; this tells how tables were, also where nothing was done.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from neve.database.ports import Tables
from neve.database.writing import BatchWriter, PendingWrite
from neve.model.database import Column, NewTable, Row
from neve.model.errors import CatalogError, RecordsRefused, TableExists, TableNotFound
from neve.model.health import Health
from neve.model.table import TableRef
from neve.retries import Sleep
from neve.service.store_ports import JobStore

HISTORY_TABLE_NAME = "_health_history"
COLUMNS = (
    Column("table_name", "string"),
    Column("tier", "string"),
    Column("score", "int"),
    Column("findings", "string"),
    Column("data_files", "long"),
    Column("small_files", "long"),
    Column("delete_files", "long"),
    Column("total_bytes", "long"),
    Column("records", "long"),
    Column("snapshots", "long"),
    Column("manifests", "long"),
    Column("snapshot_id", "long"),
    # In UTC without saying so, as in the maintenance log.
    Column("judged_at", "timestamp"),
)


class HealthHistory:
    """Appends judgements, one commit for each namespace; a missing table is made."""

    def __init__(self, tables: Tables, store: JobStore, *, sleep: Sleep = time.sleep) -> None:
        self._tables = tables
        self._writer = BatchWriter(tables, store, _succeed, lambda warning: None, sleep=sleep)

    def record(self, judged: Sequence[Health], at: datetime) -> list[TableRef]:
        """A row about each; returns the tables that were written to."""
        rows: dict[TableRef, list[Row]] = defaultdict(list)
        for health in judged:
            rows[health.table.sibling(HISTORY_TABLE_NAME)].append(history_row(health, at))
        for table, members in rows.items():
            self._append(table, members)
        return list(rows)

    def _append(self, table: TableRef, rows: Sequence[Row]) -> None:
        try:
            self._tables.open(table)
        except TableNotFound:
            # Another Neve may be faster.
            with suppress(TableExists):
                self._tables.create(table, NewTable(COLUMNS))
        write = PendingWrite(rows)
        self._writer.commit(table, [write])
        try:
            write.future.result(0)
        except RecordsRefused as error:
            raise CatalogError(
                f"{table} is no history of health: {error.message}",
                next_step="Rename or drop that table; Neve makes one that fits.",
            ) from error


def _succeed(table: TableRef, uuid: str, total: int, writes: Sequence[PendingWrite]) -> None:
    for write in writes:
        write.succeed()


def history_row(health: Health, at: datetime) -> dict[str, object]:
    """What the history says about a judgement, by column."""
    values = (
        health.table.name,
        str(health.tier),
        health.score,
        ", ".join(finding.code for finding in health.findings),
        health.data_files,
        health.small_files,
        sum(health.delete_files.values()),
        health.total_bytes,
        health.records,
        health.snapshots,
        health.manifests,
        health.snapshot_id,
        at.astimezone(UTC).replace(tzinfo=None).isoformat(),
    )
    return {column.name: value for column, value in zip(COLUMNS, values, strict=True)}
