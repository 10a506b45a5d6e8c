"""The scheduler: submits the jobs of tables whose turn has come, and does nothing else.

Any number of them may look at the same tables. A turn has one slot, whoever finds it, and its jobs
have keys that are made of it; so each is submitted once, also where a scheduler is killed between
submitting jobs and remembering the turn.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from neve.model.job import (
    ENGINE,
    TRINO,
    TURN,
    Job,
    JobRequest,
    ScheduleState,
    Trigger,
    Turn,
    turn_id_of,
)
from neve.model.policies import EffectivePolicy, Triggers, Window
from neve.model.table import TableRef
from neve.planning.schedule import in_window, next_slot
from neve.planning.triggers import TableLook, triggered
from neve.service.store_ports import JobStore

REQUESTED_BY = "scheduler"
#: What one tick submits at most; the rest stays due and comes with the next ticks.
MAX_JOBS = 1000
MAX_SECONDS = 0.5
#: Tables whose jobs are submitted together.
BATCH = 25


@dataclass(frozen=True, slots=True)
class ScheduledTable:
    """What the scheduler needs to know of a table; its catalog is not asked for it again."""

    table: TableRef
    operations: tuple[str, ...]
    schedule: str | None = None
    timezone: str = "UTC"
    window: Window | None = None
    triggers: Triggers = field(default_factory=Triggers)
    look: TableLook | None = None
    #: What every job is told, such as its engine.
    arguments: Mapping[str, object] = field(default_factory=dict)


def scheduled(
    policy: EffectivePolicy,
    operations: Iterable[str] | None = None,
    arguments: Mapping[str, object] | None = None,
    look: TableLook | None = None,
) -> ScheduledTable:
    """A table as its policy wants it; other engines have operations of their own."""
    wanted = policy.operations_in_order() if operations is None else operations
    return ScheduledTable(
        policy.table,
        tuple(str(operation) for operation in wanted) if policy.is_enabled else (),
        policy.schedule,
        policy.timezone,
        policy.window,
        policy.triggers,
        look,
        arguments or {},
    )


@dataclass(frozen=True, slots=True)
class Tick:
    """What one look at all tables came to."""

    tables: int
    #: Tables whose turn has come.
    due: int
    #: Of those, the ones that are still at an earlier turn.
    active: int
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class _Due:
    entry: ScheduledTable
    turn: Turn
    trigger: Trigger
    #: The turn, by the same name for every scheduler.
    name: str


class NextSlots:
    """When each table's turn comes next, worked out once for each of its turns."""

    def __init__(self) -> None:
        self._known: dict[TableRef, tuple[datetime | None, str | None, str, datetime | None]] = {}

    def due(
        self, entry: ScheduledTable, last_run: datetime | None, now: datetime
    ) -> datetime | None:
        """The turn that has come and was not had."""
        found = self._known.get(entry.table)
        if found is None or found[:3] != (last_run, entry.schedule, entry.timezone):
            slot = next_slot(entry.schedule, entry.timezone, last_run)
            found = (last_run, entry.schedule, entry.timezone, slot)
            self._known[entry.table] = found
        slot = found[3]
        return slot if slot is not None and slot <= now else None


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Looks at all tables at one moment."""

    store: JobStore
    tables: Callable[[], Sequence[ScheduledTable]]
    max_jobs: int = MAX_JOBS
    max_seconds: float = MAX_SECONDS
    monotonic: Callable[[], float] = time.monotonic
    _slots: NextSlots = field(default_factory=NextSlots)

    def tick(self, now: datetime) -> Tick:
        """Submit what is due now, the longest overdue first."""
        tables = self.tables()
        known = {state.table: state for state in self.store.schedule_states()}
        due = [d for entry in tables if (d := self._due(entry, known.get(entry.table), now))]
        if not due:
            return Tick(len(tables), 0, 0, ())
        active = self.store.active_tables([item.entry.table for item in due])
        due.sort(key=lambda item: item.turn.slot)
        free = [item for item in due if item.entry.table not in active]
        jobs: list[Job] = []
        begun = self.monotonic()
        for batch in _batches(free, self.max_jobs):
            jobs += self.store.submit_all(_requests(batch))
            # Whoever was faster has submitted the same jobs. What was missed until now is had with
            # it, also where the store's clock is behind this one.
            self.store.record_turns([replace(item.turn, slot=now) for item in batch])
            if self.monotonic() - begun >= self.max_seconds:
                break
        return Tick(len(tables), len(due), len(active), tuple(jobs))

    def _due(
        self, entry: ScheduledTable, state: ScheduleState | None, now: datetime
    ) -> _Due | None:
        last_run = state.last_run if state else None
        if not entry.operations or (state and state.is_paused):
            return None
        slot = self._slots.due(entry, last_run, now)
        if slot is None:
            return _due_by_event(entry, last_run, now)
        if not in_window(entry.window, now):
            return None
        return _Due(entry, Turn(entry.table, last_run, slot), Trigger.SCHEDULE, slot.isoformat())


def submit_turn(store: JobStore, entry: ScheduledTable, now: datetime) -> list[Job]:
    """Submit a table's jobs because somebody asks for them, and count it as its turn."""
    requests = requests_of(entry, f"asked for at {now.isoformat()}", Trigger.API)
    jobs = store.submit_all({str(uuid.uuid4()): request for request in requests})
    store.record_run([entry.table])
    return jobs


def requests_of(entry: ScheduledTable, name: str, trigger: Trigger) -> list[JobRequest]:
    """Every operation of the table, in the order in which its jobs are claimed."""
    # What Trino commits cannot be undone, so that it needs no name to be undone by.
    is_undone_together = entry.arguments.get(ENGINE) != TRINO
    turn = {TURN: turn_id_of(f"{trigger} {entry.table} {name}")} if is_undone_together else {}
    return [
        JobRequest(
            entry.table,
            operation,
            {**entry.arguments, **turn},
            requested_by=REQUESTED_BY,
            trigger=trigger,
            idempotency_key=f"{trigger} {entry.table} {operation} {name}",
        )
        for operation in entry.operations
    ]


def _due_by_event(entry: ScheduledTable, last_run: datetime | None, now: datetime) -> _Due | None:
    look = entry.look
    if look is None or not triggered(entry.triggers, look, last_run):
        return None
    if not in_window(entry.window, now):
        return None
    name = f"snapshot {look.snapshot_id}"
    return _Due(entry, Turn(entry.table, last_run, look.commits[0]), Trigger.EVENT, name)


def _batches(due: Sequence[_Due], max_jobs: int) -> Iterator[list[_Due]]:
    """A few tables at a time, so that a scheduler that dies leaves little to find again."""
    batch: list[_Due] = []
    jobs = 0
    for item in due:
        jobs += len(item.entry.operations)
        if jobs > max_jobs and jobs > len(item.entry.operations):
            break
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _requests(batch: Sequence[_Due]) -> dict[str, JobRequest]:
    return {
        str(uuid.uuid4()): request
        for item in batch
        for request in requests_of(item.entry, item.name, item.trigger)
    }
