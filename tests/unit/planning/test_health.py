from __future__ import annotations

from datetime import timedelta

import pytest

from neve.model.facts import DeleteKind
from neve.model.health import ScanGain, Tier
from neve.model.policy import CompactionPolicy, ScoreWeights
from neve.planning.health import assess
from neve.testing.facts import MB, NOW, data_file, delete_file, partition, snapshot, table_facts

POLICY = CompactionPolicy(target_file_size_bytes=128 * MB)


def health_of(facts, policy=POLICY, now=NOW):
    return assess(facts, policy, now).health


def files(count, size_bytes, **changes):
    return [data_file(f"{size_bytes}-{index}", size_bytes, **changes) for index in range(count)]


def test_one_of_a_kind_is_said_as_one():
    gain = ScanGain(file_opens=1, deletes_applied=1, delete_bytes=10)

    assert gain.sentence == (
        "A full scan would open 1 file fewer and apply 1 delete fewer (10 B) after a cure."
    )


def test_many_small_files_are_critical_and_the_cure_is_named():
    health = health_of(table_facts(files(100, MB) + files(1, 200 * MB)))

    assert health.tier is Tier.CRITICAL
    assert [(f.code, f.next_step) for f in health.findings] == [
        ("small_files", "neve compact lake.db.events")
    ]
    assert "a full scan opens 99 files more than it needs" in health.findings[0].sentence
    assert health.gain == ScanGain(file_opens=99, seconds=2.97)
    assert health.gain.sentence == "A full scan would open 99 files fewer after a cure."
    assert health.score_parts == {
        "small_files": pytest.approx(45 * (1 - 2 / 6), abs=0.1),
        "deletes": 35.0,
        "snapshots": 10.0,
        "manifests": 10.0,
    }
    assert health.score == 85


def test_a_small_table_is_never_critical_and_gains_least():
    small = health_of(table_facts(files(9, MB // 2)))
    large = health_of(table_facts(files(300, MB)))

    assert small.tier is Tier.WARNING
    assert small.gain.seconds < large.gain.seconds
    assert small.score > large.score


def test_the_score_does_not_saturate():
    scores = [health_of(table_facts(files(count, 1))).score for count in (10, 100, 1_000, 10_000)]

    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert scores[-1] > 50


def test_every_part_of_the_score_is_explained_and_they_add_up():
    health = health_of(table_facts(files(9, MB), [delete_file("p", DeleteKind.POSITION)]))

    assert {part.name: part.points for part in health.explained} == health.score_parts
    assert round(sum(part.points for part in health.explained)) == health.score
    assert sum(part.of for part in health.explained) == 100
    assert all("0 points at 1,000,000" in part.sentence for part in health.explained)


def test_rows_that_deletes_take_are_not_counted_as_live():
    deleted = delete_file(
        "v", DeleteKind.DELETION_VECTOR, referenced_path="file:///lake/1048576-0", record_count=30
    )

    health = health_of(table_facts(files(2, MB), [deleted]))

    assert (health.records, health.live_records) == (200, 170)


@pytest.mark.parametrize("kind", [DeleteKind.POSITION, DeleteKind.EQUALITY])
def test_rows_are_unknown_where_only_reading_would_tell(kind):
    health = health_of(table_facts(files(2, MB), [delete_file("d", kind)]))

    assert (health.records, health.live_records) == (200, None)


def test_a_table_of_good_files_is_healthy():
    health = health_of(table_facts(files(10, 128 * MB)))

    assert (health.tier, health.findings, health.small_files) == (Tier.HEALTHY, (), 0)


def test_a_small_file_alone_in_its_partition_is_no_trouble():
    alone = [data_file(day, MB, partition=partition(day)) for day in "abcdef"]

    assert health_of(table_facts(alone)).tier is Tier.HEALTHY


def test_deletes_are_counted_by_kind():
    deletes = [
        delete_file("p", DeleteKind.POSITION),
        delete_file("e", DeleteKind.EQUALITY),
        delete_file("v", DeleteKind.DELETION_VECTOR, referenced_path="file:///lake/x"),
    ]

    health = health_of(table_facts(files(4, 128 * MB), deletes))

    assert health.delete_files == {"position": 1, "equality": 1, "deletion_vector": 1}
    assert [f.code for f in health.findings] == ["delete_debt"]
    assert health.tier is Tier.WARNING
    many = health_of(table_facts(files(60, 128 * MB), deletes * 10))
    assert many.tier is Tier.CRITICAL
    assert many.gain.deletes_applied >= 600


def test_scores_of_a_partition_show_every_part():
    old = files(3, MB) + files(1, 128 * MB)

    (part,) = health_of(table_facts(old), now=NOW - timedelta(hours=10)).partitions

    assert (part.data_files, part.small_files, part.fragments) == (4, 3, 3)
    assert part.fragment_score == 0.75
    assert part.small_file_score == 0.75
    assert part.seconds_since_write == 3600
    assert part.time_score == 0.5
    assert part.total_score == pytest.approx(0.4 * 0.75 + 0.4 * 0.75 + 0.2 * 0.5)


def test_weights_change_the_total():
    policy = CompactionPolicy(weights=ScoreWeights(fragment=0, small_file=1, time=0))

    (part,) = health_of(table_facts(files(4, MB)), policy).partitions

    assert part.total_score == part.small_file_score == 1.0


def test_our_own_commits_do_not_make_data_young():
    ours = snapshot(2, 1, neve__job_id="j")
    facts = table_facts(files(2, MB, added_snapshot_id=2), snapshots=[snapshot(1), ours])

    (part,) = health_of(facts).partitions

    assert (part.seconds_since_write, part.time_score) == (None, 1.0)


def test_commit_cadence_counts_writers_only():
    facts = table_facts(
        files(1, MB), snapshots=[snapshot(8), snapshot(10, 8), snapshot(11, 10, neve__job_id="j")]
    )

    assert health_of(facts).commits_per_hour == 0.5


def test_an_empty_table_is_healthy():
    health = health_of(table_facts(snapshots=[]))

    assert (health.tier, health.data_files, health.commits_per_hour) == (Tier.HEALTHY, 0, None)


def test_the_histogram_counts_every_file():
    sizes = [0, MB - 1, MB, 40 * MB, 600 * MB]
    facts = table_facts([data_file(str(size), size) for size in sizes])

    assert [count for _, count in health_of(facts).file_size_histogram] == [2, 1, 0, 1, 0, 1]


def test_many_snapshots_and_manifests_name_the_command_that_helps():
    snapshots = [snapshot(number, number - 1 or None) for number in range(1, 101)]

    health = health_of(table_facts(snapshots=snapshots, manifest_count=500))

    assert [(f.code, f.next_step) for f in health.findings] == [
        ("snapshots", "neve expire lake.db.events"),
        ("manifests", "neve manifests lake.db.events"),
    ]
