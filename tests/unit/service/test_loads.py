"""How often a catalog is asked for a table, and how often it is told to change one."""

from __future__ import annotations

import pytest

from neve.documents import to_document
from neve.model.job import JobRequest
from neve.model.maintenance import MaintainRequest
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode, Strategy
from neve.service.maintain import maintain_tables
from neve.service.operations.rewrite_data_files import compact, plan_compaction
from neve.service.run_job import run, run_job, run_work, submit
from neve.testing.facts import MB, TABLE, data_file, partition

SORTED = {"rewrite_data_files.sort_order": "id"}
ROUTES = {
    "tasks": {},
    "staged": {"rewrite_data_files.engine": "spark"},
    "sorted": SORTED,
    "filtered": {"rewrite_data_files.where": "day = 'tue'"},
}


def request_of(said):
    return JobRequest(TABLE, "rewrite_data_files", {"overrides": said} if said else {})


def tags(lake):
    return {ref.name: ref.snapshot_id for ref in lake.facts.refs if ref.kind == "tag"}


def once(act):
    left = [act]
    return lambda: left.pop()() if left else None


@pytest.mark.parametrize("said", ROUTES.values(), ids=ROUTES)
def test_a_compaction_loads_its_table_three_times(services, lake, said):
    assert run(services, request_of(said)).status is Status.SUCCEEDED

    assert lake.loads == 3


@pytest.mark.parametrize("said", ROUTES.values(), ids=ROUTES)
def test_so_does_one_from_the_queue(services, lake, said):
    job = submit(services, request_of(said))
    lake.loads = 0

    outcome = run_job(services, services.store.claim_job(job.job_id, 60))

    assert (outcome.status, lake.loads) == (Status.SUCCEEDED, 3)


def test_so_does_a_plan_that_was_kept(services, lake, plan):
    made = plan()
    lake.loads = 0
    assert services.apply(made).status is Status.SUCCEEDED
    assert lake.loads == 3


def test_so_does_a_plan_in_a_request(services, lake, plan):
    said = {"plan": to_document(plan())}
    lake.loads = 0
    assert run(services, JobRequest(TABLE, "rewrite_data_files", said)).status is Status.SUCCEEDED
    assert lake.loads == 3


def test_a_table_without_work_is_loaded_once(services, lake):
    run(services, request_of({}))
    lake.loads = 0

    (report,) = maintain_tables(services, [TABLE], MaintainRequest())

    assert (report.is_good, lake.loads) == (True, 1)


@pytest.mark.promise(8)
@pytest.mark.parametrize("said", [{}, ROUTES["staged"]], ids=["tasks", "staged"])
def test_the_tag_comes_with_the_commit_and_is_on_what_it_was_made_on(services, lake, said):
    """No commit of metadata alone: also where a writer came right before."""
    lake.before_commit = once(lambda: lake.append(data_file("acked", MB)))

    outcome = run(services, request_of(said))

    (ours,) = (s for s in lake.facts.ancestry() if s.job_id == outcome.job_id)
    assert tags(lake) == {UNDO_TAG_PREFIX + outcome.job_id: ours.parent_id}
    assert ours.parent_id == 2
    assert lake.metadata.changes == []


def test_the_tag_of_a_plan_that_turns_out_stale_is_taken_back(services, lake, plan):
    made = plan(strategy=Strategy.SORT, sort_columns=("id",))
    lake.metadata.before_commit = once(lambda: lake.remove(made.groups[0].files[0].path))

    with pytest.raises(Exception, match="has moved on since the plan was made"):
        services.apply(made)

    assert (tags(lake), lake.facts.snapshot_id) == ({}, 2)


def test_rows_that_are_to_be_ordered_later_on_have_their_tag_before(services, lake):
    """A policy may change while writers have their files planned again."""
    policy = CompactionPolicy()
    asked = iter([RewriteDataFilesArguments(engine=RewriteMode.SPARK)])
    ordered = RewriteDataFilesArguments(Strategy.SORT, ("id",))
    seen = []

    def plan_of(facts):
        return plan_compaction(services, facts, next(asked, ordered), policy)

    rewrite = lake.rewrite

    def rewriting(*arguments):
        seen.append(tags(lake))
        rewrite(*arguments)

    lake.rewrite = rewriting
    lake.before_stage = once(lambda: lake.remove(lake.facts.data_files[0].path))

    outcome = run_work(services, request_of({}), lambda context: compact(context, plan_of))

    assert outcome.status is Status.SUCCEEDED
    assert seen == [tags(lake)]
    assert list(tags(lake)) == [UNDO_TAG_PREFIX + outcome.job_id]


def test_a_budget_of_the_policy_limits_the_plan(services, lake):
    said = {"budget.max_cost_usd": 0}

    outcome = run(services, request_of(said))

    assert (outcome.status, lake.facts.snapshot_id) == (Status.NOTHING_TO_DO, 1)
    assert "budget" in outcome.reason


def test_a_step_in_parts_looks_again_before_each_further_part(services, lake, monkeypatch):
    monkeypatch.setattr("neve.service.rounds.MIN_PART_BYTES", 1)
    lake.append(*(data_file(f"wed-{i}", MB, partition=partition("wed")) for i in range(3)))
    lake.loads = 0

    outcome = run(services, request_of(ROUTES["staged"]))

    parts = [s for s in lake.facts.ancestry() if s.job_id == outcome.job_id]
    assert len(parts) > 1
    assert lake.loads == 2 + len(parts)
    assert len(tags(lake)) == 1
    assert tags(lake)[UNDO_TAG_PREFIX + outcome.job_id] == parts[-1].parent_id
