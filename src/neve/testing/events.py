"""Events and schedules of jobs, in memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count

from neve.model.events import RecordedEvent
from neve.model.job import JobState, Progress, ScheduleState, Turn
from neve.model.table import TableRef

#: So many events are remembered, of all jobs together.
EVENT_HISTORY = 50_000


class MemoryEvents:
    """Keeps events in one row, on the clock that it is given."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._numbers = count(1)
        self._events: deque[RecordedEvent] = deque(maxlen=EVENT_HISTORY)

    def append_event(
        self, job_id: str, phase: JobState, message: str = "", progress: Progress | None = None
    ) -> int:
        event = RecordedEvent(next(self._numbers), job_id, self._clock(), phase, message, progress)
        self._events.append(event)
        return event.number

    def events_after(self, job_id: str, number: int = 0, limit: int = 100) -> list[RecordedEvent]:
        found = [e for e in list(self._events) if e.job_id == job_id and e.number > number]
        return found[:limit]


class MemorySchedules:
    """Keeps last turns in a dictionary."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._runs: dict[TableRef, datetime] = {}
        self._paused: set[TableRef] = set()
        self._lock = threading.Lock()

    def now(self) -> datetime:
        return self._clock()

    def record_run(self, tables: Sequence[TableRef]) -> None:
        self._runs.update(dict.fromkeys(tables, self._clock()))

    def record_turns(self, turns: Sequence[Turn]) -> set[TableRef]:
        return {turn.table for turn in turns if self._is_had(turn)}

    def _is_had(self, turn: Turn) -> bool:
        with self._lock:
            if self._runs.get(turn.table) != turn.last_run:
                return False
            self._runs[turn.table] = max(self._clock(), turn.slot)
            return True

    def pause(self, table: TableRef) -> None:
        self._paused.add(table)

    def resume(self, table: TableRef) -> bool:
        was_paused = table in self._paused
        self._paused.discard(table)
        return was_paused

    def schedule_state(self, table: TableRef) -> ScheduleState | None:
        return next((state for state in self.schedule_states() if state.table == table), None)

    def schedule_states(self) -> list[ScheduleState]:
        return [
            ScheduleState(table, self._runs.get(table), table in self._paused)
            for table in self._runs.keys() | self._paused
        ]
