from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from neve.model.expiry import ExpiryRules, FileKind
from neve.model.outcome import Status
from neve.service.operations.expire_snapshots import ExpireSnapshotsOperation
from neve.service.undo import keep_for_undo
from neve.spark.tables import actions, iceberg, spark_name
from neve.testing.operations import plan_operation, run_operation

pytestmark = pytest.mark.promise(13, 15, 17)

DAY = 86400
MOMENT = timedelta(milliseconds=1)
MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


@pytest.fixture
def later(app):
    """The service thirty days from now, when everything that tests wrote is old."""
    then = datetime.now(tz=UTC) + timedelta(days=30)
    return replace(app.maintenance, clock=lambda: then)


def expiry(**rules):
    return ExpireSnapshotsOperation(
        ExpiryRules(undo_window_seconds=1, **rules), snapshots_per_commit=2
    )


def files_of(lake, table):
    """Every file in the table's folder but versions of its metadata and Hadoop's checksums."""
    folder = Path(lake.facts(table).location.removeprefix("file:"))
    return {
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith((".metadata.json", ".crc"))
    }


def plain(paths):
    return {path.removeprefix("file:").replace("//", "/").replace("//", "/") for path in paths}


def snapshot_ids(lake, table):
    return [
        s.snapshot_id for s in sorted(lake.facts(table).snapshots, key=lambda s: s.committed_at)
    ]


def ill_table(lake, version=2):
    """Six snapshots: appends, statistics, a delete by position, a compaction; one tag."""
    table = lake.create(by="kind", version=version, properties=MERGE_ON_READ)
    for start in (0, 100):
        lake.fill(table, start=start)
    actions(lake.session).computeTableStats(lake.java(table)).execute()
    lake.sql(f"ALTER TABLE {spark_name(table)} CREATE TAG audit")
    lake.sql(f"DELETE FROM {spark_name(table)} WHERE id IN (3, 5, 104)")
    lake.fill(table, start=200)
    lake.compact(table)
    lake.sql(f"ALTER TABLE {spark_name(table)} DROP TAG `{undo_tag(lake, table)}`")
    lake.fill(table, start=300)
    return table


def undo_tag(lake, table):
    return next(ref.name for ref in lake.facts(table).refs if ref.name.startswith("neve-undo-"))


@pytest.mark.conformance("files of expired snapshots are freed")
def test_an_expiry_frees_exactly_the_files_that_the_dry_run_lists(lake, later):
    table = ill_table(lake)
    tag = "VERSION AS OF 'audit'"
    then, now = lake.rows(table, at=tag), lake.rows(table)
    before, ids = files_of(lake, table), snapshot_ids(lake, table)
    operation = expiry()

    step = plan_operation(later, table, operation).steps[0]
    assert files_of(lake, table) == before
    # The tag keeps the second, main its head.
    assert [s.snapshot_id for s in step.expired] == [ids[0], *ids[2:-1]]
    assert [(k.snapshot_id, k.reason) for k in step.kept] == [
        (ids[-1], "branch main points to it"),
        (ids[1], "tag audit points to it"),
    ]

    outcome = run_operation(later, table, operation)

    assert (outcome.status, outcome.stats.snapshots_expired) == (
        Status.SUCCEEDED,
        len(step.expired),
    )
    assert snapshot_ids(lake, table) == [ids[1], ids[-1]]
    after = files_of(lake, table)
    assert before - after == plain(file.path for file in step.freed)
    assert after <= before
    kinds = {file.kind for file in step.freed}
    assert kinds == {FileKind.DATA, FileKind.DELETE, FileKind.MANIFEST, FileKind.MANIFEST_LIST}
    sizes = {file.path: file.size_bytes for file in step.freed}
    assert outcome.figures_after == {
        "snapshots": 2,
        "refs": 2,
        "files_freed": len(sizes),
        "bytes_freed": sum(sizes.values()),
        "files_left": 0,
        "files_spared": 0,
    }
    assert (lake.rows(table), lake.rows(table, at=tag)) == (now, then)
    head = lake.head(table).committed_at
    assert step.time_travel[0].startswith(f"AS OF before {head:%Y-%m-%d %H:%M:%S} UTC no longer")
    assert [state_at(lake, table, head - moment) for moment in (timedelta(0), MOMENT)] == [
        ids[-1],
        None,
    ]

    again = run_operation(later, table, operation)
    assert (again.status, files_of(lake, table)) == (Status.NOTHING_TO_DO, after)


def state_at(lake, table, moment):
    """The snapshot that a query as of the moment reads, if one can be found."""
    milliseconds = round(moment.timestamp() * 1000)
    util = iceberg(lake.session).util.SnapshotUtil
    return util.nullableSnapshotIdAsOfTime(lake.java(table), milliseconds)


