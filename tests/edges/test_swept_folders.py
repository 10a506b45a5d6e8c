"""Sweeps of tables that share their folder with what no metadata of them reaches; without a JVM."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from neve import Neve
from neve.model.errors import JobRefused
from neve.model.orphans import KeptReason
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

pytestmark = pytest.mark.promise(22)
SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
NAME = "lake.db.events"
WEEK_SECONDS = 7 * 86400


@pytest.fixture
def lake(tmp_path):
    return LocalLake(tmp_path / "lake")


@pytest.fixture
def opened(lake):
    """Neve with its configuration and state in the folder of the lake."""
    settings = {
        "catalogs": {"lake": lake.properties},
        "state": {"url": "sqlite:///state.db"},
        "access": {"audit_key": "0123456789abcdef0123456789abcdef"},
        "spark": {"conf": {"spark.ssl.keyStore": "keys.jks"}},
    }
    (lake.folder / "neve.yaml").write_text(json.dumps(settings))
    (lake.folder / "keys.jks").write_text("keys")
    (lake.folder / f"server-{'a' * 16}.json").write_text("{}")
    with Neve.open(str(lake.folder / "neve.yaml")) as neve:
        yield neve


def grow_old(folder):
    then = time.time() - WEEK_SECONDS
    for path in Path(folder).rglob("*"):
        os.utime(path, (then, then))


def test_databases_and_configuration_in_a_tables_folder_are_kept(lake, opened):
    """The table's location is the folder of the catalog, as a warehouse with one table may have."""
    lake.catalog.create_namespace("db")
    lake.catalog.create_table("db.events", SCHEMA, location=lake.folder.as_uri())
    files = ("catalog.db", "state.db", "neve.yaml", "keys.jks", f"server-{'a' * 16}.json")
    # The first look makes the state.
    assert opened.orphans(NAME).orphans == ()
    assert all((lake.folder / name).is_file() for name in files)
    grow_old(lake.folder)

    report = opened.orphans(NAME)

    assert report.orphans == ()
    # Looking writes into the state, and into what SQLite keeps beside it.
    assert report.kept[KeptReason.NOT_OF_TABLES].files >= len(files) - 1


@pytest.mark.parametrize("age", ["old", "young"])
def test_a_table_that_was_dropped_and_made_again_keeps_its_first_life(lake, opened, age):
    first = lake.create("db.events", SCHEMA)
    lake.commit(first, Manifest([FileEntry("file:///f.parquet")]))
    lake.catalog.drop_table("db.events")
    lake.create("db.events", SCHEMA)
    if age == "old":
        grow_old(lake.folder)

    with pytest.raises(JobRefused, match=str(first.metadata.table_uuid)) as refused:
        opened.orphans(NAME)

    assert refused.value.next_step.startswith("Register it in a catalog")
    if age == "old":
        return
    for file in Path(first.metadata_location.removeprefix("file://")).parent.iterdir():
        if str(first.metadata.table_uuid) in file.read_bytes().decode(errors="replace"):
            file.unlink()
    assert opened.orphans(NAME).is_first


def test_old_metadata_of_the_table_itself_stops_nothing(lake, opened):
    table = lake.create("db.events", SCHEMA)
    location = Path(table.metadata_location.removeprefix("file://"))
    (location.parent / "00000-left.metadata.json").write_bytes(location.read_bytes())

    assert opened.orphans(NAME).kept[KeptReason.TOO_YOUNG].files == 1
