from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import InputError
from neve.model.facts import (
    OPERATION_PROPERTY,
    ColumnFacts,
    DeleteKind,
    ManifestContent,
    ManifestFacts,
    SnapshotFacts,
    SpecFacts,
    StatisticsFacts,
    StatisticsKind,
)
from neve.model.policies import (
    ComputeTableStatsArguments,
    RewriteManifestsArguments,
    RewritePositionDeleteFilesArguments,
)
from neve.model.steps import (
    ComputePartitionStats,
    ComputeTableStats,
    RemoveDanglingDeletes,
    RewriteManifests,
)
from neve.planning.deletes import DeleteIndex, dangling_deletes
from neve.planning.operations.compute_partition_stats import plan_compute_partition_stats
from neve.planning.operations.compute_table_stats import plan_compute_table_stats
from neve.planning.operations.remove_dangling_deletes import plan_remove_dangling_deletes
from neve.planning.operations.rewrite_manifests import (
    ManifestThresholds,
    expected_manifests,
    plan_rewrite_manifests,
)
from neve.planning.operations.rewrite_position_delete_files import (
    plan_rewrite_position_delete_files,
)
from neve.testing.facts import (
    DAILY,
    MB,
    NOW,
    data_file,
    delete_file,
    partition,
    snapshot,
    table_facts,
)

pytestmark = pytest.mark.promise(11, 12)

EVERYWHERE = SpecFacts(1, ())
BY_PARTITION = {"write.delete.granularity": "partition"}


def manifest(index, size_bytes=1000, **changes):
    values = {
        "path": f"m{index}",
        "content": ManifestContent.DATA,
        "spec_id": 0,
        "size_bytes": size_bytes,
        "added_snapshot_id": 1,
        "file_count": 3,
    }
    return ManifestFacts(**{**values, **changes})


def made_by(operation, snapshot_id, parent_id=1):
    return SnapshotFacts(
        snapshot_id, parent_id, NOW, "replace", {OPERATION_PROPERTY: str(operation)}
    )


def plan_manifests(facts, **arguments):
    wanted = RewriteManifestsArguments(**arguments)
    return plan_rewrite_manifests(facts, wanted, ManifestThresholds(), NOW)


def plan_positions(facts, **arguments):
    wanted = RewritePositionDeleteFilesArguments(**arguments)
    return plan_rewrite_position_delete_files(facts, wanted, NOW)


def plan_stats(facts, *columns):
    return plan_compute_table_stats(facts, ComputeTableStatsArguments(columns), NOW)


def test_many_small_manifests_are_rewritten():
    plan = plan_manifests(
        table_facts(manifests=[manifest(i, 1024) for i in range(12)]), use_caching=True
    )

    assert plan.steps == (RewriteManifests(0, use_caching=True),)
    assert plan.reason == "12 manifests of 12.0 KB become about 1."


def test_only_specs_with_many_manifests_are_rewritten():
    many = [manifest(i, spec_id=1) for i in range(10)]
    facts = table_facts(manifests=[*many, manifest(10)], specs={0: DAILY, 1: EVERYWHERE})

    assert plan_manifests(facts).steps == (RewriteManifests(1),)
    assert plan_manifests(facts, spec_id=0).is_empty


@pytest.mark.parametrize(
    ("manifests", "reason"),
    [
        ([], "There are no manifests."),
        ([manifest(0)], "1 of 1 manifest has not been rewritten yet; it takes 10."),
        (
            [manifest(i, 8 * MB) for i in range(10)],
            "10 manifests would become about 10, which saves too little.",
        ),
        (
            [manifest(i, file_count=None) for i in range(10)],
            "10 manifests are left alone, because a writer did not count their files.",
        ),
    ],
)
def test_manifests_are_left_alone_for_a_reason(manifests, reason):
    plan = plan_manifests(table_facts(manifests=manifests))

    assert (plan.steps, plan.reason) == ((), reason)


