from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import ProofFailed, RowsCorrupt, RowsUnsupported
from neve.model.facts import DeleteKind
from neve.model.rebase import DeleteEntry, GroupMove, MovedSource, MovedTarget, MoveOrder
from neve.model.rewrite import SourceRange
from neve.rows.deletes import read_all_position_deletes, write_position_deletes
from neve.rows.moved_files import move_deletes
from neve.rows.roaring import write_bitmap
from neve.rows.vectors import read_vector, write_puffin

pytestmark = pytest.mark.promise(1, 2)


class MemoryFiles:
    """Files in memory; `damage` changes what is stored of a name."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.damage: dict[str, bytes] = {}

    def read(self, path: str) -> bytes:
        if path not in self.data:
            raise RowsCorrupt(f"{path} cannot be read")
        return self.data[path]

    def write(self, path: str, data: bytes) -> None:
        assert path not in self.data
        self.data[path] = self.damage.get(path, data)


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


def positions(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def position_file(files: MemoryFiles, path: str, **rows: tuple[int, ...]) -> DeleteEntry:
    data = write_position_deletes({of: positions(*at) for of, at in rows.items()})
    files.write(path, data)
    count = sum(map(len, rows.values()))
    return DeleteEntry(path, DeleteKind.POSITION, "PARQUET", 0, ("mon",), len(data), count, 7)


def group(number: int, *sources: str, deletes: tuple[DeleteEntry, ...]) -> GroupMove:
    """Sources of ten rows each, one after the other in one new file."""
    new = f"new-{number}"
    keys = tuple(delete.key for delete in deletes)
    return GroupMove(
        number,
        tuple(MovedSource(path, 10, keys, explains_removed=True) for path in sources),
        (
            MovedTarget(
                new,
                10 * len(sources),
                0,
                ("mon",),
                tuple(SourceRange(path, 0, 10) for path in sources),
                f"{new}-deletes",
            ),
        ),
    )


def order(*groups: GroupMove, deletes: tuple[DeleteEntry, ...], **changes: Any) -> MoveOrder:
    named = {delete.key: delete for delete in deletes}
    return replace(MoveOrder(groups, named, {key: f"rest-{key[0]}" for key in named}), **changes)


def said(files: MemoryFiles, path: str) -> dict[str, list[int]]:
    found = read_all_position_deletes(io.BytesIO(files.data[path]), "parquet")
    return {of: list(map(int, rows)) for of, rows in found.items()}


def test_positions_follow_and_what_is_said_of_others_is_said_again(files):
    delete = position_file(files, "d", a=(1, 3), b=(0,), other=(5, 6))
    moved = move_deletes(order(group(1, "a", "b", deletes=(delete,)), deletes=(delete,)), files)

    assert (moved.removed, moved.rows, moved.refused) == ((delete,), 3, {})
    assert said(files, "new-1-deletes") == {"new-1": [1, 3, 10]}
    assert said(files, "rest-d") == {"other": [5, 6]}
    new, rest = moved.added
    # A file that is younger than the delete stays none of its business.
    assert (new.data_sequence_number, rest.data_sequence_number) == (None, 7)
    assert (new.referenced_path, new.record_count, rest.record_count) == ("new-1", 3, 2)
    assert [d.size_bytes for d in moved.added] == [len(files.data[d.path]) for d in moved.added]


def test_a_delete_that_takes_nothing_from_replaced_files_stays_as_it_is(files):
    delete = position_file(files, "d", other=(5, 6))
    moved = move_deletes(order(group(1, "a", deletes=(delete,)), deletes=(delete,)), files)

    assert (moved.removed, moved.added) == ((), ())
    assert list(files.data) == ["d"]


def test_a_refused_group_keeps_its_deletes_and_the_others_follow(files):
    delete = position_file(files, "d", a=(1,), b=(0, 99))
    groups = (group(1, "a", deletes=(delete,)), group(2, "b", deletes=(delete,)))

    moved = move_deletes(order(*groups, deletes=(delete,)), files)

    assert list(moved.refused) == [2]
    assert "which has 10 rows" in moved.refused[2]
    assert said(files, "new-1-deletes") == {"new-1": [1]}
    assert said(files, "rest-d") == {"b": [0, 99]}


def test_rows_that_the_rewrite_left_out_need_no_delete(files):
    delete = position_file(files, "d", a=(1,))
    made = group(1, "a", deletes=(delete,))
    (target,) = made.targets
    target = replace(
        target, record_count=9, ranges=(SourceRange("a", 0, 10, write_bitmap(positions(1))),)
    )
    moved = move_deletes(order(replace(made, targets=(target,)), deletes=(delete,)), files)

    assert (moved.removed, moved.added, moved.rows) == ((delete,), (), 0)


def test_vectors_become_one_vector_for_each_new_file(files):
    data, written = write_puffin({"a": positions(1), "b": positions(2), "c": positions(3)}, "w")
    files.write("p", data)
    vectors = tuple(
        DeleteEntry(
            "p", DeleteKind.DELETION_VECTOR, "PUFFIN", 0, ("mon",), len(data), 1, 7,
            v.referenced_data_file, v.offset, v.length,
        )
        for v in written
    )  # fmt: skip
    a, b, c = vectors
    both = group(1, "a", "b", deletes=())
    sources = tuple(
        replace(source, deletes=(of.key,)) for source, of in zip(both.sources, (a, b), strict=True)
    )
    groups = (replace(both, sources=sources), group(2, "c", deletes=(c,)))

    moved = move_deletes(order(*groups, deletes=vectors, vectors_path="new.puffin"), files)

    assert moved.removed == vectors
    assert {v.path for v in moved.added} == {"new.puffin"}
    found = {}
    for vector in moved.added:
        end = vector.content_offset + vector.content_size_bytes
        blob = files.data["new.puffin"][vector.content_offset : end]
        found[vector.referenced_path] = list(read_vector(blob, vector.record_count))
    assert found == {"new-1": [1, 12], "new-2": [3]}


def test_an_equality_delete_is_copied_with_its_age(files):
    files.write("e", b"keys")
    delete = DeleteEntry("e", DeleteKind.EQUALITY, "PARQUET", 0, (), 4, 1, 7, equality_ids=(1,))
    moved = move_deletes(order(deletes=(delete,), fresh={}, copies={delete.key: "copy"}), files)

    assert (moved.removed, moved.added) == ((delete,), (replace(delete, path="copy"),))
    assert files.data["copy"] == b"keys"


@pytest.mark.parametrize(
    ("changes", "data", "why"),
    [
        ({"encrypted": True}, None, "encrypted"),
        ({"format": "AVRO"}, None, "AVRO"),
        ({"size_bytes": 3}, None, "its manifest says 3"),
        ({"size_bytes": 5}, b"wrong", "no Parquet file"),
        ({"path": "nowhere"}, None, "cannot be read"),
        ({"kind": DeleteKind.DELETION_VECTOR}, None, "where in d a vector lies"),
    ],
)
def test_a_delete_file_that_cannot_be_read_refuses_its_groups_alone(files, changes, data, why):
    good = position_file(files, "good", b=(1,))
    bad = replace(position_file(files, "d", a=(1,)), **changes)
    if data is not None:
        files.data["d"] = data
    groups = (group(1, "a", deletes=(bad,)), group(2, "b", deletes=(good,)))
    made = order(*groups, deletes=(bad, good))
    made = replace(made, fresh={good.key: "rest"})

    moved = move_deletes(made, files)

    assert list(moved.refused) == [1]
    assert why in moved.refused[1]
    assert moved.removed == (good,)


@pytest.mark.parametrize("name", ["new-1-deletes", "rest-d"])
def test_what_reads_back_otherwise_is_no_proof(files, name):
    delete = position_file(files, "d", a=(1, 3), other=(5,))
    of = "new-1" if name == "new-1-deletes" else "other"
    files.damage[name] = write_position_deletes({of: positions(1)})

    with pytest.raises(ProofFailed):
        move_deletes(order(group(1, "a", deletes=(delete,)), deletes=(delete,)), files)


def test_a_copy_that_reads_back_otherwise_is_no_proof(files):
    files.write("e", b"keys")
    files.damage["copy"] = b"kexs"
    delete = DeleteEntry("e", DeleteKind.EQUALITY, "PARQUET", 0, (), 4, 1, 7)
    made = order(deletes=(delete,), fresh={}, copies={delete.key: "copy"})

    with pytest.raises(ProofFailed):
        move_deletes(made, files)
    with pytest.raises(RowsUnsupported):
        move_deletes(replace(made, deletes={delete.key: replace(delete, encrypted=True)}), files)


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.sets(st.integers(0, 2**40))))
def test_position_deletes_are_written_as_readers_expect_them(rows):
    data = write_position_deletes({path: positions(*sorted(at)) for path, at in rows.items()})

    table = pq.read_table(io.BytesIO(data))
    assert table.to_pylist() == [
        {"file_path": path, "pos": at} for path in sorted(rows) for at in sorted(rows[path])
    ]
    assert [f.metadata[b"PARQUET:field_id"] for f in table.schema] == [b"2147483546", b"2147483545"]
    assert not any(field.nullable for field in table.schema)
