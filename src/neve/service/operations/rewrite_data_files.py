"""Compaction: plan, tag, rewrite group by group, read back, prove, take back what fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from neve.model.errors import (
    CommitConflict,
    CommitUnknown,
    EngineDied,
    ExecutionError,
    InputError,
    JobCancelled,
    NeveError,
    PlanStale,
)
from neve.model.expiry import TagToSet
from neve.model.facts import EPOCH_PROPERTY, STEP_PROPERTY, SnapshotFacts, TableFacts
from neve.model.job import JobRequest, JobState
from neve.model.operation import Operation
from neve.model.outcome import Outcome, Status
from neve.model.plan import CompactionPlan, NothingToDo
from neve.model.policies import EffectivePolicy, RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Engine, Verify, stricter
from neve.planning.health import assess
from neve.planning.left_alone import without_left_alone
from neve.planning.metadata_changes import who_came_between
from neve.planning.planner import make_plan
from neve.planning.rates import learn_rates
from neve.planning.recheck import Rechecked, recheck
from neve.planning.refusals import refusal_to_read_back
from neve.planning.staleness import got_row_ids
from neve.service.ancestry import lost_history, with_history
from neve.service.compaction_outcome import outcome_of, summary_of
from neve.service.context import JobContext, Prepared, overrides_of
from neve.service.plan_file import plan_of_document
from neve.service.rounds import Replan, Run, StepFailure, account_for, run_rounds
from neve.service.services import Services
from neve.service.undo import (
    drop_undo_tag,
    follow_parent,
    keep_for_undo,
    state_before_in_nessie,
    tag_of,
    take_back,
    undo_tag,
)
from neve.service.verify import snapshots_of, verify_commits

OPERATION = Operation.REWRITE_DATA_FILES
#: A plan among the arguments of a request: exactly this one is run, or refused.
PLAN = "plan"
#: Beside a plan that nobody looked at: files that others took meanwhile are left out of it.
MAY_SHRINK = "may_shrink"
#: Times that a compaction is planned in all, where writers take every file of it.
MAX_ATTEMPTS = 3
#: Plans the table as it was surveyed.
PlanOf = Callable[[TableFacts], CompactionPlan]


@dataclass(frozen=True, slots=True)
class CompactionHandler:
    """Rewrites data files: by the policy, or by a plan that was made before."""

    operation: ClassVar[Operation] = OPERATION
    name: ClassVar[str] = str(OPERATION)
    arguments: ClassVar[tuple[str, ...]] = (PLAN, MAY_SHRINK)

    def prepare(self, services: Services, request: JobRequest) -> Prepared | None:
        if (planned := _plan_in(request)) is not None:
            return Prepared(planned, refuse_if_stale(services, planned))
        facts = services.surveyor.survey(request.table)
        policy = services.policies.effective(facts, overrides_of(request))
        return Prepared(self.plan(services, facts, policy), facts)

    def plan(
        self, services: Services, facts: TableFacts, policy: EffectivePolicy
    ) -> CompactionPlan:
        where = policy.rewrite_data_files.where
        if facts.where != where:
            facts = services.surveyor.survey(
                facts.table, where=where, snapshot_id=facts.snapshot_id
            )
        return plan_compaction(
            services,
            facts,
            policy.rewrite_data_files,
            policy.compaction,
            policy.budget.max_cost_usd,
        )

    def run(self, context: JobContext, prepared: Prepared | None = None) -> Outcome:
        services = context.services
        if (planned := _plan_in(context.request)) is not None:
            seen = prepared.facts if prepared else None
            may_shrink = context.request.arguments.get(MAY_SHRINK) is True
            return apply_exactly(context, planned, seen, may_shrink=may_shrink)

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
    services: Services,
    facts: TableFacts,
    arguments: RewriteDataFilesArguments,
    policy: CompactionPolicy,
    max_cost_usd: float | None = None,
) -> CompactionPlan:
    """The plan for a table that was surveyed."""
    now = services.clock()
    outcomes = services.store.outcomes()
    rates = learn_rates(outcomes, facts.table)
    facts, reasons = without_left_alone(facts, outcomes, arguments, policy.min_row_group_bytes)
    assessment = assess(facts, policy, now)
    plan = make_plan(
        facts,
        assessment,
        policy,
        arguments,
        max_cost_usd=max_cost_usd,
        cost_model=services.cost_model,
        rates=rates,
        now=now,
    )
    _refuse_unprovable(facts, plan)
    if not reasons:
        return plan
    others = [r for r in plan.reasons if r.code is not NothingToDo.FILTER_MATCHES_NOTHING]
    # Where nothing else is to be done, it is the reason for that.
    told = (*reasons, *others) if plan.is_empty else (*others, *reasons)
    return replace(plan, reasons=told)


def _refuse_unprovable(facts: TableFacts, plan: CompactionPlan) -> None:
    """Raise where more is asked for than can be proven of what Iceberg writes."""
    if plan.verify is not Verify.FULL or all(g.engine is not Engine.SPARK for g in plan.groups):
        return
    if why := refusal_to_read_back(facts):
        raise InputError(
            f"What is rewritten of table {facts.table} cannot be verified in full: {why}.",
            next_step="Leave --verify out, or say --verify metadata.",
        )


def compact(
    context: JobContext,
    plan_of: PlanOf,
    prepared: Prepared | None = None,
    where: str | None = None,
) -> Outcome:
    """Plan and run; what writers take meanwhile is planned again at once."""
    services = context.services
    plan, facts = _begin(context, plan_of, prepared, where)
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
    if facts.where != plan.where:
        # Only the policy may have known of the filter.
        facts = _survey(context.services, plan, facts.snapshot_id)
    return plan, facts


def refuse_if_stale(services: Services, plan: CompactionPlan) -> TableFacts:
    """Raise for a plan of which writers changed a file: no job is made of it."""
    facts = _survey(services, plan)
    _refuse_if_stale(recheck(plan, facts))
    return facts


def apply_exactly(
    context: JobContext,
    plan: CompactionPlan,
    seen: TableFacts | None = None,
    *,
    may_shrink: bool = False,
) -> Outcome:
    """Run this plan, or refuse it as a whole where writers changed a file that it names.

    One that may shrink is run as far as it still holds, and may be overtaken as a whole.
    """
    facts = seen or _survey(context.services, plan)
    plan = with_undo_window(context.services, plan, facts)
    return _apply(context, plan, facts, None, may_shrink=may_shrink)


def with_undo_window(services: Services, plan: CompactionPlan, facts: TableFacts) -> CompactionPlan:
    """How long a run can be undone is for the deployment to say, and not for a file.

    So is what is verified, where a policy says it: a plan may ask for more, and not for less.
    """
    told = services.policies.effective(facts)
    window = max(plan.undo_window_seconds, told.compaction.undo_window_seconds)
    verify = stricter(plan.verify, told.rewrite_data_files.verify)
    return replace(plan, undo_window_seconds=window, verify=verify)


def _apply(
    context: JobContext,
    plan: CompactionPlan,
    facts: TableFacts,
    replan: Replan | None,
    *,
    may_shrink: bool = False,
) -> Outcome:
    """Run the plan as far as the table allows it now.

    With `replan` the groups of files that writers changed are left out, and planned again.
    """
    keeps = may_shrink or replan is not None
    checked = recheck(plan, facts)
    if may_shrink and checked.stale and not checked.plan.steps:
        return _overtaken(_run(context, checked, facts, replan))
    _refuse_if_stale(checked, keeps=keeps)
    if not checked.plan.steps:
        return _nothing(_run(context, checked, facts, replan))
    # What an engine that starts takes is not to lie between the last look and the work.
    context.services.engine.warm_up()
    before, tag = _look_again(context, checked.plan, facts)
    try:
        checked = recheck(plan, before)
        _refuse_if_stale(checked, keeps=keeps)
    except NeveError:
        if tag is not None:
            drop_undo_tag(context.services, before, tag)
        raise
    run = _run(context, checked, before, replan)
    if tag is None and not state_before_in_nessie(before):
        run = replace(run, undo=undo_tag(run.services, run.job_id, plan.undo_window_seconds))
    return _execute(run)


def _run(context: JobContext, checked: Rechecked, before: TableFacts, replan: Replan | None) -> Run:
    return Run(
        context.services,
        checked.plan,
        context.job_id,
        context.held,
        before,
        context.started_at,
        replan,
        taken_by_writers=[group for group, _ in checked.stale],
    )


def _look_again(
    context: JobContext, plan: CompactionPlan, facts: TableFacts
) -> tuple[TableFacts, TagToSet | None]:
    """The table right before the work, with the tag where that has to be there by then."""
    services = context.services
    if state_before_in_nessie(facts) or not any(s.strategy.orders_rows for s in plan.steps):
        return _survey(services, plan), None
    context.held.enter(JobState.REWRITING)
    try:
        # Iceberg's action commits by itself, without a tag.
        tag, now = keep_for_undo(services, facts, context.job_id, plan.undo_window_seconds)
    except CommitConflict as conflict:
        # Somebody undid that state meanwhile.
        raise PlanStale(
            conflict.message, next_step=f"Plan again: neve plan {plan.table.typed}"
        ) from conflict
    return _survey(services, plan, now.snapshot_id), tag


def _survey(services: Services, plan: CompactionPlan, snapshot_id: int | None = None) -> TableFacts:
    return services.surveyor.survey(plan.table, where=plan.where, snapshot_id=snapshot_id)


def _nothing(run: Run) -> Outcome:
    return outcome_of(run, Status.NOTHING_TO_DO, run.plan.reason)


def _overtaken(run: Run) -> Outcome:
    reason = "Others compacted or changed all files of the plan since it was made."
    return outcome_of(run, Status.NOTHING_TO_DO, reason)


def _refuse_if_stale(checked: Rechecked, *, keeps: bool = False) -> None:
    """Some stale groups are no reason to refuse where the others may be kept."""
    if not checked.stale or (keeps and checked.plan.steps):
        return
    _, change = checked.stale[0]
    raise PlanStale(
        f"Table {checked.plan.table} has moved on since the plan was made: {change}.",
        next_step=f"Plan again: neve plan {checked.plan.table.typed}",
    )


def _execute(run: Run) -> Outcome:
    services, plan = run.services, run.plan
    run.held.enter(JobState.REWRITING)
    # Whoever follows it learns how much there is to do before anything is done.
    account_for(run, ())
    failure, stopped = None, None
    try:
        failure = run_rounds(run)
    except JobCancelled as stop:
        # What was committed before stays, and is proven like everything else.
        stopped = stop
    run.held.enter(JobState.VERIFYING)
    after = with_history(run.before, services.surveyor.survey(plan.table))
    ours = snapshots_of(run.job_id, after)
    if not ours:
        return _without_commit(run, after, failure, stopped)
    verdict = verify_commits(
        services,
        plan.table,
        ours,
        known=[run.before, after],
        reads_values=plan.verify is Verify.FULL,
    )
    seen = [run.before.snapshot_id, *(snapshot.snapshot_id for snapshot in ours)]
    if problem := verdict.problem or lost_history(after, seen) or _lost_row_ids(run, after, ours):
        run.held.require()
        reason = f"{problem} {take_back(services, run.job_id, after)}"
        after = services.surveyor.survey(plan.table)
        return outcome_of(run, Status.FAILED, reason, after=after, verdict=verdict)
    account_for(run, verdict.changes)
    status, note = _after_failure(run, failure, ours)
    if stopped is not None:
        status, note = Status.CANCELLED, [stopped.message, "What was committed before stays."]
    moved = follow_parent(services, run.held, after)
    kept = state_before_in_nessie(run.before)
    told = [summary_of(verdict.changes), *run.notes, *note, moved, kept]
    reason = " ".join(part for part in told if part)
    return outcome_of(run, status, reason, after=after, verdict=verdict)


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
    failure: StepFailure | None,
    stopped: JobCancelled | None,
) -> Outcome:
    if failure is not None and isinstance(failure.error, CommitUnknown):
        # It may still land: nothing is cleaned, and the next run settles it by reading.
        return outcome_of(run, Status.UNKNOWN, failure.error.message, after=after)
    if failure is not None and isinstance(failure.error, EngineDied):
        # A process that is gone commits nothing more. Its tag ends by itself.
        return outcome_of(run, Status.FAILED, failure.error.message, after=after)
    try:
        if tag := tag_of(run.job_id, after):
            drop_undo_tag(run.services, after, tag)
    except ExecutionError as error:
        # A tag too many does no harm, and it ends by itself.
        run.notes.append(error.message)
    if stopped is not None:
        reason = " ".join([stopped.message, "Nothing was changed.", *run.notes])
        return outcome_of(run, Status.CANCELLED, reason, after=after)
    if failure is not None:
        reason = " ".join([failure.error.message, *run.notes])
        return outcome_of(run, Status.FAILED, reason, after=after)
    if run.conflicts:
        taken = [group.partition for group in run.taken_by_writers]
        who = who_came_between(run.before, after, taken)
        reason = " ".join(part for part in (*run.refusals[-1:], who, *run.notes) if part)
        return outcome_of(run, Status.FAILED, reason, after=after)
    if run.left_alone:
        return outcome_of(run, Status.NOTHING_TO_DO, " ".join(run.notes), after=after)
    reason = " ".join(["The engine found nothing to rewrite.", *run.notes])
    return outcome_of(run, Status.NOTHING_TO_DO, reason, after=after)
