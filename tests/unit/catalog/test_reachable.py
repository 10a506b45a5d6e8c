"""What a table reaches, and that nothing less is ever returned."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.statistics import PartitionStatisticsFile, StatisticsFile
from pyiceberg.table.update import (
    RemoveSnapshotRefUpdate,
    SetPartitionStatisticsUpdate,
    SetStatisticsUpdate,
)
from pyiceberg.types import LongType, NestedField

from neve.catalog.surveyor import CatalogSurveyor
from neve.model.errors import TableUnreadable
from neve.testing.facts import NOW, TABLE
from neve.testing.local_lake import DELETED, FileEntry, Manifest

pytestmark = pytest.mark.promise(20)

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))


@pytest.fixture
def table(lake):
    return lake.create("db.events", SCHEMA)


@pytest.fixture
def surveyor(catalogs):
    return CatalogSurveyor(catalogs, lambda: NOW)


def files_of(reach):
    """Paths without those of the metadata folder."""
    return {path for path in reach.paths if "/metadata/" not in path}


def local(url):
    return Path(url.removeprefix("file://"))


def test_all_snapshots_count_and_deleted_entries_do_not(lake, table, surveyor):
    lake.commit(table, Manifest([FileEntry("s3://b/old")]))
    lake.commit(
        table,
        Manifest([FileEntry("s3://b/new"), FileEntry("s3://b/never", status=DELETED)]),
        Manifest([FileEntry("s3://b/dv.puffin", content=1, format="PUFFIN")]),
        keeps=False,
    )
    reach = surveyor.reachable(TABLE)
    assert files_of(reach) == {"s3://b/old", "s3://b/new", "s3://b/dv.puffin"}
    assert reach.snapshot_ids == {1, 2}
    assert reach.table_uuid == str(table.metadata.table_uuid)


def test_a_snapshot_that_no_ref_names_counts(lake, table, surveyor):
    lake.commit(table, Manifest([FileEntry("s3://b/staged")]))
    lake.catalog.commit_table(table, (), (RemoveSnapshotRefUpdate(ref_name="main"),))
    assert files_of(surveyor.reachable(TABLE)) == {"s3://b/staged"}


@pytest.mark.conformance("statistics files are reachable")
def test_metadata_files_statistics_and_the_version_hint_count(lake, table, surveyor):
    first = table.metadata_location
    snapshot_id = lake.commit(table, Manifest([FileEntry("s3://b/f")]))
    common = {"snapshot-id": snapshot_id, "file-size-in-bytes": 1}
    statistics = StatisticsFile(
        **common,
        **{"statistics-path": "s3://b/s.puffin", "file-footer-size-in-bytes": 1},
        **{"blob-metadata": []},
    )
    by_partition = PartitionStatisticsFile(**common, **{"statistics-path": "s3://b/p.parquet"})
    lake.catalog.commit_table(
        table,
        (),
        (
            SetStatisticsUpdate(statistics=statistics),
            SetPartitionStatisticsUpdate(partition_statistics=by_partition),
        ),
    )
    table.refresh()
    reach = surveyor.reachable(TABLE)
    assert {"s3://b/s.puffin", "s3://b/p.parquet", "s3://b/f"} == files_of(reach)
    [listed] = table.current_snapshot().manifests(table.io)
    assert {
        first,
        table.metadata_location,
        table.current_snapshot().manifest_list,
        listed.manifest_path,
        f"{table.location()}/metadata/version-hint.text",
    } <= reach.paths


def test_a_file_behind_a_link_counts_by_its_real_name_too(lake, table, surveyor, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    lake.commit(table, Manifest([FileEntry(f"file://{tmp_path}/link/f")]))
    assert files_of(surveyor.reachable(TABLE)) == {
        f"file://{tmp_path}/link/f",
        f"file:{tmp_path}/real/f",
    }


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"Obj\x01")])
@pytest.mark.parametrize("part", ["list", "manifest", "metadata"])
def test_what_cannot_be_read_is_an_error_and_not_a_smaller_set(lake, table, surveyor, part, damage):
    lake.commit(table, Manifest([FileEntry("s3://b/old")]))
    first = table.current_snapshot()
    [listed] = first.manifests(table.io)
    lake.commit(table, Manifest([FileEntry("s3://b/new")]), keeps=False)
    paths = {
        "list": first.manifest_list,
        "manifest": listed.manifest_path,
        "metadata": table.metadata_location,
    }
    damage(local(paths[part]))
    with pytest.raises(TableUnreadable):
        surveyor.reachable(TABLE)


def test_half_a_manifest_is_an_error(lake, table, surveyor):
    lake.commit(table, Manifest([FileEntry(f"s3://b/{n}") for n in range(100)]))
    [listed] = table.current_snapshot().manifests(table.io)
    path = local(listed.manifest_path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(TableUnreadable):
        surveyor.reachable(TABLE)


def test_homes_are_those_of_all_tables_and_one_that_is_unreadable_is_an_error(
    lake, table, surveyor
):
    other = lake.create("db.other", SCHEMA, properties={"write.data.path": "s3://b/x"})
    homes = {home.table.name: home for home in surveyor.locations()}
    assert homes["events"].location == table.location()
    assert homes["other"].properties["write.data.path"] == "s3://b/x"
    third = lake.create("db.third", SCHEMA)
    assert len(surveyor.locations()) == 3
    local(other.metadata_location).unlink()
    assert len(surveyor.locations()) == 3
    local(third.metadata_location).unlink()
    with pytest.raises(TableUnreadable, match=r"which tables need it\. The metadata of"):
        CatalogSurveyor(surveyor._catalogs, lambda: NOW).locations()
