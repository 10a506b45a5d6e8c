"""When turns of tables came last, on a Redis server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from neve.model.job import ScheduleState, Turn
from neve.model.table import TableRef
from neve.store.redis.rows import microseconds_of, moment_of, pairs
from neve.store.redis.server import BATCH, RedisServer, batches
from neve.store.values import table_of


class RedisSchedules:
    """Last turns are a hash by table, tables whose turns are left out a set."""

    _server: RedisServer

    def now(self) -> datetime:
        """What time it is by the store's own clock."""
        return moment_of(self._server.read("the_time")[1])

    def record_run(self, tables: Sequence[TableRef]) -> None:
        """Remember that the turn of the tables has come now."""
        for some in batches([str(table) for table in tables]):
            self._server.change("record_run", *some)

    def record_turns(self, turns: Sequence[Turn]) -> set[TableRef]:
        """Remember turns as had, each if none came since it was seen."""
        had: set[TableRef] = set()
        for start in range(0, len(turns), BATCH):
            some = turns[start : start + BATCH]
            answer = self._server.change("record_turns", *(part for t in some for part in _sent(t)))
            had |= {turn.table for turn, was in zip(some, answer[1], strict=True) if was}
        return had

    def pause(self, table: TableRef) -> None:
        """Leave the table's turns out."""
        self._server.change("pause", str(table))

    def resume(self, table: TableRef) -> bool:
        """Let its turns come again."""
        return bool(self._server.change("resume", str(table))[0] == "ok")

    def schedule_state(self, table: TableRef) -> ScheduleState | None:
        """When the table's turn came last; None where nothing is known of it."""
        _, last_run, is_paused = self._server.read("last_run", str(table))
        if not last_run and not is_paused:
            return None
        return ScheduleState(table, moment_of(last_run) if last_run else None, bool(is_paused))

    def schedule_states(self) -> list[ScheduleState]:
        _, runs, paused = self._server.read("schedules")
        last_runs, left_out = pairs(runs), set(paused)
        return [
            ScheduleState(
                table_of(name),
                moment_of(last_runs[name]) if name in last_runs else None,
                name in left_out,
            )
            for name in last_runs.keys() | left_out
        ]


def _sent(turn: Turn) -> tuple[str, str, str]:
    known = "" if turn.last_run is None else microseconds_of(turn.last_run)
    return str(turn.table), known, microseconds_of(turn.slot)
