from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.errors import CommitConflict, CommitUnknown, EngineDied, LeaseLost
from neve.model.facts import (
    OPERATION_PROPERTY,
    DeleteKind,
    ManifestContent,
    ManifestFacts,
    RefFacts,
)
from neve.model.job import JobState
from neve.model.operation import Operation
from neve.model.outcome import Status
from neve.model.policies import PolicyBook, PolicyRule
from neve.planning.operations.rewrite_manifests import ManifestThresholds
from neve.policy.resolve import resolve
from neve.service.operations.compute_partition_stats import ComputePartitionStatsOperation
from neve.service.operations.compute_table_stats import ComputeTableStatsOperation
from neve.service.operations.registry import PLANNED
from neve.service.operations.remove_dangling_deletes import RemoveDanglingDeletesOperation
from neve.service.operations.rewrite_manifests import RewriteManifestsOperation
from neve.service.operations.rewrite_position_delete_files import (
    RewritePositionDeleteFilesOperation,
)
from neve.service.operations.rollback import RollbackTarget
from neve.testing.facts import MB, TABLE, data_file, delete_file, partition, table_facts
from neve.testing.lake import MemoryLake
from neve.testing.operations import plan_operation, roll_back, run_operation

pytestmark = pytest.mark.promise(10)

DAY = 86400
OPERATIONS = [
    RewriteManifestsOperation(
        thresholds=ManifestThresholds(min_manifests=3), undo_window_seconds=DAY
    ),
    RewritePositionDeleteFilesOperation(undo_window_seconds=DAY),
    RemoveDanglingDeletesOperation(undo_window_seconds=DAY),
    ComputeTableStatsOperation(),
    ComputePartitionStatsOperation(),
]
MANIFESTS, POSITIONS, DANGLING, STATS, _ = OPERATIONS
COMMITTING = [MANIFESTS, POSITIONS, DANGLING]
by_name = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda item: str(item.operation))
by_committing = pytest.mark.parametrize(
    "operation", COMMITTING, ids=lambda item: str(item.operation)
)


def position(name, path, records):
    return delete_file(
        name, DeleteKind.POSITION, referenced_path=f"file:///lake/{path}", record_count=records
    )


@pytest.fixture
def lake():
    """Four manifests, three deletes of one data file, and one of a file that is gone."""
    files = [data_file("mon", MB), data_file("tue", MB, partition=partition("tue"))]
    deletes = [position(f"d{i}", "mon", i + 1) for i in range(3)] + [position("d3", "gone", 4)]
    manifests = tuple(ManifestFacts(f"m{i}", ManifestContent.DATA, 0, 1000, 1, 1) for i in range(4))
    return MemoryLake(table_facts(files, deletes, manifests=manifests))


SENTENCES = {
    Operation.REWRITE_MANIFESTS: "4 manifests became 1.",
    Operation.REWRITE_POSITION_DELETE_FILES: "4 position delete files became 2.",
    Operation.REMOVE_DANGLING_DELETES: "1 delete file that applied to no data file was dropped.",
    Operation.COMPUTE_TABLE_STATS: "Distinct values were counted in id, day.",
    Operation.COMPUTE_PARTITION_STATS: "The partitions of snapshot 1 were counted.",
}


@by_name
def test_it_runs_once_and_then_finds_nothing(services, lake, operation):
    files = lake.facts.data_files

    outcome = run_operation(services, TABLE, operation)
    settled = lake.facts
    again = run_operation(services, TABLE, operation)

    assert (outcome.status, outcome.reason) == (
        Status.SUCCEEDED,
        SENTENCES[operation.operation],
    )
    assert outcome.figures_before != outcome.figures_after
    assert lake.facts.data_files == files
    assert again.status is Status.NOTHING_TO_DO
    assert again.reason == plan_operation(services, TABLE, operation).reason
    assert lake.facts == settled
    assert lake.log == [outcome, again]


@by_name
def test_a_dry_run_changes_nothing(services, lake, operation):
    before = lake.facts

    plan = plan_operation(services, TABLE, operation)

    assert not plan.is_empty
    assert lake.facts == before


@by_committing
def test_a_job_can_be_undone_for_the_undo_window(services, lake, operation):
    before = lake.facts

    outcome = run_operation(services, TABLE, operation)

    age = 11 * 3600
    tag = RefFacts(f"neve-undo-{outcome.job_id}", 1, "tag", (age + DAY) * 1000)
    assert tag in lake.facts.refs
    assert lake.facts.snapshots[-1].summary[OPERATION_PROPERTY] == operation.operation
    roll_back(services, TABLE, RollbackTarget(job_id=outcome.job_id), undo_window_seconds=DAY)
    assert lake.facts.snapshot_id == 1
    assert (lake.facts.manifests, lake.facts.delete_files) == (
        before.manifests,
        before.delete_files,
    )


def test_statistics_leave_no_tag(services, lake):
    run_operation(services, TABLE, STATS)

    assert [ref.name for ref in lake.facts.refs] == ["main"]
    assert lake.facts.snapshot_id == 1


def spoil(lake, change):
    """Let the engine commit something else than it should."""
    commit = lake.commit

    def spoiled(operation, summary):
        lake.facts = change(lake.facts)
        commit(operation, summary)

    lake.commit = spoiled


def lose_deletes(facts):
    return replace(facts, delete_files=())


def lose_a_data_file(facts):
    return replace(facts, data_files=facts.data_files[1:])


def add_a_data_file(facts):
    return replace(facts, data_files=(*facts.data_files, data_file("more", MB)))


