"""A worker is `claim_next` and `run_job`: whatever was submitted is run from the job alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from neve.documents import to_document
from neve.model.errors import CommitUnknown, InputError, JobRefused, NeveError, PlanStale
from neve.model.facts import JOB_ID_PROPERTY, RefFacts
from neve.model.job import JobRequest, JobState, Trigger
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.operation import Operation
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode, ScoreWeights, Strategy
from neve.model.table import TableRef
from neve.service.operations.registry import HANDLERS, handler_for
from neve.service.operations.rewrite_data_files import PLAN
from neve.service.operations.rewrite_manifests import RewriteManifestsOperation
from neve.service.plan_file import plan_of_document
from neve.service.run_job import run, run_job, submit
from neve.testing.facts import MB, NOW, TABLE, data_file


def work(services):
    lease = services.store.claim_next(services.lease_seconds)
    return run_job(services, lease) if lease else None


def test_a_submitted_compaction_waits_is_claimed_and_ends(services, store, lake):
    job = submit(services, JobRequest(TABLE, "rewrite_data_files", requested_by="ann"))
    assert (job.state, job.requested_by) == (JobState.QUEUED, "ann")
    files = len(lake.facts.data_files)

    outcome = work(services)

    assert (outcome.job_id, outcome.status) == (job.job_id, Status.SUCCEEDED)
    assert store.job(job.job_id).state is JobState.SUCCEEDED
    assert len(lake.facts.data_files) < files
    assert work(services) is None


def test_what_the_caller_said_about_the_policy_reaches_the_worker(services, lake):
    overrides = {"rewrite_data_files.options.min-input-files": 100}
    submit(services, JobRequest(TABLE, "rewrite_data_files", {"overrides": overrides}))

    assert work(services).status is Status.NOTHING_TO_DO


def test_a_plan_travels_with_its_job_and_is_run_exactly(services, lake, plan):
    made = plan()
    request = JobRequest(TABLE, "rewrite_data_files", {PLAN: to_document(made)})
    submit(services, request)
    assert work(services).status is Status.SUCCEEDED
    # Its files are gone now.
    with pytest.raises(PlanStale):
        submit(services, request)


# The lake in memory lists no files; sweeps have a lake of their own.
@pytest.mark.parametrize("operation", sorted(HANDLERS.keys() - {Operation.REMOVE_ORPHAN_FILES}))
def test_every_operation_can_be_run_from_its_job_alone(services, store, lake, operation):
    lake.append(data_file("late", MB))
    arguments = {"snapshot_id": lake.facts.snapshots[0].snapshot_id}
    request = JobRequest(TABLE, operation, arguments if operation == "rollback" else {})
    job = submit(services, request)
    outcome = work(services)

    assert outcome.operation == operation
    assert outcome.status.is_good
    assert store.job(job.job_id).state.is_final


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("drop_table", {}),
        ("rewrite_data_files", {"engine": "flink"}),
        ("rollback", {}),
        ("rollback", {"snapshot_id": 1, "job_id": "x"}),
        ("rollback", {"time": "yesterday"}),
        ("rewrite_data_files", {PLAN: {"steps": 3}}),
        ("rewrite_data_files", {"overrides": {"rewrite_data_files.wher": "x"}}),
        ("remove_orphan_files", {"restore": [], "purge": True}),
    ],
)
def test_what_could_never_be_run_makes_no_job(services, store, operation, arguments):
    with pytest.raises(NeveError):
        submit(services, JobRequest(TABLE, operation, arguments))

    assert store.jobs() == []


def test_a_rollback_to_a_moment_travels_as_text(services, store, lake):
    lake.append(data_file("late", MB))
    first = lake.facts.snapshots[0]
    moment = (first.committed_at + timedelta(seconds=1)).isoformat()
    submit(services, JobRequest(TABLE, "rollback", {"time": moment}, trigger=Trigger.API))

    assert work(services).snapshot_after == first.snapshot_id


OTHER = TableRef("lake", ("db",), "other")


def test_a_plan_for_another_table_makes_no_job(services, store, plan):
    request = JobRequest(OTHER, "rewrite_data_files", {PLAN: to_document(plan())})
    with pytest.raises(InputError, match="The plan is for table"):
        submit(services, request)
    assert store.jobs() == []


def test_a_plan_for_another_table_than_the_claimed_one_is_not_run(services, store, lake, plan):
    files, refs = lake.facts.data_files, lake.facts.refs
    store.submit("odd", JobRequest(OTHER, "rewrite_data_files", {PLAN: to_document(plan())}))
    with pytest.raises(InputError):
        work(services)
    assert (lake.facts.data_files, lake.facts.refs) == (files, refs)
    assert store.job("odd").state is JobState.FAILED


def test_a_plan_leaves_no_room_for_overrides(services, store, plan):
    arguments = {PLAN: to_document(plan()), "overrides": {"compaction.undo_window": "1d"}}
    with pytest.raises(InputError):
        submit(services, JobRequest(TABLE, "rewrite_data_files", arguments))
    assert store.jobs() == []


ODD = [
    ("rewrite_data_files", {"overrides": ["rewrite_data_files.where", "day = 'mon'"]}),
    ("rewrite_data_files", {"overrides": "where: day = 'mon'"}),
    ("rewrite_data_files", {"where": "day = 'mon'"}),
    ("rewrite_data_files", {"plan_id": "0" * 32}),
    ("rewrite_data_files", {"plan": None}),
    ("expire_snapshots", {"dry_run": True}),
    ("expire_snapshots", {"overrides": 3}),
    ("remove_orphan_files", {"purge": "false"}),
    ("remove_orphan_files", {"purge": 1}),
    ("remove_orphan_files", {"quarantine": "no"}),
    ("remove_orphan_files", {"quarantine": None}),
    ("remove_orphan_files", {"restore": None}),
    ("remove_orphan_files", {"restore": "data/a.parquet"}),
    ("remove_orphan_files", {"restore": [3]}),
    ("remove_orphan_files", {"restore": [], "quarantine": True}),
    ("remove_orphan_files", {"dry_run": True}),
    ("remove_orphan_files", {"Purge": False}),
    ("rollback", {"time": "2026-01-02T03:04:05"}),
    ("rollback", {"time": "2026-01-02"}),
    ("rollback", {"snapshot_id": 1, "dry_run": True}),
    ("rollback", {"snapshot_id": [1]}),
]


@pytest.mark.parametrize(("operation", "arguments"), ODD)
def test_arguments_that_cannot_be_meant_make_no_job(services, store, operation, arguments):
    with pytest.raises(InputError):
        submit(services, JobRequest(TABLE, operation, arguments))
    assert store.jobs() == []


@pytest.mark.parametrize(("operation", "arguments"), ODD)
def test_a_job_with_such_arguments_ends_without_a_change(
    services, store, lake, operation, arguments
):
    """As another version or another program may have queued it."""
    before = lake.facts
    store.submit("odd", JobRequest(TABLE, operation, arguments))
    with pytest.raises(InputError):
        work(services)
    assert lake.facts == before
    assert store.job("odd").state is JobState.FAILED


def test_a_job_of_an_unknown_operation_ends_and_gives_its_table_back(services, store):
    store.submit("odd", JobRequest(TABLE, "zorder_later"))
    with pytest.raises(InputError):
        work(services)
    assert store.job("odd").state is JobState.FAILED
    submit(services, JobRequest(TABLE, "rewrite_data_files"))
    assert work(services).status is Status.SUCCEEDED


@pytest.mark.parametrize("key", [1, None, True])
def test_keys_of_a_policy_are_text(services, store, key):
    with pytest.raises(InputError):
        submit(services, JobRequest(TABLE, "rewrite_data_files", {"overrides": {key: "1d"}}))
    assert store.jobs() == []


@pytest.mark.parametrize("value", [object(), timedelta(days=1), float("nan"), {1, 2}])
def test_arguments_that_json_cannot_hold_are_refused_in_words(services, store, value):
    request = JobRequest(TABLE, "rewrite_data_files", {"overrides": {"budget.max_cost": value}})
    with pytest.raises(InputError):
        submit(services, request)
    assert store.jobs() == []


class Killed(BaseException):
    """The worker's process ends."""


