from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.update import SetSnapshotRefUpdate, SetStatisticsUpdate
from pyiceberg.types import LongType, NestedField

from neve.catalog.connect import Catalogs
from neve.catalog.surveyor import CatalogSurveyor
from neve.model.errors import TableUnreadable
from neve.model.expiry import FileKind
from neve.model.table import TableRef
from neve.testing.facts import NOW
from neve.testing.local_lake import DELETED, EXISTING, FileEntry, LocalLake, Manifest

TABLE = TableRef("lake", ("db",), "events")
SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))


@pytest.fixture
def lake(tmp_path):
    return LocalLake(tmp_path / "lake")


@pytest.fixture
def surveyor(lake):
    return CatalogSurveyor(Catalogs({lake.name: lake.properties}), lambda: NOW)


@pytest.fixture
def table(lake):
    """Three snapshots: two files; a third beside them; one of the first two replaced."""
    made = lake.create("db.events", SCHEMA)
    lake.commit(made, Manifest([FileEntry("file:///a", size_bytes=1), FileEntry("file:///b")]))
    deletes = Manifest([FileEntry("file:///d", size_bytes=5, content=1)])
    lake.commit(made, Manifest([FileEntry("file:///c", size_bytes=3)]), deletes)
    rewritten = Manifest(
        [
            FileEntry("file:///a", status=DELETED, snapshot_id=3, sequence_number=1),
            FileEntry("file:///b", status=EXISTING, snapshot_id=1, sequence_number=1),
            FileEntry("file:///e"),
        ]
    )
    lake.commit(made, rewritten, keeps=False, operation="overwrite")
    return made


def names(freed, *kinds):
    return [(f.path.rpartition("/")[2], f.size_bytes) for f in freed if f.kind in kinds]


def test_what_only_expired_snapshots_reach_is_freed(surveyor, table):
    freed = surveyor.freed_files(TABLE, [1, 2])

    assert names(freed, FileKind.DATA) == [("a", 1), ("c", 3)]
    assert names(freed, FileKind.DELETE) == [("d", 5)]
    assert {f.path for f in freed if f.kind is FileKind.MANIFEST_LIST} == {
        table.snapshot_by_id(number).manifest_list for number in (1, 2)
    }
    manifests = {m.manifest_path for m in table.snapshot_by_id(2).manifests(table.io)}
    assert {f.path for f in freed if f.kind is FileKind.MANIFEST} == manifests


def test_sizes_are_those_of_the_files(surveyor, table):
    freed = surveyor.freed_files(TABLE, [1, 2])

    metadata = [f for f in freed if f.kind in (FileKind.MANIFEST, FileKind.MANIFEST_LIST)]
    assert len(metadata) == 5
    assert [f.size_bytes for f in metadata] == [len(table.io.new_input(f.path)) for f in metadata]


def test_what_a_later_snapshot_shares_is_not_freed(surveyor, table):
    freed = surveyor.freed_files(TABLE, [1])

    # The second snapshot still lists the manifest of the first.
    assert [f.kind for f in freed] == [FileKind.MANIFEST_LIST]


def test_a_snapshot_that_no_branch_reaches_needs_its_files_too(lake, surveyor, table):
    back = {"ref-name": "main", "type": "branch", "snapshot-id": 1}
    lake.catalog.commit_table(table, (), (SetSnapshotRefUpdate.model_validate(back),))

    assert names(surveyor.freed_files(TABLE, [1]), FileKind.DATA) == []
    assert names(surveyor.freed_files(TABLE, [1, 2]), FileKind.DATA) == [("a", 1), ("c", 3)]


def test_statistics_are_freed_with_the_last_snapshot_that_names_them(lake, surveyor, table):
    for snapshot_id, path in ((1, "own"), (2, "shared"), (3, "shared")):
        statistics = {
            "snapshot-id": snapshot_id,
            "statistics-path": f"file:///{path}",
            "file-size-in-bytes": 7,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": [],
        }
        update = {"snapshot-id": snapshot_id, "statistics": statistics}
        lake.catalog.commit_table(table, (), (SetStatisticsUpdate.model_validate(update),))

    assert names(surveyor.freed_files(TABLE, [1, 2]), FileKind.STATISTICS) == [("own", 7)]


def test_a_manifest_that_is_missing_stops_the_walk(surveyor, table, tmp_path):
    kept = table.snapshot_by_id(3).manifests(table.io)[0].manifest_path
    table.io.delete(kept)

    with pytest.raises(TableUnreadable):
        surveyor.freed_files(TABLE, [1, 2])


def test_files_that_are_there_are_found(surveyor, table):
    there = [table.snapshot_by_id(number).manifest_list for number in (1, 2)]

    assert surveyor.present_files(TABLE, [there[0], "file:///nowhere", there[1]]) == there


def test_an_outline_has_everything_but_files(surveyor, table):
    outline, facts = surveyor.outline(TABLE), surveyor.survey(TABLE)

    assert (outline.snapshots, outline.refs) == (facts.snapshots, facts.refs)
    assert (outline.data_files, outline.manifest_count) == ((), 0)
