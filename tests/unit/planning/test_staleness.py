from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.facts import DeleteKind
from neve.planning.staleness import changed_files, newest_sequence_number, newly_deleted_from
from neve.testing.facts import MB, data_file, delete_file, partition, snapshot, table_facts

FILES = [data_file(name, MB, data_sequence_number=3) for name in ("a", "b")]
PATHS = ["file:///lake/a", "file:///lake/b"]
ON_A = delete_file(
    "d", DeleteKind.POSITION, referenced_path="file:///lake/a", data_sequence_number=4
)


def test_files_that_stay_as_they_are_have_not_changed():
    then, now = table_facts(FILES, [ON_A]), table_facts([*FILES, data_file("c", MB)], [ON_A])

    assert changed_files(then, now, PATHS) == set()


@pytest.mark.parametrize(
    "now",
    [
        table_facts([FILES[1]]),
        table_facts(FILES, [ON_A]),
        # The path came back: as a younger file, by another commit, or a second time.
        table_facts([replace(FILES[0], data_sequence_number=5), FILES[1]]),
        table_facts([replace(FILES[0], added_snapshot_id=2), FILES[1]]),
        table_facts([*FILES, FILES[0]]),
        table_facts([*FILES, replace(FILES[0], added_snapshot_id=2)]),
        table_facts(
            FILES, [delete_file("e", DeleteKind.EQUALITY, partition=partition("tue")), ON_A]
        ),
    ],
)
def test_files_that_went_or_were_deleted_from_have_changed(now):
    assert changed_files(table_facts(FILES), now, PATHS) == {"file:///lake/a"}


def test_all_files_have_changed_whose_rows_were_given_ids():
    given = replace(snapshot(2, 1), first_row_id=0)

    found = changed_files(table_facts(FILES), table_facts(FILES, snapshots=[given]), PATHS)

    assert found == set(PATHS)


def test_a_delete_file_that_takes_the_place_of_another_is_a_change():
    """A writer adds to the deletes of a file by writing them again, so their number stays."""
    rewritten = delete_file(
        "d2", DeleteKind.POSITION, referenced_path="file:///lake/a", data_sequence_number=5
    )

    found = changed_files(table_facts(FILES, [ON_A]), table_facts(FILES, [rewritten]), PATHS)

    assert found == {"file:///lake/a"}


def test_deletes_are_new_by_their_sequence_number():
    facts = table_facts(FILES, [ON_A])

    assert newest_sequence_number(facts) == 4
    assert newly_deleted_from(facts, 3) == {"file:///lake/a"}
    assert newly_deleted_from(facts, 4) == set()
    assert newest_sequence_number(table_facts()) == 0
