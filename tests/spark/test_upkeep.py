"""Manifests, delete files and statistics: what is tidied, and that no row changes."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.facts import StatisticsKind
from neve.model.outcome import Status
from neve.model.policies import ComputeTableStatsArguments
from neve.planning.operations.rewrite_manifests import ManifestThresholds
from neve.service.operations.compute_partition_stats import ComputePartitionStatsOperation
from neve.service.operations.compute_table_stats import ComputeTableStatsOperation
from neve.service.operations.remove_dangling_deletes import RemoveDanglingDeletesOperation
from neve.service.operations.rewrite_manifests import RewriteManifestsOperation
from neve.service.operations.rewrite_position_delete_files import (
    RewritePositionDeleteFilesOperation,
)
from neve.service.operations.rollback import RollbackTarget
from neve.service.unchanged import same_rows
from neve.spark.tables import iceberg
from neve.testing.operations import plan_operation, roll_back, run_operation

pytestmark = pytest.mark.promise(10, 11, 12)

MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
REWRITE_MANIFESTS = RewriteManifestsOperation(thresholds=ManifestThresholds(min_manifests=3))
REWRITE_DELETES = RewritePositionDeleteFilesOperation()
REMOVE_DANGLING = RemoveDanglingDeletesOperation()


def run(lake, table, operation):
    """Run it, and see that it would not run again."""
    outcome = run_operation(lake.app.maintenance, table, operation)
    again = plan_operation(lake.app.maintenance, table, operation)
    assert again.is_empty, again.reason
    return outcome


@pytest.mark.conformance("manifests are merged and row ids stay")
def test_manifests_of_every_spec_are_merged_and_rows_keep_their_ids(lake):
    properties = {**MERGE_ON_READ, "commit.manifest-merge.enabled": "false"}
    table = lake.create(by="kind", version=3, properties=properties)
    for index in range(3):
        lake.fill(table, start=30 * index, files=1)
    lake.sql(f"DELETE FROM {table} WHERE id IN (1, 31)")
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
    for index in range(3, 6):
        lake.fill(table, start=30 * index, files=1)
    before, lineage = lake.facts(table), lake.lineage(table)

    outcome = run(lake, table, REWRITE_MANIFESTS)

    after = lake.facts(table)
    assert outcome.status is Status.SUCCEEDED
    assert outcome.reason == "7 manifests became 3."
    assert (outcome.figures_before["manifests"], outcome.figures_after["manifests"]) == (7, 3)
    assert len(after.snapshots) == len(before.snapshots) + 2
    assert set(after.data_files) == set(before.data_files)
    assert set(after.delete_files) == set(before.delete_files)
    assert lake.lineage(table) == lineage

    undo = RollbackTarget(job_id=outcome.job_id)
    roll_back(lake.app.maintenance, table, undo, undo_window_seconds=60)
    assert lake.facts(table).manifests == before.manifests
    assert lake.lineage(table) == lineage


@pytest.mark.conformance("position delete files are merged")
@pytest.mark.parametrize(("granularity", "left"), [("partition", 2), ("file", 3)])
def test_position_delete_files_are_merged(lake, granularity, left):
    """By partition one a partition is left, by file one a data file."""
    properties = {**MERGE_ON_READ, "write.delete.granularity": "partition"}
    table = lake.create(by="kind", properties=properties)
    lake.fill(table, files=1)
    lake.fill(table, start=30, files=1)
    for deleted in (0, 2, 30, 1, 3):
        lake.sql(f"DELETE FROM {table} WHERE id = {deleted}")
    lake.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.granularity' = '{granularity}')"
    )
    before, rows = lake.facts(table), lake.rows(table)

    outcome = run(lake, table, REWRITE_DELETES)

    after = lake.facts(table)
    assert (outcome.status, outcome.reason) == (
        Status.SUCCEEDED,
        f"5 position delete files became {left}.",
    )
    assert set(after.data_files) == set(before.data_files)
    assert lake.rows(table) == rows


def test_position_deletes_become_vectors_after_an_upgrade(lake):
    properties = {**MERGE_ON_READ, "write.delete.granularity": "partition"}
    table = lake.create(properties=properties)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id IN (0, 10)")
    lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    lake.sql(f"DELETE FROM {table} WHERE id IN (11, 20)")
    rows = lake.rows(table)

    outcome = run(lake, table, REWRITE_DELETES)

    assert outcome.reason == "1 position delete file became 0 and 3 deletion vectors."
    assert lake.rows(table) == rows


@pytest.mark.conformance(
    "dangling deletes under an evolved spec",
    "dangling deletes go",
    "a global equality delete stays",
)
def test_dangling_deletes_go_and_a_global_equality_delete_stays(lake):
    """The delete has the unpartitioned spec, and still applies to files of the partitioned one."""
    table = lake.create(properties=MERGE_ON_READ)
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD kind")
    lake.fill(table)
    delete_everywhere(lake, table, 3, 4)
    lake.delete_equal(table, "id", 6, partition="kind=k0")
    rows = lake.rows(table)
    # Its files become younger than both deletes, and those of the other partition stay.
    lake.compact(table, where="kind = 'k0'")

    outcome = run(lake, table, REMOVE_DANGLING)

    assert outcome.reason == "1 delete file that applied to no data file was dropped."
    assert [delete.partition for delete in lake.facts(table).delete_files] == [(0, ())]
    assert lake.rows(table) == rows
    assert "Row(id=5, kind='k1')" in rows
    assert "Row(id=3, kind='k1')" not in rows


def delete_everywhere(lake, table, *ids):
    """Commit an equality delete of the unpartitioned spec 0, as a stream writer does."""
    loaded = lake.java(table)
    location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}-deletes.parquet")
    path = Path(location.removeprefix("file:"))
    path.parent.mkdir(parents=True, exist_ok=True)
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table([list(ids)], pa.schema([field])), path)
    field_ids = lake.session.sparkContext._gateway.new_array(lake.session._jvm.int, 1)
    field_ids[0] = 1
    spec = loaded.specs().get(0)
    builder = iceberg(lake.session).FileMetadata.deleteFileBuilder(spec)
    builder = builder.ofEqualityDeletes(field_ids).withFormat("PARQUET").withPath(location)
    builder = builder.withFileSizeInBytes(path.stat().st_size).withRecordCount(len(ids))
    loaded.newRowDelta().addDeletes(builder.build()).commit()


def test_a_delete_file_that_is_lost_is_noticed(lake):
    """Iceberg drops a delete file that applies when told to; the check reads the rows."""
    table = lake.create(version=2, properties=MERGE_ON_READ)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id IN (0, 10)")
    before = lake.facts(table)
    loaded = lake.java(table)
    task = loaded.newScan().planFiles().iterator().next()
    loaded.newRewrite().deleteFile(task.deletes().get(0)).commit()

    problem = same_rows(lake.app.maintenance, before, lake.facts(table))

    assert problem is not None
    assert problem.endswith("had 9 live rows and now has 10.")


@pytest.mark.conformance("statistics after a rewrite")
def test_statistics_are_computed_where_they_are_missing(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    rows = lake.rows(table)
    of_id = ComputeTableStatsOperation(arguments=ComputeTableStatsArguments(("id",)))

    outcomes = [
        run(lake, table, of_id),
        run(lake, table, ComputeTableStatsOperation()),
        run(lake, table, ComputePartitionStatsOperation()),
    ]

    facts = lake.facts(table)
    assert [outcome.status for outcome in outcomes] == [Status.SUCCEEDED] * 3
    assert [outcome.figures_after["columns_with_statistics"] for outcome in outcomes] == [1, 2, 2]
    assert {(s.kind, s.snapshot_id) for s in facts.statistics} == {
        (StatisticsKind.TABLE, facts.snapshot_id),
        (StatisticsKind.PARTITION, facts.snapshot_id),
    }
    assert len(facts.snapshots) == 1
    assert lake.rows(table) == rows
    metadata = json.loads(lake.app.catalogs.load(table).metadata.model_dump_json(by_alias=True))
    counted = {
        b["fields"][0]: b["properties"]["ndv"] for b in metadata["statistics"][0]["blob-metadata"]
    }
    assert counted == {1: "30", 2: "2"}

    lake.fill(table, start=30)
    assert not plan_operation(lake.app.maintenance, table, ComputeTableStatsOperation()).is_empty
