from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pyiceberg.partitioning import PartitionField as Field
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform, parse_transform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
    UUIDType,
)

from neve.model.errors import TableUnreadable
from neve.model.facts import (
    ColumnFacts,
    DataFileFacts,
    PartitionField,
    RefFacts,
    SpecFacts,
)
from neve.testing.facts import NOW
from neve.testing.local_lake import DELETED, EXISTING, FileEntry, Manifest

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "day", DateType(), required=False),
    NestedField(3, "name", StringType(), required=False),
    NestedField(4, "at", TimestamptzType(), required=False),
)


def spec(*fields):
    """Partition fields as (source id, transform, name)."""
    return PartitionSpec(
        *(
            Field(source, 1000 + i, parse_transform(transform), name)
            for i, (source, transform, name) in enumerate(fields)
        )
    )


def paths(facts):
    return [file.path for file in facts.data_files]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_that_was_never_written(lake, survey, version):
    table = lake.create("db.events", SCHEMA, format_version=version, properties={"a": "b"})

    facts = survey()

    assert (facts.format_version, facts.snapshot_id, facts.surveyed_at) == (version, None, NOW)
    assert (facts.table_uuid, facts.location) == (str(table.metadata.table_uuid), table.location())
    assert (facts.data_files, facts.delete_files, facts.snapshots, facts.refs) == ((), (), (), ())
    assert facts.manifest_count == 0
    assert facts.properties == {"a": "b"}
    assert facts.columns[:2] == (
        ColumnFacts(1, "id", "long", True),
        ColumnFacts(2, "day", "date", False),
    )


@pytest.mark.parametrize(("version", "numbers"), [(1, [0, 0]), (2, [1, 2]), (3, [1, 2])])
def test_files_inherit_what_their_manifest_says(lake, survey, version, numbers):
    table = lake.create("db.events", SCHEMA, format_version=version)
    lake.commit(table, Manifest([FileEntry("a", size_bytes=10, records=3)]))
    lake.commit(table, Manifest([FileEntry("b", size_bytes=20, records=4)]))

    facts = survey()

    assert facts.data_files == (
        DataFileFacts("a", "PARQUET", (0, ()), 10, 3, numbers[0], 1),
        DataFileFacts("b", "PARQUET", (0, ()), 20, 4, numbers[1], 2),
    )
    assert (facts.manifest_count, facts.total_bytes, facts.total_records) == (2, 30, 7)


def test_rewritten_manifests_keep_the_numbers_of_their_files(lake, survey):
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry("a"), FileEntry("gone")]))
    kept = FileEntry("a", status=EXISTING, snapshot_id=1, sequence_number=1)
    gone = FileEntry("gone", status=DELETED, snapshot_id=2, sequence_number=1)
    lake.commit(table, Manifest([kept, gone, FileEntry("b")]), keeps=False)

    facts = survey()

    assert [(f.path, f.added_snapshot_id, f.data_sequence_number) for f in facts.data_files] == [
        ("a", 1, 1),
        ("b", 2, 2),
    ]


def test_files_tell_their_format_row_groups_order_and_encryption(lake, survey):
    table = lake.create("db.events", SCHEMA)
    fields = {"split_offsets": [4, 900], "sort_order_id": 3, "key_metadata": b"key"}
    lake.commit(table, Manifest([FileEntry("a", format="orc"), FileEntry("b", fields=fields)]))

    first, second = survey().data_files

    assert (first.format, first.row_groups, first.sort_order_id, first.encrypted) == (
        "ORC",
        None,
        None,
        False,
    )
    assert (second.row_groups, second.sort_order_id, second.encrypted) == (2, 3, True)


def test_snapshots_are_read_with_what_their_writers_said(lake, survey):
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry("a")]))
    lake.commit(
        table, Manifest([FileEntry("b")]), operation="replace", summary={"neve.job-id": "j1"}
    )

    facts = survey()

    assert [(s.snapshot_id, s.parent_id, s.operation, s.job_id) for s in facts.snapshots] == [
        (1, None, "append", None),
        (2, 1, "replace", "j1"),
    ]
    assert facts.snapshots[1].committed_at - facts.snapshots[0].committed_at == timedelta(seconds=1)
    assert facts.snapshots[0].committed_at.tzinfo is UTC


def test_branches_and_tags_are_read(lake, survey):
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry("a")]))
    table.manage_snapshots().create_tag(1, "keep", max_ref_age_ms=5000).commit()

    assert survey().refs == (RefFacts("main", 1, "branch"), RefFacts("keep", 1, "tag", 5000))


def test_an_earlier_snapshot_can_be_surveyed(lake, survey):
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry("a")]))
    lake.commit(table, Manifest([FileEntry("b")]))

    facts = survey(snapshot_id=1)

    assert (facts.snapshot_id, paths(facts), len(facts.snapshots)) == (1, ["a"], 2)


def test_a_snapshot_that_is_not_kept_is_not_an_empty_table(lake, survey):
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry("a")]))

    with pytest.raises(TableUnreadable, match=r"lake\.db\.events keeps no snapshot 99\."):
        survey(snapshot_id=99)


def test_the_sort_order_is_read(lake, survey):
    lake.catalog.create_namespace("db")
    order = SortOrder(SortField(3, IdentityTransform()), SortField(1, IdentityTransform()))
    lake.catalog.create_table("db.events", SCHEMA, sort_order=order)

    assert (survey().sort_columns, survey().sort_order_id) == (("name", "id"), 1)


