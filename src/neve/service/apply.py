"""Execute and record: run exactly one plan, prove it, remember it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from neve.model.errors import (
    CommitConflict,
    CommitUnknown,
    EngineDied,
    ExecutionError,
    JobCancelled,
    PlanStale,
)
from neve.model.expiry import TagToSet
from neve.model.facts import ENGINE_PROPERTY, STEP_PROPERTY, SnapshotFacts, TableFacts
from neve.model.job import JobRequest, JobState
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.plan import Plan
from neve.planning.cost import actual_usd
from neve.planning.health import count_small_files
from neve.planning.proof import Change
from neve.planning.recheck import Rechecked, recheck
from neve.service.ancestry import lost_history
from neve.service.rounds import Replan, Run, StepFailure, run_rounds
from neve.service.run_job import JobContext, run_request
from neve.service.services import Services
from neve.service.step_run import merged
from neve.service.undo import drop_undo_tag, keep_for_undo, take_back
from neve.service.verify import Verdict, snapshots_of, verify_commits

OPERATION = "rewrite_data_files"
#: Engines by which an output file can be made; those without work are shown as zero.
ENGINE_NAMES = ("remote_copy", "copy", "transcode", "spark")


def apply_plan(
    services: Services, plan: Plan, *, replan: Replan | None = None, log: bool = True
) -> Outcome:
    """Run the plan as far as the table allows it now.

    A plan that stands alone is refused as a whole where writers changed a file that it names. With
    `replan` only the groups of such files are left out, and planned again. With `log=False` the row
    of the maintenance log is left to the caller, who may write many.
    """
    if replan is None:
        _refuse_if_stale(recheck(plan, _survey(services, plan)))
        if plan.steps:
            # What an engine that starts takes is not to lie between the last look and the work.
            services.engine.warm_up()
    request = JobRequest(plan.table, OPERATION, {"plan_id": plan.plan_id})
    return run_request(services, request, partial(_apply, plan, replan), log=log)


def _apply(plan: Plan, replan: Replan | None, context: JobContext) -> Outcome:
    services = context.services
    before = _survey(services, plan)
    checked = recheck(plan, before)
    _refuse_if_stale(checked, keeps=replan is not None)
    run = Run(
        services, checked.plan, context.job_id, context.held, before, context.started_at, replan
    )
    run.taken_by_writers.extend(group for group, _ in checked.stale)
    return _execute(run) if run.plan.steps else _nothing(run)


def _survey(services: Services, plan: Plan) -> TableFacts:
    return services.surveyor.survey(plan.table, where=plan.where)


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


def _keep(run: Run) -> TagToSet:
    """Tag the state before; where somebody undid it meanwhile, the plan is stale."""
    try:
        return keep_for_undo(run.services, run.before, run.job_id, run.plan.undo_window_seconds)
    except CommitConflict as conflict:
        raise PlanStale(conflict.message, next_step="Plan again.") from conflict


def _execute(run: Run) -> Outcome:
    services, plan = run.services, run.plan
    run.held.enter(JobState.REWRITING)
    tag = _keep(run)
    failure, stopped = None, None
    try:
        failure = run_rounds(run)
    except JobCancelled as stop:
        # What was committed before stays, and is proven like everything else.
        stopped = stop
    run.held.enter(JobState.VERIFYING)
    after = services.surveyor.survey(plan.table)
    ours = snapshots_of(run.job_id, after)
    if not ours:
        return _without_commit(run, after, tag, failure, stopped)
    verdict = verify_commits(services, plan.table, ours)
    seen = [run.before.snapshot_id, *(snapshot.snapshot_id for snapshot in ours)]
    if problem := verdict.problem or lost_history(after, seen):
        run.held.require()
        reason = f"{problem} {take_back(services, run.job_id, after)}"
        after = services.surveyor.survey(plan.table)
        return _outcome(run, Status.FAILED, reason, after=after, verdict=verdict)
    status, note = _after_failure(failure, ours)
    if stopped is not None:
        status, note = Status.CANCELLED, [stopped.message, "What was committed before stays."]
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


def _without_commit(
    run: Run,
    after: TableFacts,
    tag: TagToSet,
    failure: StepFailure | None,
    stopped: JobCancelled | None,
) -> Outcome:
    if failure is not None and isinstance(failure.error, CommitUnknown):
        # It may still land: nothing is cleaned, and the next run settles it by reading.
        return _outcome(run, Status.UNKNOWN, failure.error.message, after=after)
    if failure is not None and isinstance(failure.error, EngineDied):
        # A process that is gone commits nothing more. Its tag ends by itself.
        return _outcome(run, Status.FAILED, failure.error.message, after=after)
    try:
        drop_undo_tag(run.services, after, tag)
    except ExecutionError as error:
        # A tag too many does no harm, and it ends by itself.
        run.notes.append(error.message)
    if stopped is not None:
        reason = " ".join([stopped.message, "Nothing was changed.", *run.notes])
        return _outcome(run, Status.CANCELLED, reason, after=after)
    if failure is not None:
        reason = " ".join([failure.error.message, *run.notes])
        return _outcome(run, Status.FAILED, reason, after=after)
    if run.conflicts:
        reason = " ".join([*run.refusals[-1:], *run.notes])
        return _outcome(run, Status.FAILED, reason, after=after)
    reason = " ".join(["The engine found nothing to rewrite.", *run.notes])
    return _outcome(run, Status.NOTHING_TO_DO, reason, after=after)


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
    services, before = run.services, run.before
    finished_at = services.clock()
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
        engine_use=merged(run.uses),
        stats=_stats(run, after, changes, seconds),
        proof=verdict.proof if verdict else None,
        conflicts=run.conflicts,
        snapshot_before=before.snapshot_id,
        snapshot_after=after.snapshot_id,
        snapshots_before=len(before.snapshots),
        snapshots_after=len(after.snapshots),
        estimated_cost=run.plan.cost,
        actual_usd=actual_usd(services.cost_model, run.plan.cost, seconds) if changes else 0.0,
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
