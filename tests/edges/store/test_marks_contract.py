"""Marks change for one of those who knew the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


def test_nothing_stands_where_nobody_wrote(store):
    assert store.marks.get("a") == ""


def test_a_mark_is_changed_by_who_knows_it(store):
    assert store.marks.set("a", "1", expected="")
    assert not store.marks.set("a", "2", expected="")
    assert store.marks.set("a", "2", expected="1")
    assert (store.marks.get("a"), store.marks.get("b")) == ("2", "")


def test_a_mark_can_be_taken_back(store):
    store.marks.set("a", "1", expected="")
    store.marks.set("a", "", expected="1")

    assert store.marks.set("a", "2", expected="")


def test_of_many_at_once_one_succeeds(store):
    store.marks.set("a", "0", expected="")

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: store.marks.set("a", str(n), expected="0"), range(1, 9)))

    assert done.count(True) == 1
    assert store.marks.get("a") == str(done.index(True) + 1)