@pytest.mark.conformance("statistics go with their snapshot", "vectors go with their snapshot")
def test_statistics_and_deletion_vectors_go_with_their_snapshots(lake, later):
    table = ill_table(lake, version=3)
    lake.sql(f"ALTER TABLE {spark_name(table)} DROP TAG audit")
    before = files_of(lake, table)
    step = plan_operation(later, table, expiry()).steps[0]

    run_operation(later, table, expiry())

    [statistics] = [file for file in step.freed if file.kind is FileKind.STATISTICS]
    gone = before - files_of(lake, table)
    assert gone == plain(file.path for file in step.freed)
    assert plain([statistics.path]) < gone
    vectors = [file.path for file in step.freed if file.kind is FileKind.DELETE]
    assert vectors
    assert all(path.endswith(".puffin") for path in vectors)


def test_only_planned_snapshots_go_whatever_a_branch_would_let_go(lake, later):
    """Iceberg itself would expire all of main's past here, because the branch says so."""
    table = lake.create()
    for start in range(4):
        lake.fill(table, start=start, files=1, rows=3)
    lake.java(table).manageSnapshots().setMaxSnapshotAgeMs("main", 1).commit()
    ids = snapshot_ids(lake, table)
    rows = lake.rows(table, at=f"VERSION AS OF {ids[1]}")
    later.store.consumers.add("stream", table, snapshot_id=ids[1], lease_seconds=DAY)
    stock = lake.java(table).expireSnapshots().expireSnapshotId(ids[0]).expireOlderThan(0)
    assert stock.apply().size() == 3

    outcome = run_operation(later, table, expiry())

    assert outcome.status is Status.SUCCEEDED
    assert snapshot_ids(lake, table) == ids[1:]
    assert lake.rows(table, at=f"VERSION AS OF {ids[1]}") == rows


def test_tags_keep_the_last_snapshot_of_a_day_for_every_engine(lake, app):
    table = lake.create()
    for start in range(3):
        lake.fill(table, start=start, files=1, rows=3)
    head = lake.head(table)
    tomorrow = replace(app.maintenance, clock=lambda: head.committed_at + timedelta(days=1))
    operation = expiry(older_than_seconds=1, keep_daily=3)

    outcome = run_operation(tomorrow, table, operation)

    name = f"neve-gfs-daily-{head.committed_at:%Y-%m-%d}"
    midnight = head.committed_at.replace(hour=0, minute=0, second=0, microsecond=0)
    [tag] = [ref for ref in lake.facts(table).refs if ref.name == name]
    assert (outcome.status, tag.snapshot_id) == (Status.SUCCEEDED, head.snapshot_id)
    until = head.committed_at + timedelta(milliseconds=lake.java(table).refs()[name].maxRefAgeMs())
    assert until == midnight + timedelta(days=3)
    assert lake.rows(table, at=f"VERSION AS OF '{name}'") == lake.rows(table)
    assert run_operation(tomorrow, table, operation).status is Status.NOTHING_TO_DO


class InBetween:
    """Lets somebody in right before a commit of metadata, once."""

    def __init__(self, metadata, act):
        self._metadata, self._act = metadata, act

    def commit(self, change, still_held=None):
        act, self._act = self._act, lambda: None
        act()
        return self._metadata.commit(change, still_held)


@pytest.mark.conformance("a referenced snapshot stays")
def test_a_tag_made_meanwhile_stops_the_commit(lake, later):
    table = lake.create()
    for start in range(2):
        lake.fill(table, start=start, files=1, rows=3)
    first, head = snapshot_ids(lake, table)
    rows = lake.rows(table, at=f"VERSION AS OF {first}")
    tag = f"ALTER TABLE {spark_name(table)} CREATE TAG late AS OF VERSION {first}"
    busy = replace(later, metadata=InBetween(later.metadata, lambda: lake.sql(tag)))

    outcome = run_operation(busy, table, expiry())

    assert (outcome.status, snapshot_ids(lake, table)) == (Status.FAILED, [first, head])
    assert "tag late points to it" in outcome.reason
    assert lake.rows(table, at="VERSION AS OF 'late'") == rows


def test_an_append_meanwhile_stays_and_the_expiry_looks_again(lake, later):
    table = lake.create()
    for start in range(2):
        lake.fill(table, start=start, files=1, rows=3)
    first, head = snapshot_ids(lake, table)
    append = InBetween(later.metadata, lambda: lake.fill(table, start=9, files=1, rows=3))

    outcome = run_operation(replace(later, metadata=append), table, expiry())

    left = snapshot_ids(lake, table)
    # What was the head when this was planned is not in the plan, so it stays.
    assert (outcome.status, left[0], len(left)) == (Status.SUCCEEDED, head, 2)
    assert first not in left
    assert sum(lake.rows(table).values()) == 9


def test_an_undo_tag_lasts_from_the_job_on_however_old_its_snapshot_is(lake, app):
    """Iceberg counts a tag's age from its snapshot, so that a plain age would be over at once."""
    table = lake.create()
    lake.fill(table, files=1)
    head = lake.head(table)

    keep_for_undo(app.maintenance, lake.facts(table), "x", 1)

    age_ms = (datetime.now(tz=UTC) - head.committed_at) / timedelta(milliseconds=1)
    [tag] = [ref for ref in lake.facts(table).refs if ref.name == "neve-undo-x"]
    assert 1000 < tag.max_age_ms <= 1000 + age_ms + 1
