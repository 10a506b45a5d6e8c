"""Tables that somebody still writes to by their path, after they were registered in a catalog."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.types import LongType, NestedField

from neve.catalog.connect import Catalogs
from neve.catalog.surveyor import CatalogSurveyor
from neve.model.errors import TableUnreadable
from neve.testing.facts import NOW, TABLE
from neve.testing.local_lake import FileEntry, Manifest

pytestmark = pytest.mark.promise(15, 20, 22)

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))


def local(url):
    return Path(url.removeprefix("file://"))


@pytest.fixture
def table(lake):
    made = lake.create("db.events", SCHEMA)
    lake.commit(made, Manifest([FileEntry("file:/past.parquet")]))
    return lake.catalog.load_table("db.events")


@pytest.fixture
def surveyor(lake):
    return CatalogSurveyor(Catalogs({lake.name: lake.properties}), lambda: NOW)


def write_by_path(lake, table, name="v7.metadata.json", hint="7"):
    """What was the table's next commit becomes one by its path, which the catalog never sees."""
    before = table.metadata_location
    lake.commit(table, Manifest([FileEntry("file:/by-path.parquet")]))
    newest = local(lake.catalog.load_table("db.events").metadata_location)
    lake.catalog.drop_table("db.events")
    lake.catalog.register_table("db.events", before)
    written = newest.rename(newest.with_name(name))
    if ".gz" in name:
        written.write_bytes(gzip.compress(written.read_bytes()))
    (written.parent / "version-hint.text").write_text(hint)
    return written


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("v7.metadata.json", "7"),
        ("v7.metadata.json", "7\n"),
        ("v7.gz.metadata.json", "7"),
        ("v7.metadata.json.gz", "7"),
        ("00007-abc.metadata.json", "00007-abc"),
        ("00007-abc.metadata.json", "00007-abc.metadata.json"),
    ],
)
def test_a_state_that_was_written_by_path_is_seen(lake, table, surveyor, name, hint):
    written = write_by_path(lake, table, name, hint)

    assert local(surveyor.path_twin(TABLE)) == written
    if ".gz" not in name and hint == hint.strip():
        # A reader by path has what the catalog does not know; pyiceberg reads these alone.
        newest = StaticTable.from_metadata(table.location()).current_snapshot()
        assert lake.catalog.load_table("db.events").snapshot_by_id(newest.snapshot_id) is None


def test_a_later_version_than_the_hints_is_found_as_readers_find_it(lake, table, surveyor):
    current = local(table.metadata_location).read_bytes()
    written = write_by_path(lake, table, "v8.metadata.json")
    (written.parent / "v7.metadata.json").write_bytes(current)

    assert local(surveyor.path_twin(TABLE)) == written


def test_a_hint_from_before_the_table_was_registered_is_no_twin(lake, table, surveyor):
    """Also where the states of then have expired since, and their lists are gone."""
    assert surveyor.path_twin(TABLE) is None
    folder = local(table.metadata_location).parent
    (folder / "version-hint.text").write_text("3")
    assert surveyor.path_twin(TABLE) is None

    (folder / "v3.metadata.json").write_bytes(local(table.metadata_location).read_bytes())
    assert surveyor.path_twin(TABLE) is None

    written = json.loads(write_by_path(lake, table).read_text())
    local(written["snapshots"][-1]["manifest-list"]).unlink()
    assert surveyor.path_twin(TABLE) is None


@pytest.mark.parametrize("text", ["{half", "[]", '{"refs": [1]}', '{"snapshots": [{}]}'])
def test_what_the_hint_leads_to_and_nobody_can_read_stops_it(lake, table, surveyor, text):
    written = write_by_path(lake, table)
    written.write_text(text)

    with pytest.raises(TableUnreadable, match=r"v7\.metadata\.json may be of a table"):
        surveyor.path_twin(TABLE)
