"""What a compaction tells of itself when it is over."""

from __future__ import annotations

from collections.abc import Sequence

from neve.model.counts import many
from neve.model.facts import ENGINE_PROPERTY, TableFacts
from neve.model.operation import Operation
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.policy import Engine
from neve.planning.cost import actual_usd
from neve.planning.health import count_small_files
from neve.planning.proof import Change
from neve.service.left_alone import MAX_NAMED
from neve.service.rounds import Run
from neve.service.step_run import merged
from neve.service.verify import Verdict


def summary_of(changes: Sequence[Change]) -> str:
    removed = sum(len(change.removed) for change in changes)
    added = sum(len(change.added) for change in changes)
    return f"{many(removed, 'file')} became {added}."


def outcome_of(
    run: Run,
    status: Status,
    reason: str,
    *,
    after: TableFacts | None = None,
    verdict: Verdict | None = None,
) -> Outcome:
    services, before = run.services, run.before
    finished_at = services.clock()
    seconds = (finished_at - run.started_at).total_seconds()
    after = after or before
    changes = verdict.changes if verdict else ()
    return Outcome(
        job_id=run.job_id,
        table=run.plan.table,
        operation=str(Operation.REWRITE_DATA_FILES),
        status=status,
        reason=reason,
        started_at=run.started_at,
        finished_at=finished_at,
        engines=_engines(run, after),
        engine_use=merged(run.uses),
        stats=_stats(run, after, changes, seconds),
        proof=verdict.proof if verdict else None,
        conflicts=run.conflicts,
        left_alone=tuple(run.left_alone[:MAX_NAMED]),
        snapshot_before=before.snapshot_id,
        snapshot_after=after.snapshot_id,
        snapshots_before=len(before.snapshots),
        snapshots_after=len(after.snapshots),
        estimated_cost=run.plan.cost,
        actual_usd=actual_usd(services.cost_model, run.plan.cost, seconds) if changes else 0.0,
        bytes_rewritten=sum(f.size_bytes for change in changes for f in change.removed),
    )


def _engines(run: Run, after: TableFacts) -> dict[str, int]:
    """Output files by engine, as our snapshots in the table tell it; zero for those without."""
    counts = dict.fromkeys(map(str, Engine), 0)
    for snapshot in after.ancestry():
        if snapshot.job_id == run.job_id:
            named = snapshot.summary.get(ENGINE_PROPERTY, "spark").split(",")
            added = snapshot.summary.get("added-data-files", "0")
            for part in named:
                name, _, count = part.partition("=")
                counts[name] = counts.get(name, 0) + int(count or added)
    return counts


def _stats(
    run: Run, after: TableFacts, changes: Sequence[Change], seconds: float
) -> CompactionStats:
    before = run.before
    return CompactionStats(
        files_before=len(before.data_files),
        files_after=len(after.data_files),
        files_compacted=sum(len(change.removed) for change in changes),
        files_removed=len(before.data_files) - len(after.data_files),
        bytes_before=before.total_bytes,
        bytes_after=after.total_bytes,
        bytes_saved=before.total_bytes - after.total_bytes,
        compaction_time_ms=round(seconds * 1000, 2),
        small_files_remaining=count_small_files(after, run.plan.small_file_bytes),
    )
