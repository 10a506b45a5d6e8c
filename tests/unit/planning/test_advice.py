"""Advice beyond files: each finding has its table, and a table like it that is fine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

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
from neve.planning.advice import advise
from neve.planning.advised_table import MIN_PARTITIONS
from neve.planning.partition_advice import GB
from neve.testing.facts import MB, NOW, data_file, snapshot, table_facts

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
        ("bucket[64]", "int", "bucket(4, `ts`)"),
        ("identity", "string", "bucket(4, `ts`)"),
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
    ],
)
def test_partitions_that_are_as_they_should_be_are_left(facts):
    assert codes(facts) == []


@pytest.mark.parametrize(
    ("transform", "size", "wider"),
    [("hour", 100_000, "months"), ("hour", 3_000, "years"), ("day", 100_000, "years")],
)
def test_partitions_become_as_wide_as_one_good_file_needs(transform, size, wider):
    (found,) = advice(by(transform, 480, size))

    assert found.command.endswith(f"WITH {wider}(`ts`)")


def test_buckets_of_which_hardly_one_would_be_left_are_dropped():
    (found,) = advice(by("bucket[64]", 64, 30_000))

    assert found.command == f"ALTER TABLE {NAME} DROP PARTITION FIELD `ts_part`"
    assert "about 1 partition instead of 64" in found.gain


def test_partitions_of_an_older_spec_are_no_fault_of_the_one_that_took_its_place():
    facts = by("hour", 480, 3_000)
    after = replace(facts, specs={**facts.specs, 1: SpecFacts(1, ())}, current_spec_id=1)

    assert codes(after) == []


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


def test_where_nothing_is_partitioned_an_order_is_what_gathers_rows():
    scattered = written(40, 40 * MB, 1)
    (time,) = unpartitioned(1, "timestamptz").columns
    facts = replace(scattered, specs={0: SpecFacts(0, ())}, current_spec_id=0)

    (found,) = advice(replace(facts, columns=(time,)))
    assert found.command == f"ALTER TABLE {NAME} WRITE ORDERED BY `c1`"
    ordered = replace(facts, columns=(time,), sort_columns=("c1",))
    assert codes(ordered) == []
    (loose,) = advice(replace(ordered, properties={"write.distribution-mode": "none"}))
    assert loose.command.endswith("('write.distribution-mode' = 'range')")
    assert codes(replace(facts, columns=())) == []


@pytest.mark.parametrize(
    ("summary", "command"),
    [
        ({"spark.app.id": "a"}, '# Spark: .trigger(processingTime="60 minutes")'),
        ({"flink.job-id": "a"}, "# Flink: SET 'execution.checkpointing.interval' = '60 min'"),
        ({}, "# in the writer: one commit in 60 minutes"),
    ],
)
def test_a_writer_that_commits_little_often_is_told_to_wait(summary, command):
    facts = streamed(20, 10, 9_000, **summary)

    (found,) = advice(facts)
    assert found.code == "frequent_commits"
    assert found.command == command
    assert "came every 10.0 s, and each added 8.8 KB to a partition" in found.evidence
    assert "where there are 360 now" in found.gain


@pytest.mark.parametrize(
    ("count", "seconds", "size"),
    [
        (20, 3600, 9_000),
        (9, 10, 9_000),
        (20, 10, 64 * MB),
    ],
)
def test_a_writer_that_commits_seldom_or_much_hears_nothing(count, seconds, size):
    assert codes(streamed(count, seconds, size)) == []


def streamed(count, seconds, size, **summary):
    """Commits of one file each, so many seconds apart."""
    told = {"added-data-files": "1", "added-files-size": str(size), "changed-partition-count": "1"}
    made = [
        replace(
            snapshot(n, n - 1 or None),
            operation="append",
            summary={**told, **summary},
            committed_at=NOW + timedelta(seconds=seconds * n),
        )
        for n in range(1, count + 1)
    ]
    return table_facts(snapshots=made)


def test_a_target_that_writers_do_not_reach_is_not_what_makes_files_small():
    facts = replace(streamed(9, 10, 2_000), properties={"write.target-file-size-bytes": str(MB)})

    assert codes(facts) == []


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


@pytest.mark.parametrize(("days", "said"), [(30, "7d"), (5, "3d"), (2, "1d"), (0, None)])
def test_snapshots_are_let_go_at_an_age_that_some_have(days, said):
    facts = table_facts()
    made = [
        replace(snapshot(n, n - 1 or None), committed_at=facts.surveyed_at - timedelta(days=days))
        for n in range(1, 101)
    ]

    found = advice(replace(facts, snapshots=tuple(made)))

    assert [item.command for item in found] == (
        [f"neve expire lake.db.events --older-than {said}"] if said else []
    )


def test_refs_without_an_end_get_one_from_the_table():
    refs = tuple(RefFacts(f"tag-{n}", 1, "tag") for n in range(60))
    undo = tuple(RefFacts(f"neve-undo-{n}", 1, "tag") for n in range(60))
    age = {"history.expire.max-ref-age-ms": "7776000000"}

    (found,) = advice(replace(table_facts(), refs=refs))

    assert found.evidence == "60 branches and tags, 60 of them without an end."
    assert found.command == (
        f"ALTER TABLE {NAME} SET TBLPROPERTIES ('history.expire.max-ref-age-ms' = '7776000000')"
    )
    assert codes(replace(table_facts(), refs=undo)) == []
    assert codes(replace(table_facts(), refs=refs, properties=age)) == []


def test_a_table_whose_files_all_overlap_is_to_be_sorted():
    files = [data_file(str(n), 128 * MB) for n in range(4)]
    facts = replace(table_facts(files), sort_columns=())

    (found,) = advice(facts, {"id": 1.0, "ts": 0.95})
    assert found.command == "neve compact lake.db.events --strategy sort --sort-by id"
    assert "100% in id, 95% in ts" in found.evidence
    assert codes(facts, {"id": 1.0, "ts": 0.2}) == []
    assert codes(replace(facts, sort_columns=("id",)), {"id": 1.0}) == []
    small = replace(table_facts([data_file("f", 100 * MB)]), sort_columns=())
    assert codes(small, {"id": 1.0}) == []


@pytest.mark.parametrize(
    ("ranges", "share"),
    [
        ([(0, 9), (10, 19), (20, 29)], 0.0),
        ([(0, 9)] * 4, 1.0),
        ([(0, 9), (5, 14), (10, 19), (15, 24)], 1 / 3),
        ([(0, 97), (1, 98), (2, 99), (3, 96)], 11 / 12),
        ([("a", "x"), ("b", "z"), ("c", "y"), ("d", "w")], 11 / 12),
        ([(0, 9)], 0.0),
    ],
)
def test_overlap_is_the_share_of_files_that_a_value_may_be_in(ranges, share):
    assert overlap(ranges) == pytest.approx(share)