def killed(services, lake, moment):
    """A worker that is killed at this moment of its job; returns the job."""

    def die():
        raise Killed

    setattr(lake, moment, die)
    with pytest.raises(Killed):
        work(services)
    setattr(lake, moment, lambda: None)
    return services.store.jobs()[0]


def tag_of(lake, job):
    return next(ref for ref in lake.facts.refs if ref.name == UNDO_TAG_PREFIX + job.job_id)


@pytest.mark.parametrize("writer_comes", [False, True])
def test_a_job_that_was_killed_after_its_tag_can_be_run_again(services, store, lake, writer_comes):
    submit(services, JobRequest(TABLE, "rewrite_data_files"))
    job = killed(services, lake, "before_commit")
    if writer_comes:
        lake.append(data_file("later", MB))
    head = lake.facts.snapshot_id

    assert store.requeue(job, "The worker is gone.")
    outcome = work(services)

    assert (outcome.job_id, outcome.status) == (job.job_id, Status.SUCCEEDED)
    assert tag_of(lake, job).snapshot_id == head


def test_a_second_attempt_keeps_the_state_before_the_first_commit(services, store, lake):
    submit(services, JobRequest(TABLE, "rewrite_data_files"))
    first = lake.facts.snapshot_id
    job = killed(services, lake, "after_commit")
    for number in range(3):
        lake.append(data_file(f"later-{number}", MB))

    assert store.requeue(job, "The worker is gone.")
    assert work(services).status is Status.SUCCEEDED

    assert tag_of(lake, job).snapshot_id == first