@given(
    sizes=st.lists(st.integers(1, 20 * MB), min_size=1, max_size=40),
    content=st.sampled_from(list(ManifestContent)),
    shrinks_to=st.floats(0.01, 1.0),
)
def test_manifests_that_were_rewritten_are_not_rewritten_again(sizes, content, shrinks_to):
    facts = table_facts(manifests=[manifest(i, size) for i, size in enumerate(sizes)])
    if plan_manifests(facts).is_empty:
        return
    count = expected_manifests(facts.manifests, 8 * MB)
    size = int(sum(sizes) * shrinks_to) // count + 1
    after = replace(
        facts,
        manifests=tuple(manifest(i, size, added_snapshot_id=2) for i in range(count)),
        snapshots=(snapshot(1), made_by("rewrite_manifests", 2)),
        snapshot_id=2,
    )

    assert plan_manifests(after).is_empty


def position(name, path="a", **changes):
    referenced = None if path is None else f"file:///lake/{path}"
    return delete_file(name, DeleteKind.POSITION, referenced_path=referenced, **changes)


def test_deletes_of_one_file_are_merged_in_their_partition_only():
    files = [data_file("a", MB), data_file("b", MB, partition=partition("tue"))]
    deletes = [position("d1"), position("d2"), position("d3", "b", partition=partition("tue"))]

    plan = plan_positions(table_facts(files, deletes))

    assert plan.reason == "2 position delete files in 1 partition become at most 1."
    assert json.loads(plan.steps[0].filter) == {"type": "in", "term": "day", "values": ["mon"]}
    assert plan.steps[0].options["min-input-files"] == "2"


def test_deletes_of_different_files_are_merged_only_by_partition():
    files = [data_file("a", MB), data_file("b", MB)]
    deletes = [position("d1"), position("d2", "b")]

    by_file = plan_positions(table_facts(files, deletes))
    by_partition = plan_positions(table_facts(files, deletes, properties=BY_PARTITION))

    assert by_file.is_empty
    assert "cannot be merged into fewer" in by_file.reason
    assert not by_partition.is_empty


def test_deletes_that_name_no_file_may_be_about_every_file_of_their_age():
    files = [data_file(name, MB) for name in "abc"] + [data_file("new", MB, data_sequence_number=9)]

    three = plan_positions(table_facts(files, [position(f"d{i}", None) for i in range(3)]))
    four = plan_positions(table_facts(files, [position(f"d{i}", None) for i in range(4)]))

    assert (three.is_empty, four.is_empty) == (True, False)


def test_large_dangling_and_own_delete_files_are_left_alone():
    files = [data_file("a", MB)]
    snapshots = [snapshot(1), made_by("rewrite_position_delete_files", 2)]
    for deletes in (
        [position("d1", size_bytes=60 * MB), position("d2", size_bytes=60 * MB)],
        [position("d1", "gone"), position("d2", "gone")],
        [position("d1", added_snapshot_id=2), position("d2", added_snapshot_id=2)],
    ):
        assert plan_positions(table_facts(files, deletes, snapshots=snapshots)).is_empty


def test_the_policy_says_how_many_delete_files_it_takes():
    facts = table_facts([data_file("a", MB)], [position("d1"), position("d2")])

    assert plan_positions(facts, min_input_files=3).is_empty


def test_a_filter_limits_the_partitions():
    files = [data_file("a", MB, selected=False)]
    facts = table_facts(files, [position("d1"), position("d2")])

    assert plan_positions(facts).reason == "No position delete file applies to the table."


def test_format_3_merges_nothing_but_old_delete_files():
    files = [data_file("a", MB)]
    vector = delete_file("v", DeleteKind.DELETION_VECTOR, referenced_path="file:///lake/a")

    vectors = plan_positions(table_facts(files, [vector], format_version=3))
    mixed = plan_positions(table_facts(files, [vector, position("d1")], format_version=3))

    assert vectors.is_empty
    assert "one deletion vector a data file" in vectors.reason
    assert mixed.steps[0].options["rewrite-all"] == "true"


keys = st.sampled_from([(0, ("mon",)), (0, ("tue",)), (1, ())])
numbers = st.integers(1, 4)
data_files = st.builds(
    lambda name, key, number: data_file(name, MB, partition=key, data_sequence_number=number),
    st.sampled_from("abc"),
    keys,
    numbers,
)
delete_files = st.builds(
    lambda kind, key, number, path: delete_file(
        "d",
        kind,
        partition=key,
        data_sequence_number=number,
        referenced_path=None if kind is DeleteKind.EQUALITY else path,
    ),
    st.sampled_from([DeleteKind.POSITION, DeleteKind.EQUALITY]),
    keys,
    numbers,
    st.sampled_from([None, "file:///lake/a", "file:///lake/gone"]),
)


