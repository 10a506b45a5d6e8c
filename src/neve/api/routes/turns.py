"""Turns: what several jobs did, undone together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fastapi import APIRouter, Request
from pydantic import BaseModel

from neve.access.rights import Right
from neve.api.access import IdempotencyKey, TheNeve, needs
from neve.api.bodies import QueuedJob, queued_job
from neve.api.problems import Problem, not_found, problem_of
from neve.api.submitting import queue
from neve.api.values import Asking, PathPart
from neve.guarding import Guarded
from neve.model.errors import NeveError
from neve.model.job import ROLLBACK, TURN, Job
from neve.model.table import TableRef

router = APIRouter(prefix="/turns", tags=["turns"])


class UndoneTable(BaseModel):
    """One table of a turn: the job that takes it back, or why there is none."""

    table: str
    job: QueuedJob | None = None
    problem: Problem | None = None


class UndoneTurn(BaseModel):
    """What becomes of each table of a turn."""

    turn_id: str
    tables: list[UndoneTable]


@router.post("/{turn_id}/rollback", status_code=202, dependencies=[needs(Right.OPERATE)])
def rollback_turn(
    turn_id: PathPart,
    request: Request,
    neve: TheNeve,
    key: IdempotencyKey = None,
    body: Asking | None = None,
) -> UndoneTurn:
    """Queue taking back each of the turn's tables, with what Neve did to it since.

    Where a writer came after the turn, that table is refused; where all are, so is the request.
    """
    jobs = [job for job in neve.turn_jobs(turn_id) if job.turn_id == turn_id]
    if not jobs:
        raise not_found("turn", turn_id, "GET /api/v1/jobs says to which turn a job belongs.")
    # All that the caller sees of it, or nothing: one that may not be changed stops the others.
    tables = [neve.table(table) for table in dict.fromkeys(str(job.table) for job in jobs)]
    found = list(_undone(neve, turn_id, tables, body or Asking(), key))
    problems = [error for _, error in found if isinstance(error, NeveError)]
    if len(problems) == len(found):
        raise problems[0]
    return UndoneTurn(turn_id=turn_id, tables=[_told(request, *item) for item in found])


def _undone(
    neve: Guarded, turn_id: str, tables: Sequence[TableRef], asking: Asking, key: str | None
) -> Iterator[tuple[TableRef, Job | NeveError]]:
    """A rollback of each table; the first one has the request's own key."""
    for number, table in enumerate(tables):
        its_key = f"{key}:{table}" if key and number else key
        try:
            yield table, queue(neve, table, ROLLBACK, asking, its_key, arguments={TURN: turn_id})
        except NeveError as error:
            yield table, error


def _told(request: Request, table: TableRef, found: Job | NeveError) -> UndoneTable:
    if isinstance(found, NeveError):
        return UndoneTable(table=str(table), problem=problem_of(request, found))
    return UndoneTable(table=str(table), job=queued_job(found))
