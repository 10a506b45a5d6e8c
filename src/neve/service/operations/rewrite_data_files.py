"""Compaction: plan, tag, rewrite group by group, read back, prove, take back what fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from neve.model.errors import (
    CommitConflict,
    CommitUnknown,
    EngineDied,
    ExecutionError,
    InputError,
    JobCancelled,
    PlanStale,
)
from neve.model.expiry import TagToSet
from neve.model.facts import (
    ENGINE_PROPERTY,
    EPOCH_PROPERTY,
    STEP_PROPERTY,
    SnapshotFacts,
    TableFacts,
)
from neve.model.job import JobRequest, JobState
from neve.model.operation import Operation
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.plan import CompactionPlan
from neve.model.policies import EffectivePolicy
from neve.model.policy import CompactionPolicy, Engine
from neve.planning.cost import actual_usd
from neve.planning.health import assess, count_small_files
from neve.planning.planner import PlanRequest, make_plan
from neve.planning.proof import Change
from neve.planning.rates import learn_rates
from neve.planning.recheck import Rechecked, recheck
from neve.planning.staleness import got_row_ids
from neve.policy.effective import plan_request
from neve.service.ancestry import lost_history
from neve.service.context import JobContext, Prepared, overrides_of
from neve.service.plan_file import plan_of_document
from neve.service.rounds import Replan, Run, StepFailure, account_for, run_rounds
from neve.service.services import Services
from neve.service.step_run import merged
from neve.service.undo import drop_undo_tag, follow_parent, keep_for_undo, take_back
from neve.service.verify import Verdict, snapshots_of, verify_commits

OPERATION = Operation.REWRITE_DATA_FILES
#: A plan among the arguments of a request: exactly this one is run, or refused.
PLAN = "plan"
#: Times that a compaction is planned in all, where writers take every file of it.
MAX_ATTEMPTS = 3
#: Plans the table as it was surveyed.
PlanOf = Callable[[TableFacts], CompactionPlan]


@dataclass(frozen=True, slots=True)
class CompactionHandler:
    """Rewrites data files: by the policy, or by a plan that was made before."""

    operation: ClassVar[Operation] = OPERATION
    name: ClassVar[str] = str(OPERATION)
    arguments: ClassVar[tuple[str, ...]] = (PLAN,)

    def prepare(self, services: Services, request: JobRequest) -> Prepared | None:
        if (planned := _plan_in(request)) is not None:
            refuse_if_stale(services, planned)
            return None
        facts = services.surveyor.survey(request.table)
        policy = services.policies.effective(facts, overrides_of(request))
        return Prepared(self.plan(services, facts, policy), facts)

    def plan(
        self, services: Services, facts: TableFacts, policy: EffectivePolicy
    ) -> CompactionPlan:
        where = policy.rewrite_data_files.where
        if facts.where != where:
            facts = services.surveyor.survey(facts.table, where=where)
        return plan_compaction(services, facts, plan_request(policy), policy.compaction)

    def run(self, context: JobContext, prepared: Prepared | None = None) -> Outcome:
        services = context.services
        if (planned := _plan_in(context.request)) is not None:
            return apply_exactly(context, with_undo_window(services, planned))

        def plan_of(facts: TableFacts) -> CompactionPlan:
            return self.plan(services, facts, context.policy(facts))

        return compact(context, plan_of, prepared)


def _plan_in(request: JobRequest) -> CompactionPlan | None:
    """The plan that a request brings along; it is for the table that the job claims, or none."""
    if PLAN not in request.arguments:
        return None
    plan = plan_of_document(request.arguments[PLAN])
    if plan.table != request.table:
        raise InputError(
            f"The plan is for table {plan.table}, and the job for table {request.table}.",
            next_step="Submit it for its own table.",
        )
    if overrides_of(request):
        raise InputError("A plan is run as it was made: nothing can be said about its policy.")
    return plan


def plan_compaction(
    services: Services, facts: TableFacts, request: PlanRequest, policy: CompactionPolicy
) -> CompactionPlan:
    """The plan for a table that was surveyed."""
    now = services.clock()
    assessment = assess(facts, policy, now)
    rates = learn_rates(services.store.outcomes(), facts.table)
    return make_plan(
        facts, assessment, policy, request, cost_model=services.cost_model, rates=rates, now=now
    )


def with_undo_window(services: Services, plan: CompactionPlan) -> CompactionPlan:
    """How long a run can be undone is for the deployment to say, and not for a file."""
    told = services.effective(plan.table).compaction.undo_window_seconds
    return replace(plan, undo_window_seconds=max(plan.undo_window_seconds, told))


def compact(
    context: JobContext,
    plan_of: PlanOf,
    prepared: Prepared | None = None,
    where: str | None = None,
) -> Outcome:
    """Plan and run; what writers take meanwhile is planned again at once."""
    services = context.services
    plan, facts = _begin(context, plan_of, prepared, where)
    # The first look is cheap. What an engine that starts takes is not taken off the plan.
    if not plan.is_empty and services.engine.warm_up():
        facts = _survey(services, plan)
        plan = plan if prepared else plan_of(facts)
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return _apply(context, plan, facts, plan_of)
        except PlanStale:
            facts = _survey(services, plan)
            plan = plan_of(facts)
    return _apply(context, plan, facts, plan_of)


def _begin(
    context: JobContext, plan_of: PlanOf, prepared: Prepared | None, where: str | None
) -> tuple[CompactionPlan, TableFacts]:
    """The plan to begin with, and the table as the plan's own filter sees it."""
    if prepared is not None and isinstance(prepared.plan, CompactionPlan):
        plan, facts = prepared.plan, prepared.facts
    else:
        facts = context.services.surveyor.survey(context.table, where=where)
        plan = plan_of(facts)
    # Only the policy may have known of the filter.
    return plan, facts if facts.where == plan.where else _survey(context.services, plan)


