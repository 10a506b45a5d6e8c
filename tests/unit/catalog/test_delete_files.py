from __future__ import annotations

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from neve.catalog.delete_entries import read_delete_entries
from neve.catalog.manifests import DELETE_FILE_PATH_FIELD_ID as PATH_ID
from neve.model.facts import DeleteFileFacts, DeleteKind
from neve.model.rebase import DeleteEntry
from neve.model.rewrite import ColumnMetrics
from neve.testing.local_lake import FileEntry, Manifest

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "day", StringType(), required=False),
)
DAILY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))
MONDAY = ("mon",)


def position(path, **fields):
    return FileEntry(path, MONDAY, content=1, size_bytes=50, records=5, fields=fields)


def bounds(lower, upper):
    return {"lower_bounds": {PATH_ID: lower}, "upper_bounds": {PATH_ID: upper}}


@pytest.fixture
def table(lake):
    made = lake.create("db.events", SCHEMA, DAILY)
    lake.commit(made, Manifest([FileEntry("a", MONDAY), FileEntry("b", MONDAY)]))
    return made


def test_equality_deletes_are_told_apart(lake, table, survey):
    equality = FileEntry(
        "eq", MONDAY, content=2, size_bytes=50, records=5, fields={"equality_ids": [1]}
    )
    lake.commit(table, Manifest([equality]))

    facts = survey()

    assert [file.path for file in facts.data_files] == ["a", "b"]
    assert facts.delete_files == (
        DeleteFileFacts("eq", DeleteKind.EQUALITY, (0, MONDAY), 50, 5, 2, None, 2),
    )


@pytest.mark.parametrize(
    ("fields", "referenced"),
    [
        ({}, None),
        (bounds(b"a", b"a"), "a"),
        (bounds(b"a", b"b"), None),
        ({"lower_bounds": {PATH_ID: b"a"}}, None),
        ({"lower_bounds": {1: b"a"}, "upper_bounds": {1: b"a"}}, None),
    ],
)
def test_position_deletes_name_their_file_by_equal_bounds(lake, table, survey, fields, referenced):
    lake.commit(table, Manifest([position("pos", **fields)]))

    assert survey().delete_files == (
        DeleteFileFacts("pos", DeleteKind.POSITION, (0, MONDAY), 50, 5, 2, referenced, 2),
    )


def test_bounds_that_equality_deletes_carry_name_no_file(lake, table, survey):
    entry = FileEntry("eq", MONDAY, content=2, fields=bounds(b"a", b"a"))
    lake.commit(table, Manifest([entry]))

    assert survey().delete_files[0].referenced_path is None


def test_delete_files_keep_their_sequence_numbers(lake, table, survey):
    lake.commit(table, Manifest([position("old")]))
    kept = FileEntry("kept", MONDAY, content=1, sequence_number=1, snapshot_id=1)
    lake.commit(table, Manifest([kept]))

    facts = survey()

    assert [(f.path, f.data_sequence_number) for f in facts.delete_files] == [
        ("old", 2),
        ("kept", 1),
    ]


def test_deletion_vectors_share_a_file_and_name_theirs(lake, survey):
    table = lake.create("db.events", SCHEMA, DAILY, format_version=3)
    lake.commit(table, Manifest([FileEntry("a", MONDAY), FileEntry("b", MONDAY)]))
    vectors = [
        FileEntry(
            "v.puffin",
            MONDAY,
            content=1,
            format="PUFFIN",
            size_bytes=90,
            records=records,
            fields={
                "referenced_data_file": path,
                "content_offset": 4,
                "content_size_in_bytes": 40,
            },
        )
        for path, records in (("a", 7), ("b", 8))
    ]
    lake.commit(table, Manifest(vectors))

    assert survey().delete_files == tuple(
        DeleteFileFacts(
            "v.puffin", DeleteKind.DELETION_VECTOR, (0, MONDAY), 90, records, 2, path, 2
        )
        for path, records in (("a", 7), ("b", 8))
    )


def test_a_filter_leaves_delete_files_in_the_facts(lake, table, survey):
    lake.commit(table, Manifest([position("pos")]))

    facts = survey(where="day = 'tue'")

    assert [file.selected for file in facts.data_files] == [False, False]
    assert [file.path for file in facts.delete_files] == ["pos"]


def test_details_are_those_of_the_manifest(lake, table):
    fields = {"equality_ids": [1], "sort_order_id": 4, "value_counts": {1: 5}}
    entry = FileEntry("eq", MONDAY, content=2, size_bytes=50, records=5, fields=fields)
    lake.commit(table, Manifest([entry, position("p", **bounds(b"a", b"b"))]))
    lake.commit(table, Manifest([FileEntry("c", MONDAY)]))
    loaded = lake.catalog.load_table("db.events")
    head = loaded.current_snapshot().snapshot_id

    (found,) = read_delete_entries(loaded, head, ["eq", "c"])

    assert found == DeleteEntry(
        "eq",
        DeleteKind.EQUALITY,
        "PARQUET",
        0,
        MONDAY,
        50,
        5,
        2,
        equality_ids=(1,),
        sort_order_id=4,
        metrics=ColumnMetrics(value_counts={1: 5}),
    )
    assert {d.path for d in read_delete_entries(loaded, head, ["eq", "p"])} == {"eq", "p"}
    assert read_delete_entries(loaded, head, []) == []
