from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from neve.model.errors import ProofFailed, RowsCorrupt
from neve.model.rebase import GroupMove, MovedSource, MovedTarget
from neve.model.rewrite import SourceRange
from neve.rows.moves import check_moved, follow
from neve.rows.roaring import write_bitmap

pytestmark = pytest.mark.promise(1)


def positions(values: Any) -> Any:
    return np.array(sorted(values), dtype=np.int64)


def source_range(path: str, first: int, rows: int, removed: Any = ()) -> SourceRange:
    inside = positions(n for n in removed if first <= n < first + rows)
    return SourceRange(path, first, rows, write_bitmap(inside) if len(inside) else b"")


def source(path: str, rows: int, *, explains_removed: bool = True) -> MovedSource:
    return MovedSource(path, rows, (), explains_removed)


def target(path: str, rows: int, *ranges: SourceRange) -> MovedTarget:
    return MovedTarget(path, rows, 0, (), ranges, f"{path}-deletes")


@st.composite
def rewrites(draw: Any) -> Any:
    """A group, its rows by their new places, and what is deleted of its sources now."""
    ranges: dict[str, list[SourceRange]] = {"x": [], "y": []}
    places: dict[tuple[str, int], tuple[str, int]] = {}
    ends, sources, deleted, pieces = {"x": 0, "y": 0}, [], {}, []
    for path in draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1)):
        rows = draw(st.integers(0, 20))
        removed = draw(st.sets(st.integers(0, rows - 1))) if rows else set()
        cuts = sorted({0, rows, *draw(st.sets(st.integers(0, rows), max_size=3))})
        sources.append(source(path, rows))
        fresh = draw(st.sets(st.integers(0, rows - 1))) if rows else set()
        deleted[path] = positions(removed | fresh)
        pieces += [(path, first, end, removed) for first, end in pairwise(cuts)]
        pieces += [(path, 0, 0, set())] if rows == 0 else []
    for path, first, end, removed in draw(st.permutations(pieces)):
        to = draw(st.sampled_from("xy"))
        ranges[to].append(source_range(path, first, end - first, removed))
        for row in range(first, end):
            if row not in removed:
                places[path, row] = (to, ends[to])
                ends[to] += 1
    targets = tuple(target(to, ends[to], *own) for to, own in ranges.items() if own)
    return GroupMove(1, tuple(sources), targets), places, deleted


@given(rewrites())
def test_each_row_that_is_gone_is_gone_in_the_new_files_and_no_other(made: Any) -> None:
    group, places, deleted = made

    found = follow(group, deleted)

    check_moved(group, deleted, found)
    assert {(to, int(row)) for to, rows in found.items() for row in rows} == {
        place for (path, row), place in places.items() if row in deleted[path]
    }


@given(rewrites(), st.data())
def test_one_position_more_or_less_is_no_proof(made: Any, data: Any) -> None:
    group, places, deleted = made
    assume(places)
    found = follow(group, deleted)
    to, row = data.draw(st.sampled_from(sorted(places.values())))

    changed = set(map(int, found.get(to, ()))) ^ {row}

    with pytest.raises(ProofFailed):
        check_moved(group, deleted, {**found, to: positions(changed)})


GROUP = GroupMove(
    1, (source("a", 4),), (target("x", 3, source_range("a", 0, 4, {1})), target("y", 0))
)


@pytest.mark.parametrize(
    ("ranges", "rows", "deleted", "why"),
    [
        ((), 3, [1], "not known where all rows"),
        ((source_range("a", 0, 4),), 3, [1], "not known where all rows"),
        ((source_range("a", 0, 3, {1}),), 2, [1], "Not all rows"),
        ((source_range("a", 1, 3, {1}),), 2, [1], "in no new file, or in two"),
        ((source_range("a", 0, 2, {1}), source_range("a", 1, 3)), 4, [1], "in two"),
        ((source_range("a", 0, 4, {1}),), 3, [1, 4], "which has 4 rows"),
        # Somebody took the delete back that the rewrite had applied.
        ((source_range("a", 0, 4, {1}),), 3, [2], "not deleted any more"),
    ],
)
def test_rows_of_which_the_account_is_wrong_are_not_followed(ranges, rows, deleted, why) -> None:
    group = GroupMove(1, (source("a", 4),), (target("x", rows, *ranges),))

    with pytest.raises(RowsCorrupt, match=why):
        follow(group, {"a": positions(deleted)})


def test_an_equality_delete_may_have_taken_rows_besides() -> None:
    moved = target("x", 3, source_range("a", 0, 4, {1}))
    group = GroupMove(1, (source("a", 4, explains_removed=False),), (moved,))

    assert list(follow(group, {"a": positions([3])})["x"]) == [2]


def test_a_delete_in_rows_of_another_source_is_no_proof() -> None:
    ranges = (source_range("a", 0, 2), source_range("b", 0, 2))
    group = GroupMove(1, (source("a", 2),), (target("x", 4, *ranges),))

    check_moved(group, {"a": positions([1])}, {"x": positions([1])})
    for wrong in ([1, 2], [2], [1, 9], [-1, 1]):
        with pytest.raises(ProofFailed):
            check_moved(group, {"a": positions([1])}, {"x": positions(wrong)})
    other = replace(group, sources=(source("a", 2), source("b", 2)))
    check_moved(other, {"a": positions([1]), "b": positions([0])}, {"x": positions([1, 2])})
