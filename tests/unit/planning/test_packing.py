from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neve.planning.packing import pack_first_fit_decreasing, split_evenly


def pack(sizes, capacity):
    return pack_first_fit_decreasing(sizes, capacity=capacity, size_of=lambda size: size)


def test_large_items_come_first_and_small_ones_fill_up():
    assert pack([2, 5, 4, 7, 1, 3, 8], 10) == [[8, 2], [7, 3], [5, 4, 1]]


def test_an_item_above_the_capacity_has_a_bin_of_its_own():
    assert pack([25, 3, 3], 10) == [[25], [3, 3]]


def test_nothing_makes_no_bins():
    assert pack([], 10) == []


sizes = st.lists(st.integers(0, 1000), max_size=200)
capacities = st.integers(1, 1000)


@given(sizes, capacities)
def test_every_item_is_packed_once(items, capacity):
    packed = [size for group in pack(items, capacity) for size in group]

    assert sorted(packed) == sorted(items)


@pytest.mark.conformance("groups are limited in size")
@given(sizes, capacities)
def test_no_bin_overflows_unless_one_item_does(items, capacity):
    assert all(sum(group) <= capacity or len(group) == 1 for group in pack(items, capacity))


@given(st.lists(st.integers(1, 1000), max_size=200), capacities)
def test_it_is_never_worse_than_first_fit_decreasing_may_be(items, capacity):
    fitting = [size for size in items if size <= capacity]
    fewest = math.ceil(sum(fitting) / capacity)

    assert len(pack(fitting, capacity)) <= 2 * fewest


@given(sizes, capacities)
def test_it_equals_the_textbook(items, capacity):
    bins: list[list[int]] = []
    for size in sorted(items, reverse=True):
        home = next((b for b in bins if sum(b) + size <= capacity), None)
        if home is None:
            bins.append([size])
        else:
            home.append(size)

    assert pack(items, capacity) == bins


@example(sizes=[10, 0], parts=1)
@given(sizes=st.lists(st.integers(0, 100), max_size=60), parts=st.integers(1, 12))
def test_a_list_is_cut_in_order_and_into_so_many_parts_at_most(sizes, parts):
    cut = split_evenly(sizes, parts=parts, at_least=10, size_of=lambda size: size)

    assert [size for part in cut for size in part] == sizes
    assert len(cut) <= parts
    assert all(sum(part) >= 10 for part in cut[:-1])
