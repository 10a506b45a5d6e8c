"""Groups that writers deleted rows of while they were rewritten: followed, or left out."""

from __future__ import annotations

import pytest

from neve.model.errors import CommitUnknown, ExecutionError, LeaseLost, ProofFailed, RowsUnsupported
from neve.model.facts import REBASED_FROM_PROPERTY, DeleteKind
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.service.rebase import MAX_REBASES
from neve.testing.facts import MB, TABLE, data_file, delete_file, partition, table_facts
from neve.testing.orphans import StoredLake

pytestmark = pytest.mark.promise(3, 5)


@pytest.fixture
def lake():
    files = [
        data_file(f"{day}-{number}", 20 * MB, partition=partition(day))
        for day in ("mon", "tue")
        for number in range(3)
    ]
    return StoredLake(table_facts(files))


@pytest.fixture
def maintenance(services):
    return services


@pytest.fixture
def plan(maintenance):
    policy = CompactionPolicy(target_file_size_bytes=100 * MB)
    return maintenance.plan(TABLE, RewriteDataFilesArguments(), policy=policy)


def paths(lake):
    return sorted(file.path for file in lake.facts.data_files)


def deletes(lake, *names: str, kind: DeleteKind = DeleteKind.POSITION, number: int = 9):
    """A writer who deletes two rows of each of the files, once."""

    def write() -> None:
        # Once, wherever it was let in.
        for hook in ("before_commit", "after_move"):
            if getattr(lake, hook) is write:
                setattr(lake, hook, lambda: None)
        is_equality = kind is DeleteKind.EQUALITY
        for name in names:
            day = partition(name.partition("-")[0])
            lake.delete_rows(
                delete_file(
                    f"d-{name}-{number}",
                    kind,
                    partition=day,
                    # One without a path would take rows from each file here.
                    record_count=0 if is_equality else 2,
                    data_sequence_number=number,
                    referenced_path=None if is_equality else f"file:///lake/{name}",
                )
            )

    return write


def test_deletes_are_followed_and_said(lake, maintenance, plan):
    lake.before_commit = deletes(lake, "tue-0", "tue-2")

    outcome = maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts, outcome.engines["copy"]) == (Status.SUCCEEDED, 0, 2)
    assert "Writers deleted rows of a group meanwhile" in outcome.reason
    assert (outcome.proof.rows_in, outcome.proof.rows_deleted, outcome.proof.rows_out) == (
        600,
        4,
        596,
    )
    (delete,) = lake.facts.delete_files
    assert (delete.record_count, delete.referenced_path in paths(lake)) == (4, True)
    assert lake.facts.snapshots[-1].summary[REBASED_FROM_PROPERTY] == "1"
    (change,) = lake.changes
    assert change.data_sequence_number is None


def test_a_head_that_moved_again_is_followed_again(lake, maintenance, plan, store):
    lake.before_commit = deletes(lake, "tue-0")
    lake.after_move = deletes(lake, "mon-1", number=10)

    outcome = maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts, outcome.engines["copy"]) == (Status.SUCCEEDED, 0, 2)
    assert sum(delete.record_count for delete in lake.facts.delete_files) == 4
    # What was written for the first try is left to the sweep, and nothing of it is in the table.
    left = store.uncommitted_files(TABLE)
    assert len(left) == 1
    assert set(left).isdisjoint(delete.path for delete in lake.facts.delete_files)


def test_equality_deletes_make_new_files_as_old_as_the_base(lake, maintenance, plan):
    lake.before_commit = deletes(lake, "tue-0", kind=DeleteKind.EQUALITY)
    base = max(file.data_sequence_number for file in lake.facts.data_files)

    outcome = maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason
    (change,) = lake.changes
    assert change.data_sequence_number == base
    # Nothing stays that is older than the delete, so that Iceberg would drop it.
    (copied,) = change.deletes.added
    assert copied.data_sequence_number == 9
    assert copied.path not in {delete.path for delete in change.deletes.removed}


def test_an_equality_delete_that_applies_to_others_is_not_copied(lake, maintenance, plan):
    lake.append(data_file("tue-9", 100 * MB, partition=partition("tue")))
    lake.before_commit = deletes(lake, "tue-0", kind=DeleteKind.EQUALITY)

    maintenance.apply(plan)

    assert lake.changes[-1].deletes.added == ()


def test_an_append_alone_needs_no_following(lake, maintenance, plan):
    def append() -> None:
        lake.before_commit = lambda: None
        lake.append(data_file("new", MB))

    lake.before_commit = append

    assert maintenance.apply(plan).status is Status.SUCCEEDED
    assert lake.changes == []