@by_committing
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lose_a_data_file, "The data file file:///lake/mon is gone or listed otherwise."),
        (add_a_data_file, "The data file file:///lake/more was not there before."),
        (lose_deletes, ""),
    ],
)
def test_what_changes_rows_is_rolled_back(services, lake, operation, change, problem):
    before = lake.facts
    spoil(lake, change)

    outcome = run_operation(services, TABLE, operation)

    assert outcome.status is Status.FAILED
    assert outcome.reason.startswith(problem)
    assert outcome.reason.endswith("The table was rolled back to snapshot 1.")
    assert lake.facts.snapshot_id == 1
    assert lake.facts.delete_files == before.delete_files


def test_a_lost_delete_is_told_by_the_rows_that_came_back(services, lake):
    spoil(lake, lose_deletes)

    outcome = run_operation(services, TABLE, DANGLING)

    assert outcome.reason.startswith("Data file file:///lake/mon had 94 live rows and now has 100.")


@by_committing
def test_writers_may_commit_meanwhile(services, lake, operation):
    lake.before_commit = lambda: lake.append(data_file("new", MB))
    lake.after_commit = lambda: lake.append(data_file("newer", MB))

    outcome = run_operation(services, TABLE, operation)

    assert outcome.status is Status.SUCCEEDED
    assert len(lake.facts.data_files) == 4


@by_committing
def test_a_writer_that_falls_out_of_the_history_is_noticed(services, lake, operation):
    """Some catalogs answer a commit that they applied late with the state before it."""

    def forget():
        newest = replace(lake.facts.snapshots[-1], parent_id=None)
        lake.facts = replace(lake.facts, snapshots=(*lake.facts.snapshots[:-1], newest))

    lake.after_commit = forget

    outcome = run_operation(services, TABLE, operation)

    assert outcome.status is Status.FAILED
    assert outcome.reason.startswith("Snapshot 1 is no longer part of the table's history.")


@by_name
@pytest.mark.parametrize("failure", [None, CommitUnknown("The answer was lost.")])
def test_a_main_that_was_moved_back_is_noticed_by_every_operation(
    services, lake, operation, failure
):
    lake.append(data_file("writer", MB))

    def move_back():
        lake.facts = replace(lake.facts, snapshot_id=1)
        if failure is not None:
            raise failure

    lake.after_commit = move_back

    outcome = run_operation(services, TABLE, operation)

    assert outcome.status is Status.FAILED
    assert outcome.reason.startswith("Snapshot 2 is no longer part of the table's history.")


@by_name
def test_a_conflict_leaves_the_table_as_it_was(services, lake, operation):
    def refuse():
        raise CommitConflict("A writer was faster.")

    lake.before_commit = refuse

    outcome = run_operation(services, TABLE, operation)

    assert (outcome.status, outcome.reason) == (Status.FAILED, "A writer was faster.")
    assert [ref.name for ref in lake.facts.refs] == ["main"]


@by_name
def test_an_engine_that_dies_is_a_failure_with_an_end(services, lake, store, operation):
    def die():
        raise EngineDied("Spark's process has ended.")

    lake.before_commit = die

    outcome = run_operation(services, TABLE, operation)

    assert (outcome.status, outcome.reason) == (Status.FAILED, "Spark's process has ended.")
    assert store.job(outcome.job_id).state is JobState.FAILED


@by_name
def test_an_answer_that_was_lost_is_found_in_the_table(services, lake, operation):
    def lose_answer():
        raise CommitUnknown("The answer was lost.")

    lake.after_commit = lose_answer

    outcome = run_operation(services, TABLE, operation)

    assert outcome.status is Status.SUCCEEDED
    assert outcome.reason.endswith("An error came after it: The answer was lost.")


@by_name
def test_without_the_lease_nothing_is_run(services, lake, operation, clock, store, monkeypatch):
    before = lake.facts.snapshot_id

    def lose(lease, seconds):
        raise LeaseLost("Another job took the table.")

    make_tag = lake.create_tag
    monkeypatch.setattr(
        lake,
        "create_tag",
        lambda *a, **k: (make_tag(*a, **k), monkeypatch.setattr(store, "renew", lose)),
    )
    if operation.undo_window_seconds is None:
        monkeypatch.setattr(
            store, "set_state", lambda *a: monkeypatch.setattr(store, "renew", lose)
        )

    with pytest.raises(LeaseLost):
        run_operation(services, TABLE, operation)

    assert (lake.facts.snapshot_id, lake.facts.statistics) == (before, ())


@by_committing
def test_a_job_that_was_left_behind_is_settled_by_its_own_check(
    services, lake, operation, store, monkeypatch
):
    """Rewritten delete files are not lost ones, which a check made for compaction would say."""
    with monkeypatch.context() as patch:
        patch.setattr(store, "finish", lambda lease, outcome: None)
        outcome = run_operation(services, TABLE, operation)
    assert not store.job(outcome.job_id).state.is_final

    run_operation(services, TABLE, STATS)

    settled = store.job(outcome.job_id)
    assert (settled.state, settled.reason) == (
        JobState.SUCCEEDED,
        "Its snapshot was found in the table, and its rows add up.",
    )


def test_a_policy_sets_arguments_and_the_undo_window():
    values = {
        "rewrite_manifests.use_caching": True,
        "compute_table_stats.columns": ("id",),
    }
    book = PolicyBook(rules=(PolicyRule("all", values=values),))
    policy = resolve(book, TABLE, {})

    window = policy.compaction.undo_window_seconds
    assert [handler.operation for handler in PLANNED] == list(Operation)
    assert RewriteManifestsOperation.of(policy).arguments.use_caching is True
    assert ComputeTableStatsOperation.of(policy).arguments.columns == ("id",)
    assert RemoveDanglingDeletesOperation.of(policy).undo_window_seconds == window
