from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from neve.model.errors import (
    CommitConflict,
    CommitUnknown,
    ExecutionError,
    JobRefused,
    LeaseLost,
    TableUnreadable,
)
from neve.model.expiry import ExpiryRules
from neve.model.facts import JOB_ID_PROPERTY, RefFacts
from neve.model.job import JobState
from neve.model.outcome import Status
from neve.model.table import TableRef
from neve.planning.operations.expire_snapshots import plan_expiry
from neve.service.auditing import AuditTrail, Evidence
from neve.service.operations.expire_snapshots import ExpireSnapshotsOperation
from neve.service.recover import INTERRUPTED_EXPIRY
from neve.testing.expiring_lake import ExpiringLake
from neve.testing.facts import MB, NOW, TABLE, data_file, table_facts
from neve.testing.operations import plan_operation, run_operation

pytestmark = pytest.mark.promise(15, 16)

DAY = 86400
OPERATION = ExpireSnapshotsOperation(ExpiryRules(), snapshots_per_commit=2)


@pytest.fixture
def lake():
    """Six snapshots, each with one file that only it has; the last two are young."""
    lake = ExpiringLake(table_facts(snapshots=(), refs=()))
    for number in range(1, 7):
        lake.facts = replace(lake.facts, data_files=(data_file("shared", MB),))
        lake.append(data_file(f"f{number}", number))
    days = {1: 60, 2: 50, 3: 40, 4: 30, 5: 6, 6: 5}
    lake.facts = replace(
        lake.facts,
        snapshots=tuple(
            replace(s, committed_at=NOW - timedelta(days=days[s.snapshot_id]))
            for s in lake.facts.snapshots
        ),
        refs=(RefFacts("main", 6, "branch"), RefFacts("audit", 2, "tag")),
    )
    return lake


def ids(lake):
    return [snapshot.snapshot_id for snapshot in lake.facts.snapshots]


def paths(*names):
    return sorted(f"file:///lake/{name}" for name in names)


FREED = paths("f1", "f3", "f4", "list-1", "list-3", "list-4")


def test_the_dry_run_changes_nothing(services, lake):
    plan = plan_operation(services, TABLE, OPERATION)

    assert sorted(file.path for file in plan.steps[0].freed) == FREED
    assert plan.reason == "3 snapshots older than 7d go, and 6 files of 11 B with them."
    assert (ids(lake), lake.deleted_paths) == ([1, 2, 3, 4, 5, 6], [])


def test_exactly_the_planned_snapshots_and_files_go(services, lake):
    outcome = run_operation(services, TABLE, OPERATION)

    assert (outcome.status, ids(lake)) == (Status.SUCCEEDED, [2, 5, 6])
    assert sorted(lake.deleted_paths) == FREED
    assert outcome.stats.snapshots_expired == 3
    assert outcome.figures_before == {"snapshots": 6, "refs": 2}
    assert outcome.figures_after == {
        "snapshots": 3,
        "refs": 2,
        "files_freed": 6,
        "bytes_freed": 11,
        "files_left": 0,
        "files_spared": 0,
    }
    assert outcome.reason == "3 snapshots expired, 6 files of 11 B were deleted."


def test_a_plan_is_made_for_one_moment_although_time_goes_on(services, lake):
    """The clock must not pass the end of an undo window between two questions of one plan."""
    made = {JOB_ID_PROPERTY: "j"}
    aged = NOW - timedelta(days=30)
    undone = replace(lake.facts.snapshots[4], summary=made, committed_at=aged)
    snapshots = (*lake.facts.snapshots[:4], undone, lake.facts.snapshots[5])
    lake.facts = replace(lake.facts, snapshots=snapshots)
    ticks = count()
    ticking = replace(services, clock=lambda: NOW + timedelta(seconds=next(ticks)))
    rules = ExpiryRules(undo_window_seconds=30 * DAY)

    plan = ExpireSnapshotsOperation(rules).plan(ticking, lake.facts)

    assert plan.created_at == NOW
    assert plan.steps[0].expired == plan_expiry(lake.facts, rules, (), NOW).expired


def test_running_twice_changes_nothing(services, lake):
    run_operation(services, TABLE, OPERATION)
    deleted = list(lake.deleted_paths)

    again = run_operation(services, TABLE, OPERATION)

    assert (again.status, lake.deleted_paths) == (Status.NOTHING_TO_DO, deleted)
    assert again.reason == "No snapshot older than 7d can go; kept although older: 1."


def test_commits_are_of_bounded_size(services, lake):
    seen = []
    lake.metadata.after_commit = lambda: seen.append(len(ids(lake)))

    run_operation(services, TABLE, OPERATION)

    assert seen == [4, 3]


def test_tags_are_set_before_anything_goes(services, lake):
    seen = []
    lake.metadata.after_commit = lambda: seen.append((len(ids(lake)), len(lake.facts.refs)))
    monthly = ExpireSnapshotsOperation(ExpiryRules(keep_monthly=3))

    outcome = run_operation(services, TABLE, monthly)

    assert seen == [(6, 4), (4, 4)]
    assert [(ref.name, ref.snapshot_id) for ref in lake.facts.refs[2:]] == [
        ("neve-gfs-monthly-2025-12", 4),
        ("neve-gfs-monthly-2025-11", 2),
    ]
    assert outcome.reason.endswith("2 tags were set, 0 dropped.")


