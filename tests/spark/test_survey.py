"""The survey reads manifests by itself; Iceberg's own metadata tables say whether it is right."""

from __future__ import annotations

from collections import Counter

import pytest

from neve.model.facts import RefFacts
from neve.model.policy import CompactionPolicy, Strategy

CONTENTS = {"position": 1, "deletion_vector": 1, "equality": 2}


def files_by_iceberg(lake, table):
    rows = lake.sql(
        "SELECT f.file_path, f.spec_id, f.record_count, f.file_size_in_bytes, f.file_format, "
        "f.sort_order_id, size(f.split_offsets) AS row_groups, e.sequence_number, e.snapshot_id "
        f"FROM {table}.data_files f JOIN {table}.entries e ON f.file_path = e.data_file.file_path "
        "WHERE e.status < 2"
    ).collect()
    return sorted(tuple(row) for row in rows)


def files_by_neve(lake, table):
    return sorted(
        (
            file.path,
            file.partition[0],
            file.record_count,
            file.size_bytes,
            file.format,
            file.sort_order_id,
            file.row_groups,
            file.data_sequence_number,
            file.added_snapshot_id,
        )
        for file in lake.facts(table).data_files
    )


@pytest.mark.parametrize("version", [1, 2, 3])
def test_data_files_are_those_of_iceberg(lake, version):
    table = lake.create(by="kind", version=version)
    lake.fill(table)
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD truncate(10, id)")
    lake.sql(f"ALTER TABLE {table} WRITE LOCALLY ORDERED BY id")
    lake.fill(table, start=30)
    lake.compact(table, where="id < 10")
    lake.sql(f"DELETE FROM {table} WHERE id = 35")

    assert files_by_neve(lake, table) == files_by_iceberg(lake, table)
    assert lake.facts(table).manifest_count == lake.sql(f"SELECT * FROM {table}.manifests").count()


@pytest.mark.parametrize("version", [2, 3])
def test_delete_files_are_those_of_iceberg(lake, version):
    table = lake.create(
        by="kind", version=version, properties={"write.delete.mode": "merge-on-read"}
    )
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id IN (0, 1, 10)")
    if version == 2:
        lake.delete_equal(table, "id", 4, partition="kind=k0")

    rows = lake.sql(f"SELECT file_path, content, record_count FROM {table}.delete_files").collect()
    found = [
        (delete.path, CONTENTS[delete.kind], delete.record_count)
        for delete in lake.facts(table).delete_files
    ]
    assert Counter(found) == Counter(tuple(row) for row in rows)
    assert len(found) == (4 if version == 2 else 3)


def test_snapshots_and_refs_are_those_of_iceberg(lake):
    table = lake.create()
    lake.fill(table)
    first = lake.facts(table).snapshot_id
    lake.sql(f"ALTER TABLE {table} CREATE TAG `end of year` RETAIN 2 DAYS")
    lake.sql(f"ALTER TABLE {table} CREATE BRANCH audit")
    lake.sql(f"INSERT INTO {table}.branch_audit VALUES (99, 'on a branch')")
    lake.fill(table, start=30)

    facts = lake.facts(table)
    rows = lake.sql(f"SELECT snapshot_id, parent_id, operation FROM {table}.snapshots").collect()
    assert Counter((s.snapshot_id, s.parent_id, s.operation) for s in facts.snapshots) == Counter(
        tuple(row) for row in rows
    )
    assert RefFacts("end of year", first, "tag", 2 * 86400 * 1000) in facts.refs
    assert [snapshot.snapshot_id for snapshot in facts.ancestry()] == [facts.snapshot_id, first]
    assert facts.total_records == 60


@pytest.mark.conformance("branches and tags are left alone", "branch, tag and staged write")
def test_branches_and_tags_keep_their_rows_when_main_is_compacted(lake):
    table = lake.create()
    lake.fill(table)
    lake.sql(f"ALTER TABLE {table} CREATE TAG monday")
    lake.sql(f"ALTER TABLE {table} CREATE BRANCH audit")
    lake.sql(f"INSERT INTO {table}.branch_audit VALUES (99, 'on a branch')")
    views = ["", "VERSION AS OF 'monday'", "VERSION AS OF 'audit'"]
    before = [lake.rows(table, at=view) for view in views]

    lake.compact(table)

    assert [lake.rows(table, at=view) for view in views] == before
    assert [rows.total() for rows in before] == [30, 30, 31]


@pytest.mark.conformance("the plan is what Iceberg rewrites")
@pytest.mark.parametrize(
    ("strategy", "by"),
    [(Strategy.DELETE_FILES, ()), (Strategy.SORT, ("id",)), (Strategy.ZORDER, ("id",))],
)
def test_iceberg_rewrites_the_files_that_were_planned(lake, strategy, by):
    """Files of many sizes, some with deletes, on both sides of the thresholds."""
    table = lake.create(by="kind", version=3, properties={"write.delete.mode": "merge-on-read"})
    for power in range(6):
        lake.fill(
            table, "id", "concat('k', k) kind", files=1, rows=50 * 2**power, start=10_000 * power
        )
    lake.sql(f"DELETE FROM {table} WHERE id IN (0, 50001, 50003)")
    sizes = sorted(file.size_bytes for file in lake.facts(table).data_files)
    policy = CompactionPolicy(target_file_size_bytes=sizes[8], delete_file_ratio=0.0)
    plan = lake.plan(table, strategy, by=by, policy=policy)
    before, rows = lake.paths(table), lake.rows(table)

    lake.app.maintenance.apply(plan)

    planned = {file.path for group in plan.groups for file in group.files}
    assert before - lake.paths(table) == planned
    assert lake.rows(table) == rows
