"""Deletes of every kind: the survey tells them apart, compaction applies them, the proof counts."""

from __future__ import annotations

from collections import Counter

import pytest

from neve.model.outcome import Status
from neve.model.plan import NothingToDo
from neve.model.policy import CompactionPolicy, Strategy

MERGE_ON_READ = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
}


def kinds_of(lake, table):
    return Counter(str(delete.kind) for delete in lake.facts(table).delete_files)


def proved(outcome):
    """Rows in, deleted and out, and how the deleted ones were counted."""
    proof = outcome.proof
    return proof.rows_in, proof.rows_deleted, proof.rows_out, proof.deletes_counted_by


@pytest.mark.conformance("position deletes", "deletion vectors")
@pytest.mark.parametrize(
    ("version", "kind", "counted_by"), [(2, "position", "scan"), (3, "deletion_vector", "metadata")]
)
@pytest.mark.parametrize("by", ["", "kind"])
def test_deletes_by_position_are_applied(lake, by, version, kind, counted_by):
    table = lake.create(by=by, version=version, properties=MERGE_ON_READ)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id IN (1, 2, 12, 13, 28)")
    before, kinds = lake.rows(table), kinds_of(lake, table)
    health = lake.app.maintenance.health(table)

    outcome = lake.compact(table)

    assert kinds == health.delete_files == {kind: 5 if by else 3}
    assert outcome.status is Status.SUCCEEDED
    assert proved(outcome) == (30, 5, 25, counted_by)
    assert lake.rows(table) == before
    assert lake.facts(table).total_records == 25
    assert lake.plan(table, Strategy.DELETE_FILES).reasons[0].code is NothingToDo.NO_DELETES


@pytest.mark.conformance("deletes below and above a threshold")
def test_only_files_with_deletes_are_rewritten(lake):
    table = lake.create(version=3, properties=MERGE_ON_READ)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id BETWEEN 0 AND 3")
    hit = {delete.referenced_path for delete in lake.facts(table).delete_files}
    untouched = lake.paths(table) - hit

    outcome = lake.compact(table, Strategy.DELETE_FILES)

    assert (len(hit), len(untouched)) == (1, 2)
    assert outcome.reason == "1 file became 1."
    assert proved(outcome) == (10, 4, 6, "metadata")
    assert untouched < lake.paths(table)
    assert lake.facts(table).delete_files == ()


def test_one_delete_file_for_a_whole_partition(lake):
    table = lake.create(properties={**MERGE_ON_READ, "write.delete.granularity": "partition"})
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id % 10 = 0")
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert proved(outcome) == (30, 3, 27, "scan")
    assert lake.rows(table) == before


@pytest.mark.conformance("equality deletes")
def test_equality_deletes_are_applied(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    lake.delete_equal(table, "id", 2, 4, 6, 1000, partition="kind=k0")
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert kinds_of(lake, table) == {}
    assert before.total() == 27
    assert proved(outcome) == (30, 3, 27, "scan")
    assert {p.partition: p.rows_deleted for p in outcome.proof.partitions} == {
        "kind=k0": 3,
        "kind=k1": 0,
    }
    assert lake.rows(table) == before


def test_equality_deletes_spare_what_came_after_them(lake):
    table = lake.create()
    lake.fill(table)
    lake.delete_equal(table, "id", 5, 6)
    lake.sql(f"INSERT INTO {table} VALUES (5, 'again')")
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert kinds_of(lake, table) == {}
    assert proved(outcome) == (31, 2, 29, "scan")
    assert before["Row(id=5, kind='again')"] == 1
    assert lake.rows(table) == before


def test_equality_deletes_that_others_need_stay(lake):
    """The delete is global: files of the old spec outside the rewritten ones still need it."""
    table = lake.create()
    lake.fill(table)
    lake.delete_equal(table, "id", 0, 10, 20)
    first = min(lake.facts(table).data_files, key=lambda file: file.path)
    before = lake.rows(table)

    plan = lake.plan(table, Strategy.DELETE_FILES, where="id < 10")
    outcome = lake.app.maintenance.apply(plan)

    assert [len(group.files) for group in plan.groups] == [1]
    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert first.path not in lake.paths(table)
    assert kinds_of(lake, table) == {"equality": 1}
    assert lake.rows(table) == before


@pytest.mark.conformance("a global equality delete under an evolved spec")
def test_a_global_equality_delete_reaches_files_of_other_specs(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    lake.sql(f"ALTER TABLE {table} DROP PARTITION FIELD kind")
    lake.delete_equal(table, "id", 0, 1, 2)
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert proved(outcome) == (30, 3, 27, "scan")
    assert lake.rows(table) == before
    assert lake.plan(table).is_empty


def test_deletes_of_two_kinds_on_one_file(lake):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id IN (0, 1)")
    lake.delete_equal(table, "id", 1, 2)
    before, kinds = lake.rows(table), kinds_of(lake, table)

    outcome = lake.compact(table)

    assert kinds == {"position": 1, "equality": 1}
    assert proved(outcome) == (30, 3, 27, "scan")
    assert lake.rows(table) == before


def test_position_deletes_and_vectors_after_an_upgrade(lake):
    table = lake.create(version=2, properties=MERGE_ON_READ)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id IN (0, 10)")
    lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    lake.sql(f"DELETE FROM {table} WHERE id IN (11, 20)")
    before, kinds = lake.rows(table), kinds_of(lake, table)

    outcome = lake.compact(table)

    assert kinds == {"position": 1, "deletion_vector": 2}
    assert proved(outcome) == (30, 4, 26, "scan")
    assert lake.rows(table) == before


@pytest.mark.conformance("every row is deleted")
@pytest.mark.parametrize("version", [2, 3])
def test_a_file_whose_every_row_is_deleted_goes_away(lake, version):
    table = lake.create(by="kind", version=version, properties=MERGE_ON_READ)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id % 2 = 0")
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED
    assert (outcome.proof.rows_deleted, outcome.proof.rows_out) == (15, 15)
    assert lake.facts(table).total_records == 15
    assert lake.rows(table) == before


@pytest.mark.conformance("deletes below and above a threshold")
def test_deletes_below_the_threshold_are_left_alone(lake):
    table = lake.create(version=3, properties=MERGE_ON_READ)
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id = 0")

    policy = CompactionPolicy(delete_file_ratio=0.5, delete_record_ratio=0.5)
    plan = lake.plan(table, Strategy.DELETE_FILES, policy=policy)

    assert plan.is_empty
    assert plan.reason == "Partition (unpartitioned): deletes are below the threshold."
