"""Execute and record: run exactly one plan, prove it, remember it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from neve.model.errors import CommitUnknown, ExecutionError, NeveError, PlanFileError, PlanStale
from neve.model.facts import ENGINE_PROPERTY, STEP_PROPERTY, SnapshotFacts, TableFacts
from neve.model.job import JobState
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.plan import Plan
from neve.planning.cost import actual_usd
from neve.planning.health import count_small_files
from neve.planning.proof import Change
from neve.planning.recheck import Rechecked, recheck
from neve.service.lease import hold_table
from neve.service.recover import settle_unfinished
from neve.service.rounds import Replan, Run, StepFailure, run_rounds
from neve.service.verify import Verdict, snapshots_of, verify_commits
from neve.service.world import World

OPERATION = "rewrite_data_files"
UNDO_TAG_PREFIX = "neve-undo-"
#: Engines by which an output file can be made; those without work are shown as zero.
ENGINE_NAMES = ("remote_copy", "copy", "transcode", "spark")


def apply_plan(
    world: World, plan: Plan, *, replan: Replan | None = None, log: bool = True
) -> Outcome:
    """Run the plan as far as the table allows it now.

    A plan that stands alone is refused as a whole where writers changed a file that it names. With
    `replan` only the groups of such files are left out, and planned again. With `log=False` the row
    of the maintenance log is left to the caller, who may write many.
    """
    job_id = str(uuid.uuid4())
    if replan is None:
        _refuse_if_stale(recheck(plan, _survey(world, plan)))
        if plan.steps:
            # What an engine that starts takes is not to lie between the last look and the work.
            world.engine.warm_up()
    with hold_table(world.store, job_id, plan.table, OPERATION, world.lease_seconds) as held:
        started_at = world.clock()
        before = _survey(world, plan)
        run = Run(world, plan, job_id, held, before, started_at, replan)
        settle_unfinished(world, before)
        try:
            checked = recheck(plan, before)
            _refuse_if_stale(checked, keeps=replan is not None)
        except (PlanStale, PlanFileError) as refusal:
            world.store.finish(held.lease, _outcome(run, Status.FAILED, refusal.message))
            raise
        run = replace(run, plan=checked.plan)
        run.taken_by_writers.extend(group for group, _ in checked.stale)
        try:
            outcome = _execute(run) if run.plan.steps else _nothing(run)
        except NeveError as error:
            # A commit may have landed before the error: reading the table will tell.
            world.store.settle(job_id, JobState.UNKNOWN, error.message)
            raise
        if log:
            outcome = record_in_log(world, outcome)
        world.store.finish(held.lease, outcome)
    return outcome


def _survey(world: World, plan: Plan) -> TableFacts:
    return world.surveyor.survey(plan.table, where=plan.where)


def _nothing(run: Run) -> Outcome:
    return _outcome(run, Status.NOTHING_TO_DO, run.plan.reason)


def _refuse_if_stale(checked: Rechecked, *, keeps: bool = False) -> None:
    """Some stale groups are no reason to refuse where the others may be kept."""
    if not checked.stale or (keeps and checked.plan.steps):
        return
    _, change = checked.stale[0]
    raise PlanStale(
        f"Table {checked.plan.table} has moved on since the plan was made: {change}.",
        next_step="Plan again.",
    )


def _execute(run: Run) -> Outcome:
    world, plan = run.world, run.plan
    assert plan.snapshot_id is not None
    tag = UNDO_TAG_PREFIX + run.job_id
    run.held.enter(JobState.REWRITING)
    world.engine.create_tag(
        plan.table, plan.snapshot_id, tag, max_age_ms=plan.undo_window_seconds * 1000
    )
    failure = run_rounds(run)
    run.held.enter(JobState.VERIFYING)
    after = world.surveyor.survey(plan.table)
    ours = snapshots_of(run.job_id, after)
    if not ours:
        return _without_commit(run, after, tag, failure)
    verdict = verify_commits(world, plan.table, ours)
    if problem := verdict.problem or _lost_history(run, after):
        run.held.check()
        reason = f"{problem} {take_back(world, run.job_id, after)}"
        after = world.surveyor.survey(plan.table)
        return _outcome(run, Status.FAILED, reason, after=after, verdict=verdict)
    status, note = _after_failure(failure, ours)
    reason = " ".join([_summary(verdict.changes), *run.notes, *note])
    return _outcome(run, status, reason, after=after, verdict=verdict)


def _after_failure(
    failure: StepFailure | None, ours: list[SnapshotFacts]
) -> tuple[Status, list[str]]:
    """What an error means once something was committed: the snapshot log decides."""
    if failure is None:
        return Status.SUCCEEDED, []
    landed = any(s.summary.get(STEP_PROPERTY) == str(failure.step) for s in ours)
    if isinstance(failure.error, CommitUnknown):
        if landed:
            return Status.SUCCEEDED, ["The answer to a commit was lost; its snapshot was found."]
        return Status.UNKNOWN, [failure.error.message]
    return Status.FAILED, [failure.error.message, "What was committed before stays."]


def _without_commit(run: Run, after: TableFacts, tag: str, failure: StepFailure | None) -> Outcome:
    if failure is not None and isinstance(failure.error, CommitUnknown):
        # It may still land: nothing is cleaned, and the next run settles it by reading.
        return _outcome(run, Status.UNKNOWN, failure.error.message, after=after)
    try:
        run.world.engine.remove_tag(run.plan.table, tag)
    except ExecutionError as error:
        # A tag too many does no harm, and it ends by itself.
        run.notes.append(error.message)
    if failure is not None:
        reason = " ".join([failure.error.message, *run.notes])
        return _outcome(run, Status.FAILED, reason, after=after)
    if run.conflicts:
        reason = " ".join([*run.refusals[-1:], *run.notes])
        return _outcome(run, Status.FAILED, reason, after=after)
    reason = " ".join(["The engine found nothing to rewrite.", *run.notes])
    return _outcome(run, Status.NOTHING_TO_DO, reason, after=after)


def _lost_history(run: Run, after: TableFacts) -> str | None:
    if run.before.snapshot_id not in {s.snapshot_id for s in after.ancestry()}:
        return f"Snapshot {run.before.snapshot_id} is no longer part of the table's history."
    return None


def take_back(world: World, job_id: str, after: TableFacts) -> str:
    """Roll a job back, but only while nobody has committed on top of it."""
    target = after.snapshot_id
    for snapshot in after.ancestry():
        if snapshot.job_id != job_id:
            break
        target = snapshot.parent_id
    if target is None or target == after.snapshot_id:
        return "Others have committed since, so it was not rolled back: use neve rollback."
    try:
        world.engine.roll_back(after.table, target)
    except ExecutionError as error:
        return f"It could NOT be rolled back to snapshot {target}: {error.message}"
    return f"The table was rolled back to snapshot {target}."


def _summary(changes: Sequence[Change]) -> str:
    removed = sum(len(change.removed) for change in changes)
    added = sum(len(change.added) for change in changes)
    return f"{removed} files became {added}."


def _outcome(
    run: Run,
    status: Status,
    reason: str,
    *,
    after: TableFacts | None = None,
    verdict: Verdict | None = None,
) -> Outcome:
    world, before = run.world, run.before
    finished_at = world.clock()
    seconds = (finished_at - run.started_at).total_seconds()
    after = after or before
    changes = verdict.changes if verdict else ()
    return Outcome(
        job_id=run.job_id,
        table=run.plan.table,
        operation=OPERATION,
        status=status,
        reason=reason,
        started_at=run.started_at,
        finished_at=finished_at,
        engines=_engines(run, after),
        stats=_stats(run, after, changes, seconds),
        proof=verdict.proof if verdict else None,
        conflicts=run.conflicts,
        snapshot_before=before.snapshot_id,
        snapshot_after=after.snapshot_id,
        snapshots_before=len(before.snapshots),
        snapshots_after=len(after.snapshots),
        estimated_cost=run.plan.cost,
        actual_usd=actual_usd(world.cost_model, run.plan.cost, seconds) if changes else 0.0,
        bytes_rewritten=sum(f.size_bytes for change in changes for f in change.removed),
    )


def _engines(run: Run, after: TableFacts) -> dict[str, int]:
    """Output files by engine, as our snapshots in the table tell it."""
    counts = dict.fromkeys(ENGINE_NAMES, 0)
    for snapshot in after.ancestry():
        if snapshot.job_id == run.job_id:
            named = snapshot.summary.get(ENGINE_PROPERTY, "spark").split(",")
            added = snapshot.summary.get("added-data-files", "0")
            for part in named:
                name, _, count = part.partition("=")
                counts[name] += int(count or added)
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


def record_in_log(world: World, outcome: Outcome) -> Outcome:
    """The log must not hide what happened: its failure is said, not raised."""
    try:
        world.engine.write_log([outcome])
    except NeveError as error:
        return replace(
            outcome, reason=f"{outcome.reason} The maintenance log was not written: {error.message}"
        )
    return outcome
