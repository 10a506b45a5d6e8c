"""Back to an earlier snapshot: by its id, by a time, or by undoing a job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from neve.model.errors import CommitConflict, InputError, JobRefused
from neve.model.job import JobState
from neve.model.outcome import Status
from neve.service.operations.rollback import RollbackTarget
from neve.testing.operations import roll_back

pytestmark = pytest.mark.promise(8)

DAY = 86400


def go_back(lake, table, **target):
    return roll_back(lake.app.maintenance, table, RollbackTarget(**target), undo_window_seconds=DAY)


def test_to_a_snapshot(lake):
    table = lake.create()
    lake.fill(table)
    before, rows, paths = lake.facts(table), lake.rows(table), lake.paths(table)
    lake.fill(table, start=30)
    newest = lake.facts(table).snapshot_id

    outcome = go_back(lake, table, snapshot_id=before.snapshot_id)

    after = lake.facts(table)
    assert (outcome.operation, outcome.status) == ("rollback", Status.SUCCEEDED)
    assert outcome.reason.endswith(f" {before.snapshot_id} and left 1 snapshot behind.")
    assert (after.snapshot_id, lake.paths(table), lake.rows(table)) == (
        before.snapshot_id,
        paths,
        rows,
    )
    [tag] = [ref for ref in after.refs if ref.name == f"neve-undo-{outcome.job_id}"]
    assert tag.snapshot_id == newest
    # Iceberg counts from the snapshot's commit, which was a moment before.
    assert 0 <= tag.max_age_ms - DAY * 1000 < 600_000


def test_to_a_time(lake):
    table = lake.create()
    lake.fill(table)
    first, rows = lake.head(table), lake.rows(table)
    lake.fill(table, start=30)

    go_back(lake, table, time=first.committed_at + timedelta(microseconds=500))

    assert lake.facts(table).snapshot_id == first.snapshot_id
    assert lake.rows(table) == rows


@pytest.mark.parametrize("version", [1, 2])
def test_a_job_is_undone(lake, version):
    table = lake.create(by="kind", version=version)
    lake.fill(table)
    rows, paths = lake.rows(table), lake.paths(table)
    job_id = lake.compact(table).job_id

    outcome = go_back(lake, table, job_id=job_id)

    assert lake.paths(table) == paths
    assert lake.rows(table) == rows
    states = {job.job_id: job.state for job in lake.app.store.jobs(table)}
    assert states == {job_id: JobState.SUCCEEDED, outcome.job_id: JobState.SUCCEEDED}
    log = lake.session.table(f"lake.{lake.namespace}._maintenance_log").orderBy("executed_at")
    assert [row["operation"] for row in log.collect()] == ["optimize", "rollback"]


def test_a_table_that_was_rolled_back_is_compacted_again(lake):
    table = lake.create()
    lake.fill(table)
    rows = lake.rows(table)
    go_back(lake, table, job_id=lake.compact(table).job_id)

    outcome = lake.compact(table)

    assert outcome.reason == "3 files became 1."
    assert lake.rows(table) == rows


def test_undoing_a_job_below_another_commit_is_refused(lake):
    table = lake.create()
    lake.fill(table)
    job_id = lake.compact(table).job_id
    lake.fill(table, start=30)
    rows = lake.rows(table)

    with pytest.raises(JobRefused, match="1 commits came after job"):
        go_back(lake, table, job_id=job_id)

    assert lake.rows(table) == rows


def test_undoing_a_job_below_another_job_is_refused(lake):
    table = lake.create()
    lake.fill(table)
    first = lake.compact(table).job_id
    lake.fill(table, start=30)
    lake.compact(table)

    with pytest.raises(JobRefused, match="2 commits came after job"):
        go_back(lake, table, job_id=first)


def test_what_is_not_in_the_history_is_refused(lake):
    table = lake.create()
    lake.fill(table)
    current = lake.facts(table).snapshot_id

    with pytest.raises(InputError, match="is not in the history"):
        go_back(lake, table, snapshot_id=1)
    with pytest.raises(InputError, match="is the current one"):
        go_back(lake, table, snapshot_id=current)
    with pytest.raises(InputError, match="keeps no snapshot from"):
        go_back(lake, table, time=datetime(2000, 1, 1, tzinfo=UTC))
    with pytest.raises(InputError, match="has no tag neve-undo-nobody"):
        go_back(lake, table, job_id="nobody")

    assert lake.app.store.jobs(table) == []


def test_deletes_come_back_with_their_snapshot(lake):
    table = lake.create(version=3, properties={"write.delete.mode": "merge-on-read"})
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id < 5")
    before, lineage = lake.facts(table), lake.lineage(table)

    go_back(lake, table, job_id=lake.compact(table).job_id)

    assert lake.facts(table).delete_files == before.delete_files
    assert lake.lineage(table) == lineage


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_append_that_spark_was_told_is_committed_stays(lake, version):
    """It came after the table was judged and before the commit that goes back."""
    table = lake.create(version=version)
    lake.fill(table)
    job_id = lake.compact(table).job_id
    refs = lake.facts(table).refs
    services = lake.app.maintenance

    class Busy:
        def commit(self, change, still_held=None):
            lake.fill(table, start=30)
            return services.metadata.commit(change, still_held)

    with pytest.raises(CommitConflict) as conflict:
        roll_back(
            replace(services, metadata=Busy()),
            table,
            RollbackTarget(job_id=job_id),
            undo_window_seconds=DAY,
        )

    head = lake.head(table)
    assert f"snapshot {head.snapshot_id} (append at " in conflict.value.message
    assert "engine-name spark" in conflict.value.message
    after = lake.facts(table)
    assert {ref.name for ref in after.refs} == {ref.name for ref in refs}
    assert job_id in {snapshot.job_id for snapshot in after.ancestry()[1:]}
    assert lake.app.store.jobs(table)[0].state is JobState.FAILED


def test_going_back_does_not_start_spark(lake):
    table = lake.create()
    lake.fill(table)
    first = lake.facts(table).snapshot_id
    lake.fill(table, start=30)

    def engine():
        raise AssertionError("Spark was started")

    services = replace(lake.app.maintenance, make_engine=engine)
    roll_back(services, table, RollbackTarget(snapshot_id=first), undo_window_seconds=DAY)

    assert lake.facts(table).snapshot_id == first