def test_what_a_consumer_reads_stays_until_its_lease_is_over(services, lake, store, clock):
    store.consumers.add("stream", TABLE, snapshot_id=3, lease_seconds=DAY)
    run_operation(services, TABLE, OPERATION)
    assert ids(lake) == [2, 3, 4, 5, 6]

    clock.advance(DAY)
    run_operation(services, TABLE, OPERATION)
    assert ids(lake) == [2, 5, 6]


@pytest.mark.parametrize(
    "need",
    [
        lambda lake, store: store.consumers.add("late", TABLE, snapshot_id=3, lease_seconds=DAY),
        lambda lake, store: lake.create_tag(TABLE, 3, "late", DAY * 100_000),
        lambda lake, store: lake.change(properties={"gc.enabled": "false"}),
        lambda lake, store: setattr(lake, "registered_again", TABLE.sibling("twin")),
        lambda lake, store: setattr(lake, "twin_by_path", "file:///lake/metadata/v7.metadata.json"),
    ],
)
def test_what_is_needed_since_the_plan_stops_it_before_the_first_commit(
    services, lake, store, need
):
    lake.after_reading = lambda: need(lake, store)

    outcome = run_operation(services, TABLE, OPERATION)

    assert (outcome.status, ids(lake)) == (Status.FAILED, [1, 2, 3, 4, 5, 6])
    assert lake.deleted_paths == []


def test_a_file_that_the_engine_still_reaches_stays(services, lake):
    lake.reached_again = {"file:///lake/f3"}

    outcome = run_operation(services, TABLE, OPERATION)

    assert "file:///lake/f3" not in lake.deleted_paths
    assert (outcome.figures_after["files_freed"], outcome.figures_after["files_spared"]) == (5, 1)


def test_a_table_that_is_registered_twice_is_refused_by_the_dry_run_too(services, lake):
    lake.registered_again = TableRef("other", ("db2",), "twin")

    for do in (plan_operation, run_operation):
        with pytest.raises(JobRefused, match=r"registered as other\.db2\.twin, too"):
            do(services, TABLE, OPERATION)
    assert (ids(lake), lake.deleted_paths) == ([1, 2, 3, 4, 5, 6], [])


def test_a_table_by_path_in_the_same_folder_is_refused_by_the_dry_run_too(services, lake):
    lake.twin_by_path = "file:///lake/metadata/v7.metadata.json"

    for do in (plan_operation, run_operation):
        with pytest.raises(JobRefused, match=r"known by its path alone: .*v7\.metadata\.json"):
            do(services, TABLE, OPERATION)
    assert (ids(lake), lake.deleted_paths) == ([1, 2, 3, 4, 5, 6], [])


def test_files_that_another_table_reaches_stay_and_the_dry_run_says_so(services, lake):
    lake.reached_elsewhere = {"file:///lake/f3": TABLE.sibling("copy")}

    plan = plan_operation(services, TABLE, OPERATION)
    outcome = run_operation(services, TABLE, OPERATION)

    assert "file:///lake/f3" not in [file.path for file in plan.steps[0].freed]
    assert plan.steps[0].notes == ("1 file stays, because table lake.db.copy reaches it.",)
    assert sorted(lake.deleted_paths) == sorted(set(FREED) - {"file:///lake/f3"})
    assert outcome.figures_after["files_freed"] == 5


def test_a_table_that_takes_a_file_after_the_plan_keeps_it(services, lake):
    def take():
        lake.reached_elsewhere = {"file:///lake/f3": TABLE.sibling("copy")}

    lake.metadata.after_commit = take

    outcome = run_operation(services, TABLE, OPERATION)

    assert "file:///lake/f3" not in lake.deleted_paths
    assert outcome.reason.endswith("1 file is reached again, or by other tables, and stays.")


def test_every_table_is_asked_anew_right_before_files_are_deleted(services, lake):
    asked, needed = [], lake.needed

    def watch(table, paths, reached=(), *, recheck=False):
        asked.append((recheck, len(lake.facts.snapshots), len(lake.deleted_paths)))
        return needed(table, paths, reached, recheck=recheck)

    lake.needed = watch
    run_operation(services, TABLE, OPERATION)

    assert asked == [(False, 6, 0), (False, 3, 0), (True, 3, 0)]


def test_a_table_elsewhere_that_cannot_be_read_stops_the_plan(services, lake):
    lake.needed = unreadable

    with pytest.raises(TableUnreadable, match="broken"):
        plan_operation(services, TABLE, OPERATION)


def test_a_table_elsewhere_that_breaks_after_the_commit_keeps_all_files(services, lake):
    lake.metadata.after_commit = lambda: setattr(lake, "needed", unreadable)

    outcome = run_operation(services, TABLE, OPERATION)

    assert (outcome.status, ids(lake), lake.deleted_paths) == (Status.SUCCEEDED, [2, 5, 6], [])
    assert "broken" in outcome.reason