@pytest.mark.parametrize(
    ("source", "transform", "result_type", "value", "name"),
    [
        (3, "identity", "string", "click", "p=click"),
        (2, "identity", "date", 20000, "p=2024-10-04"),
        (4, "year", "int", 54, "p=2024"),
        (4, "month", "int", 648, "p=2024-01"),
        (4, "day", "date", 20000, "p=2024-10-04"),
        (4, "hour", "int", 480000, "p=2024-10-04-00"),
        (1, "bucket[16]", "int", 7, "p=7"),
        (3, "truncate[3]", "string", "cli", "p=cli"),
        (3, "void", "string", None, "p=null"),
        (3, "identity", "string", None, "p=null"),
    ],
)
def test_partitions_of_every_transform(lake, survey, source, transform, result_type, value, name):
    table = lake.create("db.events", SCHEMA, spec((source, transform, "p")))
    lake.commit(table, Manifest([FileEntry("a", (value,))]))

    facts = survey()

    column = SCHEMA.find_column_name(source)
    assert facts.specs == {0: SpecFacts(0, (PartitionField("p", transform, column, result_type),))}
    assert facts.data_files[0].partition == (0, (value,))
    assert facts.partition_name(facts.data_files[0].partition) == name


@pytest.mark.parametrize(
    ("of", "value"),
    [
        (DecimalType(9, 2), Decimal("-1.50")),
        (DoubleType(), 0.1),
        (BooleanType(), False),
        (UUIDType(), uuid.UUID(int=7)),
        (TimestamptzType(), 1_700_000_000_123_456),
    ],
)
def test_partition_values_survive_the_manifest(lake, survey, of, value):
    schema = Schema(NestedField(1, "x", of, required=False))
    table = lake.create("db.events", schema, spec((1, "identity", "x")))
    lake.commit(table, Manifest([FileEntry("a", (value,)), FileEntry("b", (None,))]))

    assert [file.partition[1] for file in survey().data_files] == [(value,), (None,)]


def test_files_of_an_old_spec_keep_its_partition(lake, survey):
    table = lake.create("db.events", SCHEMA, spec((3, "identity", "name")))
    lake.commit(table, Manifest([FileEntry("old", ("click",))]))
    with table.update_spec() as update:
        update.add_field("id", parse_transform("bucket[4]"), "part")
    lake.commit(table, Manifest([FileEntry("new", ("view", 3))]))

    facts = survey()

    assert (facts.current_spec_id, sorted(facts.specs)) == (1, [0, 1])
    assert [f.partition for f in facts.data_files] == [(0, ("click",)), (1, ("view", 3))]
    assert facts.partition_name(facts.data_files[1].partition) == "name=view/part=3"


def test_a_filter_asks_files_of_every_spec(lake, survey):
    table = lake.create("db.events", SCHEMA, spec((3, "identity", "name")))
    lake.commit(table, Manifest([FileEntry("old click", ("click",)), FileEntry("old", ("view",))]))
    with table.update_spec() as update:
        update.remove_field("name")
        update.add_field("day", "day", "day_day")
    lake.commit(table, Manifest([FileEntry("new", (20000,)), FileEntry("late", (20001,))]))

    facts = survey(where="name = 'click' AND day = '2024-10-04'")

    assert [f.path for f in facts.data_files if f.selected] == ["old click", "new"]


def test_a_partition_outlives_its_column(lake, survey):
    table = lake.create("db.events", SCHEMA, spec((3, "identity", "name")))
    lake.commit(table, Manifest([FileEntry("old", ("click",))]))
    with table.update_spec() as update:
        update.remove_field("name")
    with table.update_schema() as update:
        update.delete_column("name")
    lake.commit(table, Manifest([FileEntry("new", ())]))

    facts = survey(where="id = 7")

    assert facts.specs[0].fields == (PartitionField("name", "identity", None, "string"),)
    assert [(f.path, f.partition, f.selected) for f in facts.data_files] == [
        ("old", (0, ("click",)), True),
        ("new", (1, ()), True),
    ]


def test_a_renamed_column_keeps_its_partitions(lake, survey):
    table = lake.create("db.events", SCHEMA, spec((3, "identity", "name")))
    lake.commit(table, Manifest([FileEntry("a", ("click",)), FileEntry("b", ("view",))]))
    with table.update_schema() as update:
        update.rename_column("name", "kind")

    facts = survey(where="kind = 'view'")

    assert facts.specs[0].fields[0].source_column == "kind"
    assert [f.path for f in facts.data_files if f.selected] == ["b"]


def test_a_filter_is_kept_as_written_and_as_expression(lake, survey):
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry("a")]))

    facts = survey(where="ID > 5.0")

    assert (facts.where, facts.filter) == ("ID > 5.0", '{"type":"gt","term":"id","value":5}')


def test_statistics_in_manifests_select_files(lake, survey):
    table = lake.create("db.events", SCHEMA)
    counts = {"value_counts": {1: 100}, "null_value_counts": {1: 0}}
    bounds = [
        {
            "lower_bounds": {1: low.to_bytes(8, "little")},
            "upper_bounds": {1: high.to_bytes(8, "little")},
        }
        for low, high in ((1, 5), (6, 9))
    ]
    lake.commit(
        table, Manifest([FileEntry(str(i), fields={**counts, **b}) for i, b in enumerate(bounds)])
    )

    facts = survey(where="id BETWEEN 2 AND 5")

    assert [file.selected for file in facts.data_files] == [True, False]


def test_a_file_that_pyiceberg_wrote_is_surveyed(lake, survey):
    import pyarrow as pa

    table = lake.create("db.events", Schema(NestedField(1, "id", LongType(), required=False)))
    table.append(pa.table({"id": [1, 2, 3]}))

    facts = survey(where="id = 2")

    (file,) = facts.data_files
    assert (file.record_count, file.row_groups, file.selected) == (3, 1, True)
    assert datetime.now(tz=UTC) - facts.snapshots[0].committed_at < timedelta(minutes=5)
