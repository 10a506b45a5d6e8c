from __future__ import annotations

from collections import Counter

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from neve.catalog.connect import Catalogs
from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.catalog.recent import MAX_AGE_SECONDS, MAX_TABLES, RecentTables
from neve.catalog.surveyor import CatalogSurveyor
from neve.model.expiry import TagToSet
from neve.model.metadata_change import MetadataChange
from neve.model.table import TableRef
from neve.testing.facts import NOW
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
TABLE = TableRef("lake", ("db",), "t")


@pytest.fixture
def made(tmp_path):
    """A table with two snapshots, read through catalogs that count their loads."""
    lake = LocalLake(tmp_path, "lake")
    table = lake.create("db.t", SCHEMA)
    for number in range(2):
        lake.commit(table, Manifest([FileEntry(f"file:///f{number}")]))
    return lake, table


class Counting(Catalogs):
    def __init__(self, lake):
        super().__init__({lake.name: lake.properties})
        self.loads: Counter[TableRef] = Counter()

    def load(self, table):
        self.loads[table] += 1
        return super().load(table)


def test_a_snapshot_that_was_seen_is_asked_for_without_a_load(made):
    catalogs = Counting(made[0])
    surveyor = CatalogSurveyor(catalogs, lambda: NOW)
    now = surveyor.survey(TABLE)

    then = surveyor.survey(TABLE, snapshot_id=1)
    again = surveyor.survey(TABLE, snapshot_id=now.snapshot_id)
    surveyor.copy_inputs(TABLE, 2, ["file:///f1"], [])
    surveyor.delete_entries(TABLE, 2, [])

    assert (len(then.data_files), len(again.data_files)) == (1, 2)
    assert catalogs.loads == {TABLE: 1}


def test_one_that_came_since_is_loaded(made):
    lake, table = made
    catalogs = Counting(lake)
    surveyor = CatalogSurveyor(catalogs, lambda: NOW)
    surveyor.survey(TABLE)
    third = lake.commit(table, Manifest([FileEntry("file:///f2")]))

    assert len(surveyor.survey(TABLE, snapshot_id=third).data_files) == 3
    assert catalogs.loads == {TABLE: 2}


def test_where_the_table_stands_is_always_asked(made):
    lake, table = made
    catalogs = Counting(lake)
    surveyor = CatalogSurveyor(catalogs, lambda: NOW)
    surveyor.survey(TABLE)
    third = lake.commit(table, Manifest([FileEntry("file:///f2")]))

    assert surveyor.survey(TABLE).snapshot_id == third
    assert surveyor.outline(TABLE).snapshot_id == third
    assert catalogs.loads == {TABLE: 3}


def test_what_a_commit_answers_is_the_table_with_the_change(made):
    lake, table = made
    catalogs = Counting(lake)
    surveyor = CatalogSurveyor(catalogs, lambda: NOW)
    # Nobody has looked since.
    third = lake.commit(table, Manifest([FileEntry("file:///f2")]))
    change = MetadataChange(
        TABLE,
        str(table.metadata.table_uuid),
        "Tagging",
        third,
        expected_refs={"kept": None},
        tags=(TagToSet("kept", 1, 1000),),
    )

    answer = CatalogMetadataWriter(catalogs, lambda: NOW).commit(change)

    assert (answer.snapshot_id, {ref.name for ref in answer.refs}) == (third, {"main", "kept"})
    assert len(surveyor.survey(TABLE, snapshot_id=third).data_files) == 3
    assert catalogs.loads == {}


def test_credentials_of_a_table_are_not_used_for_long(made):
    _, table = made
    now = [0.0]
    recent = RecentTables(lambda: now[0])
    recent.add(TABLE, table)
    now[0] = MAX_AGE_SECONDS
    assert recent.with_snapshot(TABLE, 1) is table

    now[0] += 0.1

    assert recent.with_snapshot(TABLE, 1) is None


def test_only_the_last_tables_are_kept(made):
    _, table = made
    recent = RecentTables()
    for number in range(MAX_TABLES + 1):
        recent.add(TABLE.sibling(f"t{number}"), table)

    assert recent.with_snapshot(TABLE.sibling("t0"), 1) is None
    assert recent.with_snapshot(TABLE.sibling("t1"), 1) is table
