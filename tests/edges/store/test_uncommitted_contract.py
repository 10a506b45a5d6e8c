"""Files that a job wrote and did not commit are remembered, with their writer, by every store."""

from __future__ import annotations

from neve.model.table import TableRef

ONE = TableRef("lake", ("db",), "one")
OTHER = TableRef("lake", ("db",), "other")


def test_files_are_remembered_by_table_with_their_first_writer(store):
    store.add_uncommitted_files("j1", ONE, ["a", "b"])
    store.add_uncommitted_files("j2", OTHER, ["c"])
    store.add_uncommitted_files("j3", ONE, ["b", "d"])

    assert sorted(store.uncommitted_files(ONE)) == ["a", "b", "d"]
    assert store.writers_of_uncommitted_files(ONE) == {"a": "j1", "b": "j1", "d": "j3"}
    assert store.writers_of_uncommitted_files(OTHER) == {"c": "j2"}
    assert store.writers_of_uncommitted_files(TableRef("lake", ("db",), "none")) == {}


def test_more_files_than_one_answer_holds_are_all_told(store):
    paths = [f"file:///data/{number:05d}.parquet" for number in range(2_500)]
    store.add_uncommitted_files("j1", ONE, paths)

    assert sorted(store.uncommitted_files(ONE)) == paths