def refuse_if_stale(services: Services, plan: CompactionPlan) -> None:
    """Raise for a plan of which writers changed a file: no job is made of it."""
    _refuse_if_stale(recheck(plan, _survey(services, plan)))


def apply_exactly(context: JobContext, plan: CompactionPlan) -> Outcome:
    """Run this plan, or refuse it as a whole where writers changed a file that it names."""
    if plan.steps:
        # What an engine that starts takes is not to lie between the last look and the work.
        context.services.engine.warm_up()
    return _apply(context, plan, _survey(context.services, plan), None)


def _apply(
    context: JobContext, plan: CompactionPlan, before: TableFacts, replan: Replan | None
) -> Outcome:
    """Run the plan as far as the table allows it now.

    With `replan` the groups of files that writers changed are left out, and planned again.
    """
    checked = recheck(plan, before)
    _refuse_if_stale(checked, keeps=replan is not None)
    run = Run(
        context.services,
        checked.plan,
        context.job_id,
        context.held,
        before,
        context.started_at,
        replan,
    )
    run.taken_by_writers.extend(group for group, _ in checked.stale)
    return _execute(run) if run.plan.steps else _nothing(run)


def _survey(services: Services, plan: CompactionPlan) -> TableFacts:
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
    verdict = verify_commits(services, plan.table, ours, known=[run.before, after])
    seen = [run.before.snapshot_id, *(snapshot.snapshot_id for snapshot in ours)]
    if problem := verdict.problem or lost_history(after, seen) or _lost_row_ids(run, after, ours):
        run.held.require()
        reason = f"{problem} {take_back(services, run.job_id, after)}"
        after = services.surveyor.survey(plan.table)
        return _outcome(run, Status.FAILED, reason, after=after, verdict=verdict)
    account_for(run, verdict.changes)
    status, note = _after_failure(run, failure, ours)
    if stopped is not None:
        status, note = Status.CANCELLED, [stopped.message, "What was committed before stays."]
    moved = follow_parent(services, run.held, after, tag)
    told = [_summary(verdict.changes), *run.notes, *note, moved]
    reason = " ".join(part for part in told if part)
    return _outcome(run, status, reason, after=after, verdict=verdict)


def _lost_row_ids(run: Run, after: TableFacts, ours: list[SnapshotFacts]) -> str | None:
    """Iceberg's own action commits what it ordered, also where rows got ids meanwhile."""
    if not any(step.strategy.orders_rows for step in run.plan.steps):
        return None
    if not got_row_ids(run.before, replace(after, snapshot_id=ours[0].parent_id)):
        return None
    return "The table was upgraded meanwhile: rows had been given ids, and have others now."


def _after_failure(
    run: Run, failure: StepFailure | None, ours: list[SnapshotFacts]
) -> tuple[Status, list[str]]:
    """What an error means once something was committed: the snapshot log decides."""
    if failure is None:
        return Status.SUCCEEDED, []
    # An earlier attempt at the same job has counted its steps from zero, too.
    wanted = {STEP_PROPERTY: str(failure.step), EPOCH_PROPERTY: str(run.held.lease.epoch)}
    landed = any(wanted.items() <= dict(snapshot.summary).items() for snapshot in ours)
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
        operation=str(OPERATION),
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