def unreadable(*_, **__):
    raise TableUnreadable("The metadata of table lake.db.broken cannot be read.")


def test_a_file_that_is_committed_again_meanwhile_stays(services, lake):
    lake.metadata.after_commit = lambda: lake.history.update({6: lake.history[4]})

    run_operation(services, TABLE, OPERATION)

    assert "file:///lake/f4" not in lake.deleted_paths


def test_files_that_cannot_be_deleted_are_remembered(services, lake, store):
    lake.undeletable = {"file:///lake/f1"}

    outcome = run_operation(services, TABLE, OPERATION)

    assert store.uncommitted_files(TABLE) == ["file:///lake/f1"]
    assert (outcome.figures_after["files_freed"], outcome.figures_after["files_left"]) == (5, 1)
    assert "1 file could not be deleted" in outcome.reason


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CommitConflict("lost"), Status.FAILED),
        (CommitUnknown("no answer"), Status.UNKNOWN),
        (ExecutionError("broken"), Status.FAILED),
    ],
)
def test_no_file_is_deleted_after_a_commit_that_failed_or_is_unknown(services, lake, error, status):
    lake.metadata.before_commit = failing_at(2, error)

    outcome = run_operation(services, TABLE, OPERATION)

    assert (outcome.status, lake.deleted_paths) == (status, [])
    assert ids(lake) == [2, 4, 5, 6]


def failing_at(commit, error):
    calls = []

    def before_commit():
        calls.append(1)
        if len(calls) >= commit:
            raise error

    return before_commit


def test_no_file_is_deleted_where_a_snapshot_is_still_there(services, lake):
    kept = lake.facts.snapshots

    def come_back():
        lake.facts = replace(lake.facts, snapshots=kept)

    lake.metadata.after_commit = come_back

    outcome = run_operation(services, TABLE, OPERATION)

    assert (outcome.status, lake.deleted_paths) == (Status.FAILED, [])
    assert "still there, so no file was deleted" in outcome.reason


def test_the_lease_is_looked_at_before_every_commit(services, lake, clock):
    lake.metadata.after_commit = lambda: clock.advance(10 * DAY)

    with pytest.raises(LeaseLost):
        run_operation(services, TABLE, OPERATION)
    assert (ids(lake), lake.deleted_paths) == ([2, 4, 5, 6], [])


def test_more_that_is_gone_is_told(services, lake):
    def take_more():
        lake.facts = replace(lake.facts, snapshots=lake.facts.snapshots[-1:])

    lake.metadata.after_commit = take_more

    outcome = run_operation(services, TABLE, OPERATION)

    assert outcome.status is Status.FAILED
    assert "2 snapshots are gone that were to stay" in outcome.reason


def test_a_table_without_garbage_collection_is_left_alone(services, lake):
    lake.facts = replace(lake.facts, properties={"gc.enabled": "false"})

    outcome = run_operation(services, TABLE, OPERATION)

    assert (outcome.status, len(ids(lake))) == (Status.NOTHING_TO_DO, 6)
    assert "gc.enabled" in outcome.reason
    with pytest.raises(JobRefused, match=r"gc\.enabled"):
        OPERATION.select(services, lake.facts, NOW)


@pytest.mark.parametrize("gc", [{}, {"gc.enabled": "false"}, {"gc.enabled": "true"}], ids=str)
def test_what_nessie_keeps_is_left_to_nessie_whatever_the_table_says(services, lake, gc):
    lake.facts = replace(lake.facts, properties={"nessie.commit.id": "6c12", **gc})

    outcome = run_operation(services, TABLE, OPERATION)

    assert (outcome.status, len(ids(lake))) == (Status.NOTHING_TO_DO, 6)
    assert "only Nessie's own garbage collector knows" in outcome.reason
    with pytest.raises(JobRefused, match="is kept by Nessie") as refused:
        OPERATION.select(services, lake.facts, NOW)
    assert refused.value.next_step == "Run Nessie's own garbage collector, nessie-gc."


def test_an_expiry_that_ended_early_is_settled_by_the_next_run(services, lake, store):
    lease = store.claim("lost", TABLE, "expire_snapshots", 0.0)
    store.release(lease)

    run_operation(services, TABLE, OPERATION)

    job = store.job("lost")
    assert (job.state, job.reason) == (JobState.FAILED, INTERRUPTED_EXPIRY)


def test_a_commit_knows_the_state_that_it_must_find(services, lake):
    run_operation(services, TABLE, OPERATION)

    assert [
        (c.remove_snapshots, c.head, c.expected_refs, c.knows_all_refs, c.head_may_advance)
        for c in lake.metadata.changes
    ] == [
        ((1, 3), 6, {"audit": 2}, True, False),
        ((4,), 6, {"audit": 2}, True, False),
    ]


@pytest.mark.promise(57)
def test_the_audit_log_has_a_digest_of_what_was_deleted(services, store):
    run_operation(replace(services, auditor=AuditTrail(store.audit).record), TABLE, OPERATION)
    told = Evidence()
    told.files(FREED)
    assert store.audit.newest(limit=1)[0].entry.files_digest == told.files_digest
