"""What the store has counted, put together."""

from __future__ import annotations

from collections.abc import Mapping

from neve.model.figures import (
    BYTES,
    DURATION_BOUNDS_SECONDS,
    DURATIONS,
    FILES,
    JOBS,
    SECONDS,
    Durations,
    Figures,
    TableFigures,
    counter_name,
)
from neve.model.job import JobState
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.model.workers import EngineState
from neve.service.store_ports import JobStore


def figures_of(store: JobStore, max_tables: int) -> Figures:
    """Figures of the whole deployment, with those of the tables whose jobs ended last."""
    totals = store.totals
    counters, workers = totals.counters, store.workers.all()
    ended = {
        (operation, JobState(state)): round(count)
        for name, count in counters.items()
        for kind, _, rest in (name.partition(":"),)
        if kind == JOBS
        for operation, _, state in (rest.rpartition(":"),)
    }
    operations = {name.split(":")[1] for name in counters if name.startswith(f"{DURATIONS}:")}
    return Figures(
        ended=ended,
        durations={name: _durations(counters, name) for name in sorted(operations)},
        files_compacted=round(counters.get(FILES, 0)),
        bytes_rewritten=round(counters.get(BYTES, 0)),
        queued=totals.queued,
        begun=totals.begun,
        dead=totals.dead,
        set_aside=len(store.set_aside_tables()),
        tables=_tables(store, max_tables) if max_tables else (),
        workers=len(workers),
        workers_ready=sum(worker.engine.state is EngineState.READY for worker in workers),
    )


def _durations(counters: Mapping[str, float], operation: str) -> Durations:
    def count(bound: object) -> int:
        return round(counters.get(counter_name(DURATIONS, operation, bound), 0))

    within, so_far = [], 0
    for bound in DURATION_BOUNDS_SECONDS:
        so_far += count(bound)
        within.append(so_far)
    seconds = counters.get(counter_name(SECONDS, operation), 0.0)
    return Durations(tuple(within), so_far + count("more"), seconds)


def _tables(store: JobStore, max_tables: int) -> tuple[TableFigures, ...]:
    newest: dict[TableRef, Outcome] = {}
    for outcome in store.outcomes(max_tables):
        newest.setdefault(outcome.table, outcome)
    return tuple(
        TableFigures(
            outcome.table,
            outcome.operation,
            outcome.status.job_state,
            outcome.finished_at,
            outcome.stats.files_after,
            outcome.stats.small_files_remaining,
            outcome.stats.bytes_after,
        )
        for outcome in newest.values()
    )
