"""When turns of tables came last, in the state database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime

from neve.model.job import ScheduleState, Turn
from neve.model.table import TableRef
from neve.store import statements as sql
from neve.store.database import Database
from neve.store.values import moment, table_of


class ScheduleRows(Database):
    """A row for each table whose turn came, or whose turns are left out."""

    def now(self) -> datetime:
        """What time it is by the store's own clock: SQLite has that of this machine."""
        return datetime.now(tz=UTC)

    def record_run(self, tables: Sequence[TableRef]) -> None:
        """Remember that the turn of the tables has come now."""
        with self._write() as db:
            db.executemany(sql.RECORD_RUN, [(str(table),) for table in tables])

    def record_turns(self, turns: Sequence[Turn]) -> set[TableRef]:
        """Remember turns as had, each if none came since it was seen."""
        had: set[TableRef] = set()
        with self._write() as db:
            for turn in turns:
                known = None if turn.last_run is None else turn.last_run.timestamp()
                db.execute(sql.KNOW_SCHEDULE, (str(turn.table),))
                values = (turn.slot.timestamp(), str(turn.table), known)
                if db.execute(sql.RECORD_TURN, values).rowcount:
                    had.add(turn.table)
        return had

    def pause(self, table: TableRef) -> None:
        """Leave the table's turns out."""
        with self._write() as db:
            db.execute(sql.KNOW_SCHEDULE, (str(table),))
            db.execute(sql.PAUSE, (str(table),))

    def resume(self, table: TableRef) -> bool:
        """Let its turns come again."""
        with self._write() as db:
            return db.execute(sql.RESUME, (str(table),)).rowcount > 0

    def schedule_state(self, table: TableRef) -> ScheduleState | None:
        """When the table's turn came last; None where nothing is known of it."""
        rows = self._rows("schedules", sql.SCHEDULE, (str(table),))
        return _state(rows[0]) if rows else None

    def schedule_states(self) -> list[ScheduleState]:
        return [_state(row) for row in self._rows("schedules", sql.SCHEDULES, ())]


def _state(row: sqlite3.Row) -> ScheduleState:
    # A file of an older version that may not be written has fewer columns.
    is_paused = "is_paused" in row.keys() and bool(row["is_paused"])  # noqa: SIM118
    last_run = None if row["last_run"] is None else moment(row["last_run"])
    return ScheduleState(table_of(row["table_name"]), last_run, is_paused)