def test_a_branch_that_is_called_like_the_tag_is_not_taken_over(services, store, lake):
    submit(services, JobRequest(TABLE, "rewrite_data_files"))
    job = killed(services, lake, "before_commit")
    lake.append(data_file("later", MB))
    made = RefFacts(UNDO_TAG_PREFIX + job.job_id, lake.facts.snapshot_id, "branch")
    lake.facts = replace(lake.facts, refs=(*lake.facts.refs, made))
    head = lake.facts.snapshot_id

    assert store.requeue(job, "The worker is gone.")
    outcome = work(services)

    assert (outcome.status, lake.facts.snapshot_id) == (Status.FAILED, head)
    assert "is a branch" in outcome.reason
    assert tag_of(lake, job) == made


def test_two_attempts_at_a_job_never_write_under_the_same_name(services, store, lake):
    names: list[set[str]] = []
    run_tasks = lake.run_tasks

    def noting(table, tasks, *rest):
        names.append({name for task in tasks for own in task.outputs for name in own})
        return run_tasks(table, tasks, *rest)

    lake.run_tasks = noting
    submit(services, JobRequest(TABLE, "rewrite_data_files"))
    job = killed(services, lake, "before_commit")
    store.requeue(job, "The worker is gone.")
    assert work(services).status is Status.SUCCEEDED

    first, second = names
    assert len(first) > 0
    assert first.isdisjoint(second)


def test_what_an_earlier_attempt_committed_is_not_taken_for_a_lost_answer(services, store, lake):
    submit(services, JobRequest(TABLE, "rewrite_data_files"))
    job = killed(services, lake, "after_commit")
    for number in range(3):
        lake.append(data_file(f"later-{number}", MB))
    store.requeue(job, "The worker is gone.")

    def lose():
        raise CommitUnknown("The answer was lost.")

    lake.before_commit = lose

    assert work(services).status is Status.UNKNOWN


def test_an_action_has_landed_where_this_attempt_committed(services, lake):
    operation, own = RewriteManifestsOperation(), {JOB_ID_PROPERTY: "j1"}
    lake.commit("replace", own)
    plan = operation.plan(services, lake.facts)
    assert not operation.has_landed(plan, "j1", lake.facts)
    lake.append(data_file("later", MB))
    assert not operation.has_landed(plan, "j1", lake.facts)
    lake.commit("replace", own)
    assert operation.has_landed(plan, "j1", lake.facts)


