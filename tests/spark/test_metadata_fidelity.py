"""Metadata that Spark wrote goes through every change, and nothing else in it is different."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.model.expiry import TagToSet
from neve.model.metadata_change import MetadataChange
from neve.spark.tables import actions, iceberg, spark_name

pytestmark = pytest.mark.promise(15)

#: What a change may touch besides the entries that it was told to remove.
TOUCHED = {"refs", "current-snapshot-id", "snapshot-log", "metadata-log", "last-updated-ms"}
LISTS = ("snapshots", "statistics", "partition-statistics")


def evolved(lake, version):
    """Specs, schemas, sort orders, branches, statistics, deletes: all that metadata can hold."""
    properties = {"write.delete.mode": "merge-on-read"} if version > 1 else {}
    table = lake.create(by="kind", version=version, properties=properties)
    name = spark_name(table)
    lake.fill(table)
    actions(lake.session).computeTableStats(lake.java(table)).execute()
    lake.sql(f"ALTER TABLE {name} ADD COLUMN extra decimal(20, 4)")
    lake.sql(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(4, id)")
    lake.sql(f"ALTER TABLE {name} WRITE ORDERED BY id")
    lake.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('note' = 'ä \u20ac', 'empty' = '')")
    if version > 2:
        core = iceberg(lake.session)
        text = core.types.Types.StringType.get()
        default = core.expressions.Expressions.lit("none")
        lake.java(table).updateSchema().addColumn("origin", text, "where from", default).commit()
    lake.sql(f"INSERT INTO {name} SELECT * FROM {name}")
    retained = "RETAIN 9 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS"
    lake.sql(f"ALTER TABLE {name} CREATE BRANCH b {retained}")
    lake.sql(f"ALTER TABLE {name} CREATE TAG t RETAIN 5 DAYS")
    lake.sql(f"DELETE FROM {name} WHERE id = 3")
    actions(lake.session).computeTableStats(lake.java(table)).execute()
    if version > 1:
        actions(lake.session).computePartitionStats(lake.java(table)).execute()
    return table


def raw(lake, table):
    location = lake.java(table).operations().current().metadataFileLocation()
    return json.loads(Path(location.removeprefix("file:").replace("//", "/")).read_text())


def by_java(lake, table, change):
    """What Iceberg's own builder makes of the change, as JSON."""
    core = iceberg(lake.session)
    builder = core.TableMetadata.buildFrom(lake.java(table).operations().current())
    for tag in change.tags:
        ref = core.SnapshotRef.tagBuilder(tag.snapshot_id).maxRefAgeMs(tag.max_age_ms).build()
        builder.setRef(tag.name, ref)
    if change.set_main is not None:
        builder.setBranchSnapshot(change.set_main, "main")
    for name in change.drop_refs:
        builder.removeRef(name)
    if change.remove_snapshots:
        gone = lake.session._jvm.java.util.HashSet()
        for number in change.remove_snapshots:
            gone.add(number)
        builder.removeSnapshots(gone)
    return json.loads(core.TableMetadataParser.toJson(builder.build()))


def compared(metadata):
    """Moments are those of the commit; the order of entries means nothing."""
    log = [entry["snapshot-id"] for entry in metadata.get("snapshot-log", ())]
    lists = {
        key: sorted(metadata.get(key, ()), key=lambda item: item["snapshot-id"]) for key in LISTS
    }
    left_out = {*LISTS, "snapshot-log", "metadata-log", "last-updated-ms"}
    rest = {key: value for key, value in metadata.items() if key not in left_out}
    return rest, lists, log


@pytest.mark.parametrize("version", [1, 2, 3])
def test_changes_are_those_of_icebergs_own_builder_and_nothing_else(lake, version):
    table = evolved(lake, version)
    rows = lake.lineage(table) if version > 2 else lake.rows(table)
    ids = [s.snapshot_id for s in reversed(lake.facts(table).ancestry())]
    head = ids[-1]
    last = {"head": head}
    changes = [
        {**last, "tags": (TagToSet("kept", ids[0], 10**12),)},
        {**last, "set_main": ids[0]},
        {"head": ids[0], "set_main": head},
        {**last, "drop_refs": ("kept",)},
        {**last, "remove_snapshots": (ids[0],)},
    ]
    for what in changes:
        facts = lake.facts(table)
        change = MetadataChange(table=table, table_uuid=facts.table_uuid, purpose="Testing", **what)
        before, expected = raw(lake, table), by_java(lake, table, change)

        lake.app.maintenance.metadata.commit(change)

        after = raw(lake, table)
        assert compared(after) == compared(expected)
        untouched = {*TOUCHED, *(LISTS if change.remove_snapshots else ())}
        assert {k: v for k, v in after.items() if k not in untouched} == {
            k: v for k, v in before.items() if k not in untouched
        }
        for key in LISTS:
            assert all(item in before.get(key, ()) for item in after.get(key, ()))
    assert (lake.lineage(table) if version > 2 else lake.rows(table)) == rows
    location = lake.java(table).operations().current().metadataFileLocation()
    assert StaticTable.from_metadata(location).current_snapshot().snapshot_id == head
    # Spark goes on from there: sequence numbers and row ids follow.
    lake.sql(f"DELETE FROM {spark_name(table)} WHERE id = 5")
    assert lake.facts(table).ancestry()[1].snapshot_id == head


def test_a_clock_that_is_behind_makes_no_metadata_that_spark_refuses(lake):
    table = lake.create()
    lake.fill(table)
    first = lake.facts(table)
    lake.fill(table, start=30)
    slow = CatalogMetadataWriter(lake.app.catalogs, lambda: datetime(2020, 1, 1, tzinfo=UTC))

    slow.commit(
        MetadataChange(
            table=table,
            table_uuid=first.table_uuid,
            purpose="Testing",
            head=lake.facts(table).snapshot_id,
            set_main=first.snapshot_id,
        )
    )

    assert lake.java(table).currentSnapshot().snapshotId() == first.snapshot_id
    lake.fill(table, start=60)
