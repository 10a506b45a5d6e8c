"""Schedules of tables: when turns came and come, paused, resumed, and taken now."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from neve.access.rights import Right
from neve.api.access import IdempotencyKey, TheNeve, needs
from neve.api.bodies import QueuedJob, queued_job
from neve.api.routes.operations import TURN_ID, jobs_before, queue_each, turn_of
from neve.api.values import (
    Asking,
    CursorQuery,
    Limit,
    TablePath,
    Time,
    make_cursor,
    read_cursor,
)
from neve.model.job import Job, ScheduleState
from neve.model.table import TableRef
from neve.neve import Neve

router = APIRouter(prefix="/schedules", tags=["schedules"])
TRIGGERED = "the turn"


class ListedSchedule(BaseModel):
    """A table whose turn came, or whose turns are left out."""

    table: str
    last_run: Time | None
    is_paused: bool


class Schedules(BaseModel):
    """A page of tables, by name."""

    schedules: list[ListedSchedule]
    next_cursor: str | None


class Schedule(ListedSchedule):
    """When a table's turns are, by its policy."""

    schedule: str | None
    timezone: str
    next_run: Time | None
    is_due: bool
    in_window: bool


class Triggered(BaseModel):
    """The jobs of a turn that was taken now."""

    table: str
    jobs: list[QueuedJob]
    turn_id: str | None = Field(default=None, description=TURN_ID)


@router.get("", dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def schedules(neve: TheNeve, limit: Limit = 100, cursor: CursorQuery = None) -> Schedules:
    """Tables of which the state knows a turn, by name. No catalog is asked."""
    after = read_cursor(cursor, str)[0] if cursor else ""
    found = sorted((s for s in neve.schedule_states() if str(s.table) > after), key=_name)
    return Schedules(
        schedules=[_listed(state) for state in found[:limit]],
        next_cursor=make_cursor(_name(found[limit - 1])) if len(found) > limit else None,
    )


@router.get("/{table}", dependencies=[needs(Right.VIEW)])
def schedule(table: TablePath, neve: TheNeve) -> Schedule:
    """When a table's turn came last, and when it comes."""
    policy = neve.policy(table)
    timing = neve.timing(policy)
    paused = {state.table for state in neve.schedule_states() if state.is_paused}
    return Schedule(
        table=str(policy.table),
        last_run=timing.last_run,
        is_paused=policy.table in paused,
        schedule=policy.schedule,
        timezone=policy.timezone,
        next_run=timing.next_run,
        is_due=timing.is_due,
        in_window=timing.in_window,
    )


@router.post("/{table}/pause", dependencies=[needs(Right.OPERATE)])
def pause(table: TablePath, neve: TheNeve) -> ListedSchedule:
    """Leave the table's turns out, until they are resumed."""
    return _listed(neve.pause(_known(neve, table)))


@router.post("/{table}/resume", dependencies=[needs(Right.OPERATE)])
def resume(table: TablePath, neve: TheNeve) -> ListedSchedule:
    """Let the table's turns come again."""
    return _listed(neve.resume(_known(neve, table)))


@router.post("/{table}/trigger", status_code=202, dependencies=[needs(Right.OPERATE)])
def trigger(
    table: TablePath, neve: TheNeve, key: IdempotencyKey = None, body: Asking | None = None
) -> Triggered:
    """Take the table's turn now: a job for each operation that its policy enables."""
    asking = body or Asking()
    if known := jobs_before(neve, neve.table(table), asking, key, TRIGGERED):
        return _triggered(neve.table(table), known)
    turn = neve.turn(table)
    ref = turn.entry.table
    jobs = queue_each(neve, ref, turn.operations, asking, key, asked=TRIGGERED)
    neve.count_turn(ref)
    return _triggered(ref, jobs)


def _triggered(table: TableRef, jobs: list[Job]) -> Triggered:
    queued = [queued_job(job) for job in jobs]
    return Triggered(table=str(table), jobs=queued, turn_id=turn_of(jobs))


def _known(neve: Neve, table: str) -> str:
    """The name of a table that is there: a state for any other would stay for ever."""
    return str(neve.known_table(table))


def _name(state: ScheduleState) -> str:
    return str(state.table)


def _listed(state: ScheduleState) -> ListedSchedule:
    return ListedSchedule(
        table=str(state.table), last_run=state.last_run, is_paused=state.is_paused
    )
