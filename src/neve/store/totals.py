"""What the SQLite file has counted. Ends of jobs are counted by its triggers."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from neve.model.figures import StoreTotals
from neve.store.database import Database

_ADD = (
    "INSERT INTO totals (name, value) VALUES (?, ?) "
    "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value"
)
_COUNTERS = "SELECT name, value FROM totals"
_OPEN = (
    "SELECT coalesce(sum(state = 'queued'), 0) AS queued, "
    "coalesce(sum(state <> 'queued'), 0) AS begun FROM jobs "
    "WHERE state NOT IN ('succeeded', 'failed', 'cancelled')"
)
_DEAD = "SELECT count(*) AS dead FROM jobs WHERE is_dead = 1"


class TotalRows(Database):
    """Counters that only grow, and how many jobs wait."""

    @property
    def totals(self) -> StoreTotals:
        counters = {row["name"]: row["value"] for row in self._rows("totals", _COUNTERS, ())}
        if not (waiting := self._rows("jobs", _OPEN, ())):
            return StoreTotals(counters, 0, 0, 0)
        (dead,) = self._rows("jobs", _DEAD, ())
        return StoreTotals(counters, waiting[0]["queued"], waiting[0]["begun"], dead["dead"])


def add_totals(db: sqlite3.Connection, added: Mapping[str, float]) -> None:
    """Count, within the transaction of what is counted."""
    db.executemany(_ADD, list(added.items()))
