"""Advice beyond files: each finding has its table, and a table like it that is fine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neve.catalog.overlaps import overlap
from neve.model.facts import (
    ColumnFacts,
    ManifestContent,
    ManifestFacts,
    PartitionField,
    RefFacts,
    SpecFacts,
)
from neve.model.policy import CompactionPolicy
from neve.planning.advice import GB, MIN_PARTITIONS, advise
from neve.testing.facts import MB, data_file, snapshot, table_facts

POLICY = CompactionPolicy(target_file_size_bytes=128 * MB)
NAME = "`lake`.`db`.`events`"


def advice(facts, overlaps=None):
    return list(advise(facts, POLICY, overlaps or {}))


def codes(facts, overlaps=None):
    return [item.code for item in advice(facts, overlaps)]


def by(transform, count, size, result_type="int"):
    """A table of that many partitions, each of one file of that size."""
    field = PartitionField("ts_part", transform, "ts", result_type)
    files = [data_file(str(n), size, partition=(0, (n,))) for n in range(count)]
    return replace(table_facts(files), specs={0: SpecFacts(0, (field,))}, current_spec_id=0)


@pytest.mark.parametrize(
    ("transform", "kind", "wider"),
    [
        ("hour", "int", "days(`ts`)"),
        ("day", "int", "months(`ts`)"),
        ("month", "int", "years(`ts`)"),
        ("bucket[64]", "int", "bucket(16, `ts`)"),
        ("identity", "string", "bucket(16, `ts`)"),
        ("identity", "date", "months(`ts`)"),
    ],
)
def test_partitions_that_are_too_small_are_made_wider(transform, kind, wider):
    (found,) = advice(by(transform, 72, int(1.3 * MB), kind))

    assert found.code == "over_partitioned"
    assert "72 partitions hold 1.3 MB each" in found.evidence
    assert found.command == f"ALTER TABLE {NAME} REPLACE PARTITION FIELD `ts_part` WITH {wider}"
    assert found.gain


@pytest.mark.parametrize(
    "facts",
    [
        by("hour", 72, 100 * MB),
        by("hour", MIN_PARTITIONS - 1, MB),
        by("year", 72, MB),
        by("bucket[4]", 72, MB),
    ],
)
def test_partitions_that_are_as_they_should_be_are_left(facts):
    assert codes(facts) == []


def unpartitioned(size, *columns):
    facts = table_facts([data_file("f", size, partition=(0, ()))])
    named = tuple(ColumnFacts(n, f"c{n}", kind, False) for n, kind in enumerate(columns, 1))
    return replace(facts, specs={0: SpecFacts(0, ())}, current_spec_id=0, columns=named)


def test_a_large_table_without_partitions_is_cut_by_its_time():
    (found,) = advice(unpartitioned(65 * GB, "long", "timestamptz"))

    assert found.code == "under_partitioned"
    assert found.command == f"ALTER TABLE {NAME} ADD PARTITION FIELD days(`c2`)"
    assert codes(unpartitioned(65 * GB, "long")) == []
    assert codes(unpartitioned(GB, "timestamptz")) == []


@pytest.mark.parametrize(("said", "is_told"), [(MB, True), (4 * GB, True), (256 * MB, False)])
def test_a_target_size_that_readers_do_not_like(said, is_told):
    facts = replace(table_facts(), properties={"write.target-file-size-bytes": str(said)})

    found = [item.command for item in advice(facts)]
    wanted = f"ALTER TABLE {NAME} SET TBLPROPERTIES ('write.target-file-size-bytes' = '134217728')"
    assert found == ([wanted] if is_told else [])


def written(files, size, places, count=5, **properties):
    told = {"added-data-files": files, "added-files-size": size, "changed-partition-count": places}
    made = [snapshot(n, n - 1 or None) for n in range(1, count + 1)]
    commits = [
        replace(s, operation="append", summary={k: str(v) for k, v in told.items()}) for s in made
    ]
    return replace(table_facts(snapshots=commits), properties=properties)


def test_writers_that_leave_many_small_files_are_told_which_property_to_set():
    (found,) = advice(written(40, 40 * MB, 2))

    assert found.code == "write_distribution"
    assert "5 recent commits added 200 files of 1.0 MB to 10 partitions" in found.evidence
    assert found.command.endswith("('write.distribution-mode' = 'hash')")
    hashed = {"write.distribution-mode": "hash", "write.spark.fanout.enabled": "true"}
    (fanning,) = advice(written(40, 40 * MB, 2, **hashed))
    assert fanning.command.endswith("('write.spark.fanout.enabled' = 'false')")


@pytest.mark.parametrize(
    "facts",
    [
        written(2, 2 * MB, 2),
        written(40, 40 * 128 * MB, 2),
        written(40, 40 * MB, 2, count=2),
        written(40, 40 * MB, 2, **{"write.distribution-mode": "hash"}),
    ],
)
def test_writers_without_fault_hear_nothing(facts):
    assert codes(facts) == []


def manifests(count, partitions_each, places):
    files = [data_file(str(n), 100 * MB, partition=(0, (n,))) for n in range(places)]
    line = ManifestFacts("m", ManifestContent.DATA, 0, 1000, 1, 5, partitions_each)
    return replace(table_facts(files), manifests=(line,) * count)


def test_manifests_that_list_all_partitions_are_to_be_clustered():
    (found,) = advice(manifests(20, 8, 8))

    assert found.code == "manifests_unclustered"
    assert found.command == "neve manifests lake.db.events"
    assert "in 20 of 20 manifests on average" in found.evidence
    assert codes(manifests(20, 1, 20)) == []
    assert codes(manifests(5, 8, 8)) == []


def test_snapshots_and_refs_that_are_too_many():
    many = [snapshot(n, n - 1 or None) for n in range(1, 101)]
    refs = tuple(RefFacts(f"tag-{n}", 1, "tag") for n in range(60))
    undo = tuple(RefFacts(f"neve-undo-{n}", 1, "tag") for n in range(60))

    found = advice(replace(table_facts(snapshots=many), refs=refs))

    assert [item.code for item in found] == ["many_snapshots", "many_refs"]
    assert found[0].command == "neve expire lake.db.events --older-than 7d --apply"
    assert codes(replace(table_facts(), refs=undo)) == []


def test_a_table_whose_files_all_overlap_is_to_be_sorted():
    facts = replace(table_facts([data_file("f", 100 * MB)]), sort_columns=())

    (found,) = advice(facts, {"id": 1.0, "ts": 0.95})
    assert found.command == "neve compact lake.db.events --strategy sort --sort-by id"
    assert "100% in id, 95% in ts" in found.evidence
    assert codes(facts, {"id": 1.0, "ts": 0.2}) == []
    assert codes(replace(facts, sort_columns=("id",)), {"id": 1.0}) == []


@pytest.mark.parametrize(
    ("ranges", "share"),
    [
        ([(0, 9), (10, 19), (20, 29)], 0.0),
        ([(0, 9)] * 4, 1.0),
        ([(0, 9), (5, 14)], 0.5),
        ([(0, 9)], 0.0),
    ],
)
def test_overlap_is_the_share_of_files_that_a_value_may_be_in(ranges, share):
    assert overlap(ranges) == share