@pytest.mark.promise(8)
@pytest.mark.parametrize("by", ["snapshot_id", "time", "job_id"])
def test_a_rollback_that_waited_does_not_take_along_what_came_since(services, store, lake, by):
    lake.append(data_file("bad", MB))
    if by == "job_id":
        target = run(services, JobRequest(TABLE, "rollback", {"snapshot_id": 1})).job_id
    else:
        target = 1 if by == "snapshot_id" else (NOW - timedelta(seconds=1)).isoformat()
    job = submit(services, JobRequest(TABLE, "rollback", {by: target}))
    seen = lake.facts.snapshot_id
    lake.append(data_file("acked", MB))
    refs, head = lake.facts.refs, lake.facts.snapshot_id

    with pytest.raises(JobRefused, match=f"is at snapshot {head}, and was at {seen} when"):
        work(services)

    assert (lake.facts.snapshot_id, lake.facts.refs) == (head, refs)
    assert store.job(job.job_id).arguments["expected_head"] == seen
    assert store.job(job.job_id).state is JobState.FAILED


@pytest.mark.promise(8)
def test_a_caller_may_say_which_head_he_saw(services, store, lake):
    lake.append(data_file("bad", MB))
    seen = {"snapshot_id": 1, "expected_head": 1}
    for ask in (run, submit):
        with pytest.raises(JobRefused, match="was at 1 when"):
            ask(services, JobRequest(TABLE, "rollback", seen))
    assert store.jobs() == []

    outcome = run(services, JobRequest(TABLE, "rollback", seen | {"expected_head": "2"}))
    assert outcome.snapshot_after == 1


@pytest.mark.parametrize(
    ("operation", "key", "value"),
    [
        ("rewrite_position_delete_files", "options.min-input-files", 1),
        ("rewrite_manifests", "use_caching", "perhaps"),
        ("compute_table_stats", "columns", ["no_such_column"]),
        ("expire_snapshots", "older_than", "soon"),
        ("expire_snapshots", "retain_last", 0),
        ("remove_orphan_files", "older_than", "1s"),
        ("remove_orphan_files", "purge_delay", "1s"),
    ],
)
def test_what_is_said_about_a_policy_is_tried_before_there_is_a_job(
    services, store, operation, key, value
):
    request = JobRequest(TABLE, operation, {"overrides": {f"{operation}.{key}": value}})
    for ask in (submit, run):
        with pytest.raises(NeveError):
            ask(services, request)

    assert store.jobs() == []


def test_values_that_do_not_go_together_make_no_job(services, store):
    said = {"window.start": "22:00"}
    for operation in HANDLERS.keys() - {"rollback"}:
        with pytest.raises(NeveError, match="window"):
            submit(services, JobRequest(TABLE, operation, {"overrides": said}))
    assert store.jobs() == []


def test_a_policy_has_no_say_in_what_trino_runs(services, store):
    said = {"overrides": {"expire_snapshots.retain_last": 5}, "engine": "trino"}
    with pytest.raises(InputError, match="procedures of its own"):
        submit(services, JobRequest(TABLE, "expire_snapshots", said))
    assert store.jobs() == []


@pytest.mark.promise(40)
def test_a_compaction_by_values_can_be_run_again_from_its_job(services, store, lake):
    asked = RewriteDataFilesArguments(Strategy.SMALL_FILES, (), "day = 'tue'", RewriteMode.SPARK)
    policy = CompactionPolicy(target_file_size_bytes=77 * MB, undo_window_seconds=61)
    done = services.compact(TABLE, asked, policy=policy, max_cost_usd=3.5)
    request = store.job(done.job_id).request

    handler_for(request)
    again = services.policies.effective(lake.facts, request.arguments["overrides"])
    assert (again.compaction, again.rewrite_data_files) == (policy, asked)
    assert again.budget.max_cost_usd == 3.5


@pytest.mark.parametrize("changes", [{"undo_window_seconds": 0}, {"weights": ScoreWeights(time=1)}])
def test_a_compaction_that_no_policy_can_ask_for_makes_no_job(services, store, changes):
    with pytest.raises(InputError):
        services.compact(TABLE, RewriteDataFilesArguments(), policy=CompactionPolicy(**changes))
    assert store.jobs() == []


@pytest.mark.promise(40)
def test_a_plan_that_was_applied_can_be_run_again_from_its_job(services, store, plan):
    made = plan()
    done = services.apply(made)
    request = store.job(done.job_id).request

    assert plan_of_document(request.arguments[PLAN]).plan_id == made.plan_id
    with pytest.raises(PlanStale):
        handler_for(request).prepare(services, request)
