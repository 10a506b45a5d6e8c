"""Execute and record: run exactly one plan, prove it, remember it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from neve.model.errors import (
    CommitConflict,
    CommitUnknown,
    EngineDied,
    ExecutionError,
    NeveError,
    PlanStale,
)
from neve.model.expiry import WantedTag
from neve.model.facts import (
    ENGINE_PROPERTY,
    EPOCH_PROPERTY,
    JOB_ID_PROPERTY,
    LAYOUT_PROPERTY,
    PLAN_PROPERTY,
    STEP_PROPERTY,
    TARGET_SIZE_PROPERTY,
    SnapshotFacts,
    TableFacts,
)
from neve.model.job import JobState
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.plan import Plan, RewriteDataFiles
from neve.model.policy import Engine
from neve.planning.cost import actual_usd
from neve.planning.health import count_small_files
from neve.planning.planner import step_for_spark
from neve.planning.proof import Change
from neve.service.copy import CopyRun, run_copy
from neve.service.lease import HeldLease, hold_table
from neve.service.recover import settle_after, settle_unfinished
from neve.service.undo import drop_undo_tag, keep_for_undo, take_back
from neve.service.verify import Verdict, snapshots_of, verify_commits
from neve.service.world import World

OPERATION = "rewrite_data_files"
#: Engines by which an output file can be made; those without work are shown as zero.
ENGINE_NAMES = ("remote_copy", "copy", "transcode", "spark")


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a plan, from its claim on the table to its outcome."""

    world: World
    plan: Plan
    job_id: str
    held: HeldLease
    before: TableFacts
    started_at: datetime
    #: What the outcome should mention besides its figures.
    notes: list[str] = field(default_factory=list)
    #: Groups that a writer took; a list, because the run itself is a value.
    taken_by_writers: list[int] = field(default_factory=list)

    @property
    def conflicts(self) -> int:
        return len(self.taken_by_writers)


@dataclass(frozen=True, slots=True)
class StepFailure:
    """The step whose engine raised, and what."""

    step: int
    error: ExecutionError


def apply_plan(world: World, plan: Plan, *, log: bool = True) -> Outcome:
    """Run the plan if the table is still as it was when the plan was made.

    With `log=False` the row of the maintenance log is left to the caller, who may write many.
    """
    job_id = str(uuid.uuid4())
    refuse_if_stale(plan, world.surveyor.survey(plan.table))
    with hold_table(world.store, job_id, plan.table, OPERATION, world.lease_seconds) as held:
        started_at = world.clock()
        before = world.surveyor.survey(plan.table)
        run = Run(world, plan, job_id, held, before, started_at)
        settle_unfinished(world, before)
        try:
            refuse_if_stale(plan, before)
            outcome = _execute(run) if plan.steps else _nothing(run)
        except PlanStale as refusal:
            world.store.finish(held.lease, _outcome(run, Status.FAILED, refusal.message))
            raise
        except NeveError as error:
            settle_after(world, held, error)
            raise
        if log:
            outcome = record_in_log(world, outcome)
        world.store.finish(held.lease, outcome)
    return outcome


def _nothing(run: Run) -> Outcome:
    return _outcome(run, Status.NOTHING_TO_DO, run.plan.reason)


def refuse_if_stale(plan: Plan, facts: TableFacts) -> None:
    """A plan holds for one snapshot of one table."""
    if facts.table_uuid != plan.table_uuid:
        raise PlanStale(
            f"The plan was made for another table: {plan.table} was dropped and made anew since.",
            next_step="Plan again.",
        )
    if facts.snapshot_id != plan.snapshot_id:
        raise PlanStale(
            f"Table {plan.table} has moved on from snapshot {plan.snapshot_id} "
            f"to {facts.snapshot_id} since the plan was made.",
            next_step="Plan again.",
        )


def _keep(run: Run) -> WantedTag:
    """Tag the state before; where somebody undid it meanwhile, the plan is stale."""
    try:
        return keep_for_undo(run.world, run.before, run.job_id, run.plan.undo_window_seconds)
    except CommitConflict as conflict:
        raise PlanStale(conflict.message, next_step="Plan again.") from conflict


