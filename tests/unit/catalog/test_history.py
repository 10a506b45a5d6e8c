from __future__ import annotations

from pathlib import Path

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

pytestmark = pytest.mark.promise(16)

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


@pytest.mark.parametrize("new_name", ["link/f", "real/x/../f", "real//f", "real/./f", "REAL/f"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_file_that_a_kept_snapshot_names_in_another_way_is_not_freed(
    lake, surveyor, tmp_path, new_name, turned
):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    old, new = f"file://{tmp_path}/real/f", f"file://{tmp_path}/{new_name}"
    first, second = (new, old) if turned else (old, new)
    made = lake.create("db.events", SCHEMA)
    free = FileEntry(f"file://{tmp_path}/real/g", size_bytes=9)
    lake.commit(made, Manifest([FileEntry(first), free]))
    lake.commit(made, Manifest([FileEntry(second)]), keeps=False)

    assert names(surveyor.freed_files(TABLE, [1]), FileKind.DATA) == [("g", 9)]


def test_links_that_are_files_keep_what_they_lead_to(lake, surveyor, tmp_path):
    (tmp_path / "f").write_text("x")
    (tmp_path / "to-f").symlink_to(tmp_path / "f")
    (tmp_path / "g").write_text("x")
    (tmp_path / "to-g").symlink_to(tmp_path / "g")
    made = lake.create("db.events", SCHEMA)
    before = [FileEntry(f"file://{tmp_path}/{name}") for name in ("f", "to-g")]
    lake.commit(made, Manifest(before))
    after = [FileEntry(f"file://{tmp_path}/{name}") for name in ("to-f", "g")]
    lake.commit(made, Manifest(after), keeps=False)

    assert names(surveyor.freed_files(TABLE, [1]), FileKind.DATA) == []


def test_a_manifest_that_is_kept_by_another_name_is_not_freed(
    lake, surveyor, tmp_path, monkeypatch
):
    made = lake.create("db.events", SCHEMA)
    lake.commit(made, Manifest([FileEntry("file:///a")]))
    folder = Path(made.location().removeprefix("file://"))
    (tmp_path / "link").symlink_to(folder)
    listed = lake._listed

    def by_link(*parent):
        return [
            {
                **line,
                "manifest_path": line["manifest_path"].replace(str(folder), f"{tmp_path}/link"),
            }
            for line in listed(*parent)
        ]

    monkeypatch.setattr(lake, "_listed", by_link)
    lake.commit(made)

    freed = surveyor.freed_files(TABLE, [1])
    assert [file.kind for file in freed] == [FileKind.MANIFEST_LIST]


def test_files_that_are_there_are_found(surveyor, table):
    there = [table.snapshot_by_id(number).manifest_list for number in (1, 2)]

    assert surveyor.present_files(TABLE, [there[0], "file:///nowhere", there[1]]) == there


def test_an_outline_has_everything_but_files(surveyor, table):
    outline, facts = surveyor.outline(TABLE), surveyor.survey(TABLE)

    assert (outline.snapshots, outline.refs) == (facts.snapshots, facts.refs)
    assert (outline.data_files, outline.manifest_count) == ((), 0)