@given(
    files=st.lists(data_files, max_size=4, unique_by=lambda file: file.path),
    deletes=st.lists(delete_files, max_size=4),
)
def test_a_delete_dangles_exactly_if_it_applies_to_no_file(files, deletes):
    specs = {0: DAILY, 1: EVERYWHERE}

    found = dangling_deletes(deletes, files, specs)

    assert found == [
        delete
        for delete in deletes
        if not any(DeleteIndex([delete], specs).applying_to(f).delete_files for f in files)
    ]


def test_a_global_equality_delete_reaches_partitions_of_every_spec():
    everywhere = delete_file("eq", DeleteKind.EQUALITY, partition=(1, ()), data_sequence_number=2)
    gone = position("d1", "gone")
    facts = table_facts(
        [data_file("a", MB, data_sequence_number=1)],
        [everywhere, gone],
        specs={0: DAILY, 1: EVERYWHERE},
    )

    plan = plan_remove_dangling_deletes(facts, NOW)

    assert plan.steps == (RemoveDanglingDeletes((gone.path,)),)
    assert plan.reason == "1 of 2 delete files applies to no data file."


@pytest.mark.parametrize(
    ("deletes", "reason"),
    [
        ([], "The table has no delete files."),
        ([position("d1")], "Each of its 1 delete file applies to a data file."),
    ],
)
def test_deletes_that_apply_are_left_alone(deletes, reason):
    plan = plan_remove_dangling_deletes(table_facts([data_file("a", MB)], deletes), NOW)

    assert (plan.steps, plan.reason) == ((), reason)


def statistics(snapshot_id, *fields, kind=StatisticsKind.TABLE):
    return StatisticsFacts(kind, snapshot_id, "s", 10, frozenset(fields))


def test_statistics_are_computed_for_all_flat_columns():
    nested = ColumnFacts(3, "tags", "list<string>", False)
    facts = table_facts()
    facts = replace(facts, columns=(*facts.columns, nested))

    assert plan_stats(facts).steps == (ComputeTableStats(1, ("id", "day")),)


def test_statistics_that_are_there_are_kept_beside_new_ones():
    facts = table_facts(statistics=(statistics(1, 1),))

    assert plan_stats(facts, "id").is_empty
    assert plan_stats(facts, "day").steps == (ComputeTableStats(1, ("id", "day")),)


@pytest.mark.parametrize(("operation", "are_old"), [("replace", False), ("append", True)])
def test_statistics_grow_old_when_rows_change(operation, are_old):
    newer = SnapshotFacts(2, 1, NOW, operation, {})
    facts = table_facts(snapshots=[snapshot(1), newer], statistics=(statistics(1, 1, 2),))

    assert plan_stats(facts).is_empty is not are_old


def test_columns_are_those_of_the_snapshot():
    """A column that was added since has no values there, and Iceberg would not find it."""
    old = (ColumnFacts(1, "id", "long", True),)

    assert plan_stats(table_facts(snapshot_columns=old)).steps == (ComputeTableStats(1, ("id",)),)
    with pytest.raises(InputError, match="no column 'day'"):
        plan_stats(table_facts(snapshot_columns=old), "day")


def test_partition_statistics_are_computed_for_the_current_snapshot():
    newer = SnapshotFacts(2, 1, NOW, "replace", {})
    kind = StatisticsKind.PARTITION
    old = table_facts(snapshots=[snapshot(1), newer], statistics=(statistics(1, kind=kind),))

    plan = plan_compute_partition_stats(old, NOW)

    assert plan.steps == (ComputePartitionStats(2),)
    there = replace(old, statistics=(statistics(2, kind=kind),))
    assert plan_compute_partition_stats(there, NOW).reason == "Snapshot 2 has partition statistics."


def test_tables_without_partitions_or_rows_need_no_statistics():
    flat = plan_compute_partition_stats(table_facts(specs={0: SpecFacts(0, ())}), NOW)
    empty = table_facts(snapshots=[])

    assert flat.reason == "The table is not partitioned."
    assert plan_stats(empty).reason == "The table was never written."
    assert plan_compute_partition_stats(empty, NOW).reason == "The table was never written."
