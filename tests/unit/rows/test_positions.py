from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import RowsCorrupt
from neve.rows.positions import MovedRange, translate


def positions(values: Any) -> Any:
    return np.array(sorted(values), dtype=np.int64)


@st.composite
def rewrites(draw: Any) -> Any:
    """Files with deletes, cut into ranges that were written to targets one after the other."""
    ranges, where, ends = [], {}, {"x": 0, "y": 0}
    files = {}
    for source in draw(st.lists(st.sampled_from("abc"), unique=True)):
        rows = draw(st.integers(0, 30))
        removed = draw(st.sets(st.integers(0, 35)))
        cuts = sorted({0, rows, *draw(st.sets(st.integers(0, rows), max_size=3))})
        files[source] = rows
        for first, end in pairwise(cuts):
            target = draw(st.sampled_from("xy"))
            moved = MovedRange(source, first, end - first, target, ends[target], positions(removed))
            ranges.append(moved)
            for position in range(first, end):
                if position not in removed:
                    where[source, position] = (target, ends[target])
                    ends[target] += 1
            assert moved.target_rows == ends[target] - moved.target_first
    return draw(st.permutations(ranges)), where, files


@given(rewrites(), st.data())
def test_every_delete_follows_its_row(made: Any, data: Any):
    ranges, where, files = made
    deletes = {
        source: data.draw(st.sets(st.integers(0, rows - 1))) if rows else set()
        for source, rows in files.items()
    }

    found = translate(ranges, {source: positions(each) for source, each in deletes.items()})

    expected: dict[str, set[int]] = {}
    for source, each in deletes.items():
        for position in each:
            if (source, position) in where:
                target, to = where[source, position]
                expected.setdefault(target, set()).add(to)
    assert {target: list(each) for target, each in found.items()} == {
        target: sorted(each) for target, each in expected.items()
    }


def moved(first: int, rows: int, target_first: int = 0) -> MovedRange:
    return MovedRange("a", first, rows, "x", target_first, positions([]))


@pytest.mark.parametrize("position", [9, 15])
def test_a_delete_of_a_row_that_was_not_rewritten_is_refused(position: int):
    with pytest.raises(RowsCorrupt, match="not rewritten"):
        translate([moved(10, 5)], {"a": positions([position])})


def test_a_delete_of_another_file_is_refused():
    with pytest.raises(RowsCorrupt, match="not rewritten"):
        translate([moved(10, 5)], {"b": positions([10])})


def test_rows_that_were_rewritten_twice_are_refused():
    with pytest.raises(RowsCorrupt, match="twice"):
        translate([moved(0, 5), moved(4, 5, 5)], {"a": positions([1])})
