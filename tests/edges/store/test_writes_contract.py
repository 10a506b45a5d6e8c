"""Writes are counted, and each key once for good."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from neve.model.database import WriteKey


def test_writes_are_counted_for_each_table(store):
    assert store.writes.record("t1", [], 1) == 1
    assert store.writes.record("t1", [WriteKey("a", "x"), WriteKey("b", "x")], 2) == 5
    assert store.writes.record("t2", [], 1) == 1


def test_a_key_counts_once_and_keeps_its_content(store):
    assert store.writes.record("t1", [WriteKey("a", "x")]) == 1
    assert store.writes.record("t1", [WriteKey("a", "other"), WriteKey("b", "y")]) == 2
    assert store.writes.known("t1", ["a", "b", "c"]) == {"a": "x", "b": "y"}
    assert store.writes.known("t2", ["a"]) == {}


def test_nothing_is_known_where_nobody_wrote(store):
    assert store.writes.known("t1", ["a"]) == {}
    assert store.writes.known("t1", []) == {}


@pytest.mark.promise(53)
def test_many_at_once_are_all_counted(store):
    with ThreadPoolExecutor(4) as pool:
        totals = list(pool.map(lambda n: store.writes.record("t1", [], 1), range(20)))
    assert sorted(totals) == list(range(1, 21))


def test_more_keys_than_one_request_holds(store):
    keys = [WriteKey(str(number), "x") for number in range(1100)]
    assert store.writes.record("t1", keys, 3) == 1103
    assert len(store.writes.known("t1", [key.key for key in keys])) == 1100


def test_the_oldest_keys_are_forgotten(store, monkeypatch):
    for place in ("neve.store.redis.writes", "neve.testing.writes"):
        monkeypatch.setattr(f"{place}.MAX_WRITE_KEYS", 2)
    monkeypatch.setattr("neve.store.writes.FORGET", _forget_all_but(2))
    store.writes.record("t1", [WriteKey("a", "x"), WriteKey("b", "x"), WriteKey("c", "x")])
    assert store.writes.known("t1", ["a", "b", "c"]) == {"b": "x", "c": "x"}
    assert store.writes.record("t1", [], 0) == 3


def _forget_all_but(count):
    from neve.model.database import MAX_WRITE_KEYS
    from neve.store.writes import FORGET

    return FORGET.replace(str(MAX_WRITE_KEYS), str(count))
