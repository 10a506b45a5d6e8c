from __future__ import annotations

import pytest

from neve.model.facts import DeleteKind, SpecFacts
from neve.planning.proof import find_change, merge_proofs, prove
from neve.testing.facts import DAILY, data_file, delete_file, partition, table_facts

pytestmark = pytest.mark.promise(2)

A, B = data_file("a", 1, record_count=60), data_file("b", 1, record_count=40)


def merged(rows, day="mon"):
    return data_file("c", 2, record_count=rows, partition=partition(day), data_sequence_number=9)


def proof_of(before, after, live=None):
    return prove(find_change(before, after), live or {})


def test_rows_that_add_up_are_proven():
    proof = proof_of(table_facts([A, B]), table_facts([merged(100)]))

    assert proof.holds
    assert (proof.rows_in, proof.rows_deleted, proof.rows_out) == (100, 0, 100)


def test_a_lost_row_is_found():
    proof = proof_of(table_facts([A, B]), table_facts([merged(99)]))

    assert not proof.holds
    assert proof.explain_failure() == (
        "Partition day=mon held 100 rows, 0 of them deleted, and now holds 99."
    )


def test_rows_that_moved_to_another_partition_are_found():
    proof = proof_of(table_facts([A, B]), table_facts([merged(100, "tue")]))

    assert not proof.holds


def test_deletion_vectors_are_counted_from_metadata():
    vector = delete_file("v", DeleteKind.DELETION_VECTOR, referenced_path=A.path, record_count=5)

    proof = proof_of(table_facts([A, B], [vector]), table_facts([merged(95)]))

    assert proof.holds
    assert (proof.rows_deleted, proof.deletes_counted_by) == (5, "metadata")


def test_other_deletes_are_counted_by_reading():
    delete = delete_file("e", DeleteKind.EQUALITY)
    change = find_change(table_facts([A, B], [delete]), table_facts([merged(70)], [delete]))

    assert change.paths_to_scan == [A.path, B.path]
    proof = prove(change, {A.path: 30, B.path: 40})
    assert proof.holds
    assert (proof.rows_deleted, proof.deletes_counted_by) == (30, "scan")


def test_a_change_of_spec_compares_sums():
    specs = {0: DAILY, 1: SpecFacts(1, ())}
    moved = data_file("c", 2, record_count=100, partition=(1, ()))
    before, after = table_facts([A, B], specs=specs), table_facts([moved], specs=specs)

    proof = proof_of(before, after)

    assert proof.holds
    assert proof.partitions == ()


def test_a_dropped_delete_that_still_applies_is_found():
    delete = delete_file("e", DeleteKind.EQUALITY)

    change = find_change(table_facts([A, B], [delete]), table_facts([A, merged(40)]))

    assert [lost.path for lost in change.lost_deletes] == [delete.path]


def test_a_deletion_vector_may_go_with_its_file():
    vector = delete_file("v", DeleteKind.DELETION_VECTOR, referenced_path=A.path)
    sibling = delete_file("v", DeleteKind.DELETION_VECTOR, referenced_path=B.path)

    change = find_change(
        table_facts([A, B], [vector, sibling]), table_facts([merged(50), B], [sibling])
    )

    assert change.lost_deletes == ()


def test_proofs_of_several_commits_are_one():
    one = proof_of(table_facts([A]), table_facts([merged(60)]))
    two = proof_of(table_facts([B]), table_facts([merged(41)]))

    assert not merge_proofs([one, two]).holds
    assert merge_proofs([one, two]).rows_in == 100


def test_deletes_that_followed_their_rows_count_on_both_sides():
    old = delete_file("v", DeleteKind.DELETION_VECTOR, referenced_path=A.path, record_count=5)
    new = delete_file(
        "w",
        DeleteKind.DELETION_VECTOR,
        referenced_path=merged(1).path,
        record_count=5,
        data_sequence_number=9,
    )
    before = table_facts([A, B], [old])

    assert proof_of(before, table_facts([merged(100)], [new])).holds
    assert not proof_of(before, table_facts([merged(100)])).holds
    assert not proof_of(before, table_facts([merged(95)], [new])).holds


def test_rows_of_new_files_with_other_deletes_are_read():
    delete = delete_file("p", DeleteKind.POSITION, data_sequence_number=9)
    change = find_change(table_facts([A, B], [delete]), table_facts([merged(100)], [delete]))

    assert change.added_paths_to_scan == [merged(1).path]
    live = {A.path: 57, B.path: 40}
    assert prove(change, live, {merged(1).path: 97}).holds
    assert not prove(change, live, {merged(1).path: 98}).holds


@pytest.mark.parametrize(
    ("rows_out", "holds", "deleted"),
    [(100, True, 0), (70, True, 30), (40, True, 60), (39, False, 60), (101, False, 0)],
)
def test_deletes_that_nobody_counted_again_explain_no_more_rows_than_their_files_have(
    rows_out, holds, deleted
):
    delete = delete_file("d", DeleteKind.POSITION, referenced_path=A.path, record_count=99)
    change = find_change(table_facts([A, B], [delete]), table_facts([merged(rows_out)]))

    proof = prove(change, None)

    assert (proof.holds, proof.rows_deleted) == (holds, deleted)
    assert proof.deletes_counted_by == "rewrite"


def test_without_deletes_every_row_must_be_there_counted_again_or_not():
    change = find_change(table_facts([A, B]), table_facts([merged(99)]))

    assert not prove(change, None).holds
    assert prove(change, None).deletes_counted_by == "metadata"
