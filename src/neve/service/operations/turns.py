"""A turn: all of its jobs, and the state of a table before the first of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neve.model.errors import InputError, JobRefused, NeveError
from neve.model.facts import SnapshotFacts, TableFacts
from neve.model.job import TURN, Job
from neve.model.outcome import Outcome, RolledBack
from neve.model.table import TableRef
from neve.service.store_ports import JobStore

#: Jobs that are looked through for a turn, the newest first.
LOOKED_THROUGH = 20_000
#: How Iceberg calls a commit that changes no row.
REPLACE = "replace"


def jobs_of_turn(newest: Sequence[Job], begin: str) -> list[Job]:
    """Of the jobs, those of the turn whose id begins so, oldest first; refuses several turns."""
    jobs = [job for job in newest if begin and (job.turn_id or "").startswith(begin)]
    turns = sorted({str(job.turn_id) for job in jobs})
    if len(turns) > 1:
        raise InputError(
            f"{len(turns)} turns begin with {begin}: {', '.join(turns[:5])}.",
            next_step="Give more of its id.",
        )
    return jobs[::-1]


def no_turn(begin: str) -> InputError:
    return InputError(
        f"No job of a turn {begin} is known among the last {LOOKED_THROUGH:,}.",
        next_step="neve maintain says the id of its turn, neve job ID that of any job. "
        "Of an old turn, name the table, too.",
    )


def undo_turn(
    jobs: Sequence[Job],
    roll_back: Callable[[TableRef, dict[str, object]], Outcome],
    only: TableRef | None,
) -> list[RolledBack]:
    """Undo the turn of these jobs on each of their tables: one table's trouble is its own."""
    (turn_id,) = {job.turn_id for job in jobs}
    tables = dict.fromkeys(job.table for job in jobs) if only is None else [only]

    def undo(table: TableRef) -> RolledBack:
        try:
            return RolledBack(table, roll_back(table, {TURN: turn_id}))
        except NeveError as error:
            return RolledBack(table, problem=error)

    return [undo(table) for table in tables]


def before_turn(store: JobStore, facts: TableFacts, turn_id: str) -> SnapshotFacts:
    """The snapshot before the turn's first commit.

    Later commits of Neve's own, which change no row, go with it; those of writers never do.
    """
    known = store.jobs(facts.table, LOOKED_THROUGH)
    own = {job.job_id for job in known}
    of_turn = {job.job_id for job in known if job.turn_id == turn_id}
    ancestry = facts.ancestry()
    first = next((s for s in reversed(ancestry) if s.job_id in of_turn), None)
    found = None if first is None else facts.snapshot(first.parent_id or 0)
    if first is None or found is None:
        raise InputError(
            f"Turn {turn_id} has left nothing in the history of table {facts.table} that could "
            "be undone.",
            next_step=f"Look at neve snapshots {facts.table.typed}.",
        )
    since = ancestry[: ancestry.index(first) + 1]
    others = [s for s in since if not (s.job_id in of_turn or _changes_no_row(s, own))]
    if others:
        raise JobRefused(
            f"{len(others)} commits of writers came after turn {turn_id} to table {facts.table}; "
            "rolling it back would drop them.",
            next_step=f"If you mean it: neve rollback {facts.table.typed} "
            f"--to-snapshot {found.snapshot_id}",
        )
    return found


def _changes_no_row(snapshot: SnapshotFacts, own: set[str]) -> bool:
    return snapshot.job_id in own and snapshot.operation == REPLACE