def test_a_group_that_lost_a_file_is_out_and_the_others_are_followed(lake, maintenance, plan):
    def write() -> None:
        lake.before_commit = lambda: None
        deletes(lake, "mon-0")()
        lake.remove("file:///lake/tue-1")

    lake.before_commit = write

    outcome = maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts, outcome.engines["copy"]) == (Status.SUCCEEDED, 1, 1)
    assert {"file:///lake/tue-0", "file:///lake/tue-2"} < set(paths(lake))


def added_again(lake, path: str):
    (file,) = (file for file in lake.facts.data_files if file.path == path)
    lake.remove(path)
    lake.append(file)


def added_twice(lake, path: str):
    lake.append(*(file for file in lake.facts.data_files if file.path == path))


@pytest.mark.parametrize("listed", [added_again, added_twice])
def test_a_group_of_which_a_file_was_listed_anew_is_out_before_the_commit(
    lake, maintenance, plan, store, listed
):
    def write() -> None:
        lake.before_commit = lambda: None
        listed(lake, "file:///lake/tue-1")

    lake.before_commit = write

    outcome = maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts, outcome.engines["copy"]) == (Status.SUCCEEDED, 1, 1)
    assert all(f"file:///lake/tue-{number}" in paths(lake) for number in range(3))
    assert len(store.uncommitted_files(TABLE)) == 1
    # No commit had to be taken back.
    assert lake.facts.snapshot_id == lake.facts.snapshots[-1].snapshot_id


def test_writers_who_are_always_faster_get_their_way(lake, maintenance, plan, store):
    numbers = iter(range(9, 1000))

    def write() -> None:
        deletes(lake, "tue-0", number=next(numbers))()

    lake.before_commit = write

    outcome = maintenance.apply(plan)

    # The group of Monday, which nobody touches, is committed all the same.
    assert (outcome.status, outcome.conflicts, outcome.engines["copy"]) == (Status.SUCCEEDED, 1, 1)
    assert len(lake.changes) == MAX_REBASES
    assert all(f"file:///lake/tue-{number}" in paths(lake) for number in range(3))
    # A delete file for each try, and the data file of Tuesday.
    assert len(store.uncommitted_files(TABLE)) == MAX_REBASES + 1


def test_a_delete_file_that_nobody_can_read_leaves_its_groups_out(lake, maintenance, plan, store):
    def refuse() -> None:
        raise RowsUnsupported("The delete file is encrypted.")

    lake.before_commit = deletes(lake, "tue-0")
    lake.after_move = refuse

    outcome = maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts, outcome.engines["copy"]) == (Status.SUCCEEDED, 1, 1)
    # One name of each delete file that could have been written, and the data file of Tuesday.
    assert len(store.uncommitted_files(TABLE)) == 3


@pytest.mark.parametrize("error", [ProofFailed("other rows"), ExecutionError("the disk is full")])
def test_what_cannot_be_proven_or_written_is_not_committed(lake, maintenance, plan, store, error):
    def fail() -> None:
        raise error

    before = paths(lake)
    lake.before_commit = deletes(lake, "tue-0")
    lake.after_move = fail

    outcome = maintenance.apply(plan)

    assert outcome.status is Status.FAILED
    assert paths(lake) == before
    assert lake.changes == []
    # Both data files, and the two names of delete files.
    assert len(store.uncommitted_files(TABLE)) == 4


def test_a_job_that_lost_the_table_does_not_commit_what_it_followed(
    lake, maintenance, plan, store, monkeypatch
):
    def lose(*_) -> None:
        raise LeaseLost("gone")

    lake.before_commit = deletes(lake, "tue-0")
    lake.after_move = lambda: monkeypatch.setattr(store, "renew", lose)

    with pytest.raises(LeaseLost):
        maintenance.apply(plan)
    assert lake.changes == []
    assert len(store.uncommitted_files(TABLE)) == 3


@pytest.mark.parametrize("landed", [True, False])
def test_after_an_unknown_commit_nothing_is_called_a_leftover(
    lake, maintenance, plan, store, landed
):
    def lost_answer() -> None:
        raise CommitUnknown("the answer was lost")

    def lose() -> None:
        hook = "after_commit" if landed else "before_commit"
        setattr(lake, hook, lost_answer)

    lake.before_commit = deletes(lake, "tue-0")
    lake.after_move = lose

    outcome = maintenance.apply(plan)

    assert outcome.status is (Status.SUCCEEDED if landed else Status.UNKNOWN)
    assert store.uncommitted_files(TABLE) == []