def _execute(run: Run) -> Outcome:
    world, plan = run.world, run.plan
    run.held.enter(JobState.REWRITING)
    tag = _keep(run)
    failure = _run_steps(run)
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
    if landed and isinstance(failure.error, CommitUnknown | EngineDied):
        return Status.SUCCEEDED, ["The answer to a commit was lost; its snapshot was found."]
    if isinstance(failure.error, CommitUnknown):
        return Status.UNKNOWN, [failure.error.message]
    return Status.FAILED, [failure.error.message, "What was committed before stays."]


def _run_steps(run: Run) -> StepFailure | None:
    """Run the steps; an engine's error is kept, because the table decides what happened."""
    for index, step in enumerate(run.plan.steps):
        run.held.check()
        run.world.say(f"Compacting {len(step.groups)} file groups of {run.plan.table} …")
        try:
            if step.engine.copies:
                _copy(run, index, step)
            else:
                _rewrite(run, index, step)
        except ExecutionError as error:
            return StepFailure(index, error)
    return None


def _rewrite(run: Run, index: int, step: RewriteDataFiles) -> None:
    properties = {**_properties(run, index, step), ENGINE_PROPERTY: str(Engine.SPARK)}
    run.world.engine.rewrite(run.plan.table, step, properties, run.world.say)


def _copy(run: Run, index: int, step: RewriteDataFiles) -> None:
    """Copy what can be copied; what footers refuse goes to Spark, and writers' groups wait."""
    result = run_copy(
        CopyRun(
            run.world,
            run.plan,
            step,
            run.before,
            run.job_id,
            run.held,
            _properties(run, index, step),
        )
    )
    if result.refused:
        groups = tuple(group for group, _ in result.refused)
        run.notes.append(
            f"{len(groups)} groups could not be copied and went to Spark: {result.refused[0][1]}."
        )
        _rewrite(run, index, step_for_spark(run.before, step, groups))
    if result.conflicting:
        run.taken_by_writers.extend(group.group_id for group in result.conflicting)
        run.notes.append(
            f"{len(result.conflicting)} groups were changed by writers meanwhile "
            "and are left to the next run."
        )


def _properties(run: Run, index: int, step: RewriteDataFiles) -> dict[str, str]:
    return {
        STEP_PROPERTY: str(index),
        JOB_ID_PROPERTY: run.job_id,
        PLAN_PROPERTY: run.plan.plan_id,
        EPOCH_PROPERTY: str(run.held.lease.epoch),
        TARGET_SIZE_PROPERTY: str(run.plan.target_file_size_bytes),
        LAYOUT_PROPERTY: step.layout,
    }


def _without_commit(
    run: Run, after: TableFacts, tag: WantedTag, failure: StepFailure | None
) -> Outcome:
    if failure is not None and isinstance(failure.error, CommitUnknown):
        # It may still land: nothing is cleaned, and the next run settles it by reading.
        return _outcome(run, Status.UNKNOWN, failure.error.message, after=after)
    if failure is not None and isinstance(failure.error, EngineDied):
        # A process that is gone commits nothing more. Its tag ends by itself.
        return _outcome(run, Status.FAILED, failure.error.message, after=after)
    try:
        drop_undo_tag(run.world, after, tag)
    except ExecutionError as error:
        # A tag too many does no harm, and it ends by itself.
        run.notes.append(error.message)
    if failure is not None:
        reason = " ".join([failure.error.message, *run.notes])
        return _outcome(run, Status.FAILED, reason, after=after)
    reason = " ".join(["The engine found nothing to rewrite.", *run.notes])
    return _outcome(run, Status.NOTHING_TO_DO, reason, after=after)


def _lost_history(run: Run, after: TableFacts) -> str | None:
    if run.before.snapshot_id not in {s.snapshot_id for s in after.ancestry()}:
        return f"Snapshot {run.before.snapshot_id} is no longer part of the table's history."
    return None


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
        world.log.write([outcome])
    except NeveError as error:
        return replace(
            outcome, reason=f"{outcome.reason} The maintenance log was not written: {error.message}"
        )
    return outcome
