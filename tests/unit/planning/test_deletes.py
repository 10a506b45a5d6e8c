from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.facts import DeleteKind, SpecFacts
from neve.planning.deletes import DeleteIndex, FileDeletes, applicable_deletes, dangling_deletes
from neve.testing.facts import DAILY, data_file, delete_file, partition

UNPARTITIONED = SpecFacts(1, ())
#: What version 1 leaves of a spec whose only field was dropped.
VOID = SpecFacts(2, (replace(DAILY.fields[0], transform="void"),))
SPECS = {0: DAILY, 1: UNPARTITIONED, 2: VOID}


def applying(file, *deletes):
    return DeleteIndex(deletes, SPECS).applying_to(file)


@pytest.mark.parametrize(
    ("kind", "data_sequence", "delete_sequence", "applies"),
    [
        (DeleteKind.POSITION, 5, 5, True),
        (DeleteKind.POSITION, 5, 6, True),
        (DeleteKind.POSITION, 5, 4, False),
        (DeleteKind.EQUALITY, 5, 5, False),
        (DeleteKind.EQUALITY, 5, 6, True),
        (DeleteKind.EQUALITY, 5, 4, False),
    ],
)
def test_sequence_numbers_decide(kind, data_sequence, delete_sequence, applies):
    file = data_file("a", 1, data_sequence_number=data_sequence)
    delete = delete_file("d", kind, data_sequence_number=delete_sequence)

    assert applying(file, delete) == FileDeletes(int(applies), 0, applies)


def test_deletes_of_other_partitions_do_not_apply():
    delete = delete_file("d", DeleteKind.EQUALITY, partition=partition("tue"))

    assert applying(data_file("a", 1), delete).delete_files == 0


@pytest.mark.parametrize("of", [(1, ()), (2, (None,))])
def test_an_equality_delete_without_partition_applies_everywhere(of):
    delete = delete_file("d", DeleteKind.EQUALITY, partition=of)

    assert applying(data_file("a", 1), delete) == FileDeletes(1, 0, True)
    assert dangling_deletes([delete], [data_file("a", 1)], SPECS) == []


def test_a_position_delete_without_partition_stays_in_its_spec():
    delete = delete_file("d", DeleteKind.POSITION, partition=(1, ()))

    assert applying(data_file("a", 1), delete).delete_files == 0


def test_a_deletion_vector_counts_exactly():
    vector = delete_file(
        "d.puffin", DeleteKind.DELETION_VECTOR, referenced_path="file:///lake/a", record_count=7
    )

    assert applying(data_file("a", 1), vector) == FileDeletes(1, 7, False)
    assert applying(data_file("b", 1), vector) == FileDeletes(0, 0, False)


def test_a_position_delete_of_one_file_applies_to_no_other():
    delete = delete_file("d", DeleteKind.POSITION, referenced_path="file:///lake/a")

    assert applying(data_file("a", 1), delete) == FileDeletes(1, 0, True)
    assert applying(data_file("b", 1), delete).delete_files == 0


@given(
    st.lists(
        st.builds(
            lambda kind, of, number, path: delete_file(
                "d",
                kind,
                partition=of,
                data_sequence_number=number,
                referenced_path=None if kind is DeleteKind.EQUALITY else path,
            ),
            st.sampled_from(DeleteKind),
            st.sampled_from([partition("mon"), partition("tue"), (1, ()), (2, (None,))]),
            st.integers(1, 4),
            st.sampled_from([None, "file:///lake/a", "file:///lake/b"]),
        ),
        max_size=6,
    ),
    st.integers(1, 4),
)
def test_a_task_is_told_the_deletes_that_a_reader_counts(deletes, number):
    file = data_file("a", 1, partition=partition("mon"), data_sequence_number=number)

    found = applicable_deletes(deletes, [file], SPECS)

    assert len(found) == applying(file, *deletes).delete_files
    assert len(found) + len(dangling_deletes(deletes, [file], SPECS)) == len(deletes)
