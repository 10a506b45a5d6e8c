from __future__ import annotations

import re
from dataclasses import replace

import pytest

from neve.model.facts import DeleteKind, SpecFacts
from neve.planning.rebase import Meanwhile
from neve.testing.facts import DAILY, data_file, delete_file, partition, snapshot, table_facts

pytestmark = pytest.mark.promise(1, 3)

A, B = (data_file(name, 1, data_sequence_number=3) for name in "ab")
PATHS = (A.path, B.path)
BASE = table_facts([A, B], snapshots=[snapshot(1)], snapshot_id=1)


def position(name="p", number=5, **changes):
    return delete_file(name, DeleteKind.POSITION, data_sequence_number=number, **changes)


def equality(name="e", number=5, **changes):
    return delete_file(name, DeleteKind.EQUALITY, data_sequence_number=number, **changes)


def vector(name="v", number=5, of=A):
    return delete_file(
        name, DeleteKind.DELETION_VECTOR, data_sequence_number=number, referenced_path=of.path
    )


def later(base, *deletes, files=None, **changes):
    """The table after somebody committed to it."""
    head = replace(
        base,
        snapshot_id=2,
        snapshots=(*base.snapshots, snapshot(2, 1)),
        delete_files=deletes,
        data_files=base.data_files if files is None else tuple(files),
    )
    return replace(head, **changes)


def with_deletes(*deletes):
    return replace(BASE, delete_files=deletes)


def test_appends_and_deletes_elsewhere_touch_nothing():
    elsewhere = [
        position(partition=partition("tue")),
        equality(partition=partition("tue")),
        position("q", referenced_path="file:///lake/other"),
        vector(of=data_file("other", 1)),
        # Older than the files: no reader applies them.
        position("old", number=2),
        equality("same", number=3),
    ]
    head = later(BASE, *elsewhere, files=[A, B, data_file("c", 1, data_sequence_number=9)])

    assert Meanwhile(BASE, head).standing(PATHS).is_untouched


@pytest.mark.parametrize(
    ("delete", "touched"),
    [
        (position(referenced_path=A.path), [A.path]),
        (position(), [A.path, B.path]),
        (position(number=3), [A.path, B.path]),
        (vector(), [A.path]),
    ],
)
def test_new_position_deletes_touch_what_they_may_speak_of(delete, touched):
    standing = Meanwhile(BASE, later(BASE, delete)).standing(PATHS)

    assert standing.taken is None
    assert [source.file.path for source in standing.touched] == touched
    assert {source.fresh for source in standing.touched} == {(delete,)}
    assert not standing.equalities


def test_all_that_a_reader_applies_is_told_and_what_of_it_is_new():
    old, new = position("old", referenced_path=A.path), position("new", 6)

    standing = Meanwhile(with_deletes(old), later(BASE, old, new)).standing(PATHS)

    first, second = standing.touched
    assert (set(first.positions), first.fresh) == ({old, new}, (new,))
    assert (second.positions, second.fresh) == ((new,), (new,))


def test_a_vector_takes_the_place_of_position_deletes_and_of_older_vectors():
    old, new = vector("old"), vector("new", 6)

    standing = Meanwhile(with_deletes(old), later(BASE, position("p", 6), new)).standing([A.path])

    (source,) = standing.touched
    assert (source.positions, source.fresh) == ((new,), (new,))


@pytest.mark.parametrize("number", [4, 9])
def test_new_equality_deletes_are_told(number):
    everywhere = equality(number=number, partition=(1, ()))
    specs = {0: DAILY, 1: SpecFacts(1, ())}
    base = replace(BASE, specs=specs)

    for delete in (equality(number=number), everywhere):
        standing = Meanwhile(base, later(base, delete)).standing(PATHS)
        assert (standing.taken, standing.touched) == (None, ())
        assert standing.equalities == {delete}


APPLIED = equality("applied", 4)


@pytest.mark.parametrize(
    ("then", "now", "changes", "why"),
    [
        ((), (), {"files": [A]}, "b was replaced or removed"),
        ((), (), {"files": [A, replace(B, record_count=1)]}, "b was replaced or removed"),
        # The same path came back, and older deletes do not apply to it any more.
        ((), (), {"files": [A, replace(B, data_sequence_number=4)]}, "b was replaced or removed"),
        ((), (), {"files": [A, replace(B, added_snapshot_id=2)]}, "b was replaced or removed"),
        ((), (), {"files": [A, B, replace(B, added_snapshot_id=2)]}, "b was replaced or removed"),
        ((), (position(),), {"table_uuid": "another"}, "made anew"),
        ((), (position(),), {"format_version": 3}, "format v3"),
        ((), (position(),), {"snapshots": (snapshot(2),)}, "earlier state"),
        ((APPLIED,), (), {}, "an equality delete of .* is gone"),
        # Somebody wrote deletes again as old as they were: nobody knows what became of rows.
        ((position("p", 6),), (position("p", 6), equality("e", 6)), {}, "older than the rewrite"),
        ((APPLIED, position()), (APPLIED, position("q")), {}, "beside equality deletes"),
    ],
)
def test_what_nobody_can_follow_takes_the_group_out(then, now, changes, why):
    base = with_deletes(*then)

    standing = Meanwhile(base, later(base, *now, **changes)).standing(PATHS)

    assert standing.taken is not None
    assert re.search(why, standing.taken)
    assert not standing.is_untouched


def test_rows_that_were_given_ids_meanwhile_take_all_groups_out():
    """The table was upgraded to format 3, and somebody committed to it."""
    given = replace(snapshot(2, 1), first_row_id=0)
    head = later(BASE, snapshots=(*BASE.snapshots, given), format_version=3)

    assert re.search("given ids", Meanwhile(BASE, head).standing(PATHS).taken)
    # Those that had some keep them.
    base = replace(BASE, snapshots=(replace(snapshot(1), first_row_id=0),))
    assert Meanwhile(base, head).standing(PATHS).is_untouched


def test_deletes_that_were_applied_and_stay_do_not_explain_all_rows_that_are_gone():
    standing = Meanwhile(with_deletes(APPLIED), later(BASE, APPLIED, position())).standing(PATHS)

    assert [source.had_equalities for source in standing.touched] == [True, True]


@pytest.mark.parametrize(
    ("number", "staying", "is_dropped"), [(5, [], True), (5, [6], True), (5, [5], False)]
)
def test_deletes_that_iceberg_would_drop(number, staying, is_dropped):
    others = [data_file(f"c{n}", 1, data_sequence_number=n) for n in staying]
    delete = equality(number=number)
    meanwhile = Meanwhile(BASE, later(BASE, delete, files=[A, B, *others]))

    assert meanwhile.would_be_dropped([delete], set(PATHS)) == ([delete] if is_dropped else [])


def test_the_base_is_as_old_as_its_youngest_file():
    base = with_deletes(position("p", 7))

    assert Meanwhile(base, later(base)).base_sequence_number == 7
    assert Meanwhile(BASE, later(BASE)).base_sequence_number == 3
