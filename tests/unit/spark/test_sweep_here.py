"""Sweeps of small tables: tables below that no catalog knows are left alone."""

from __future__ import annotations

import os
import time

import pytest

from neve.model.orphans import KeptReason, Listing, ReachableFiles
from neve.model.table import TableRef
from neve.spark.operations.remove_orphan_files import sweep_here
from neve.storage.access import Storage

pytestmark = pytest.mark.promise(20, 22)
WEEK_SECONDS = 7 * 86400


@pytest.fixture
def sweep(tmp_path):
    """A sweep of the folder, in which all files but the young ones are a week old."""

    def run(*files: str, reached: tuple[str, ...] = (), young: tuple[str, ...] = ()):
        now = time.time()
        for name in (*files, *reached, *young):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")
            age = 0 if name in young else WEEK_SECONDS
            os.utime(path, (now - age, now - age))
        root, now_ms = f"file:{tmp_path}", int(now * 1000)
        listing = Listing((root,), (), frozenset(), now_ms - 86_400_000, now_ms)
        reachable = ReachableFiles(
            table=TableRef("lake", ("db",), "events"),
            table_uuid="u",
            location=root,
            metadata_location="",
            properties={},
            partition_fields=frozenset(),
            snapshot_ids=frozenset(),
            paths=frozenset(f"{root}/{name}" for name in reached),
        )
        found = sweep_here(listing, Storage({}), lambda: reachable, [])
        assert found is not None
        return {file.path.removeprefix(f"{root}/") for file in found.candidates}, found.kept

    return run


def test_a_table_below_stays_whole_also_where_its_metadata_is_young(sweep):
    candidates, kept = sweep(
        "data/old.parquet",
        "archive/data/a.parquet",
        "archive/metadata/snap-1.avro",
        "archive2/a.parquet",
        reached=("metadata/v9.metadata.json",),
        young=("archive/metadata/v2.metadata.json",),
    )

    assert candidates == {"data/old.parquet", "archive2/a.parquet"}
    assert kept[KeptReason.OTHER_TABLE].files == 2


@pytest.mark.parametrize("log", ["_delta_log", ".hoodie"])
def test_a_folder_that_is_shared_with_another_format_is_left_alone(sweep, log):
    candidates, _ = sweep("part-0.parquet", f"{log}/0.json", reached=("metadata/a.metadata.json",))

    assert candidates == set()


def test_the_tables_own_metadata_may_lie_deeper(sweep):
    candidates, _ = sweep(
        "deep/metadata/old.metadata.json", "deep/x", reached=("deep/metadata/new.metadata.json",)
    )

    assert candidates == {"deep/metadata/old.metadata.json", "deep/x"}
