"""What the SQLite file has counted. Ends of jobs are counted by its triggers."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date

from neve.access.quotas import Usage, day_begins
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


_OPEN_OF = (
    "SELECT count(*) AS open FROM jobs "
    "WHERE tenant = ? AND state NOT IN ('succeeded', 'failed', 'cancelled')"
)
_SPENT = (
    "SELECT coalesce(sum(json_extract(outcome, '$.bytes_rewritten')), 0) AS bytes, "
    "coalesce(sum(json_extract(outcome, '$.actual_usd')), 0.0) AS usd FROM jobs "
    "WHERE tenant = ? AND updated_at >= ? AND updated_at < ? "
    "AND state IN ('succeeded', 'failed', 'cancelled') AND json_valid(outcome)"
)
DAY_SECONDS = 24 * 3600


class TotalRows(Database):
    """Counters that only grow, and how many jobs wait."""

    @property
    def totals(self) -> StoreTotals:
        counters = {row["name"]: row["value"] for row in self._rows("totals", _COUNTERS, ())}
        if not (waiting := self._rows("jobs", _OPEN, ())):
            return StoreTotals(counters, 0, 0, 0)
        (dead,) = self._rows("jobs", _DEAD, ())
        return StoreTotals(counters, waiting[0]["queued"], waiting[0]["begun"], dead["dead"])

    def usage(self, tenant: str, day: date) -> Usage:
        """What a tenant has, and what jobs of it took that ended on a day."""
        if not (open_jobs := self._rows("jobs", _OPEN_OF, (tenant,))):
            return Usage()
        return _usage(open_jobs[0], self._rows("jobs", _SPENT, _spent_on(tenant, day))[0])


def read_usage(db: sqlite3.Connection, tenant: str, day: date) -> Usage:
    """The same, within a transaction that changes something."""
    open_jobs = db.execute(_OPEN_OF, (tenant,)).fetchone()
    return _usage(open_jobs, db.execute(_SPENT, _spent_on(tenant, day)).fetchone())


def _spent_on(tenant: str, day: date) -> tuple[object, ...]:
    began = day_begins(day).timestamp()
    return tenant, began, began + DAY_SECONDS


def _usage(open_jobs: sqlite3.Row, spent: sqlite3.Row) -> Usage:
    return Usage(open_jobs["open"], int(spent["bytes"]), float(spent["usd"]))


def add_totals(db: sqlite3.Connection, added: Mapping[str, float]) -> None:
    """Count, within the transaction of what is counted."""
    db.executemany(_ADD, list(added.items()))
