"""Small files are counted every Nth write, and no write waits long or fails for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from tests.edges.database.conftest import USERS

from neve.database.detecting import Detector, Finding, count_small, is_due
from neve.model.database import DatabaseRules
from neve.model.errors import CatalogError
from neve.model.facts import TARGET_SIZE_PROPERTY

MB = 1024 * 1024


def facts(*sizes_mb):
    """The first snapshot is one of another writer, the second one of a compaction."""
    ours = {TARGET_SIZE_PROPERTY: str(128 * MB)}
    return SimpleNamespace(
        data_files=[SimpleNamespace(size_bytes=s * MB, added_snapshot_id=1) for s in sizes_mb],
        snapshots=[
            SimpleNamespace(snapshot_id=1, summary={}),
            SimpleNamespace(snapshot_id=2, summary=ours),
        ],
    )


@pytest.fixture
def pool():
    with ThreadPoolExecutor(1) as pool:
        yield pool


def look(detector):
    told, done = [], threading.Event()

    def tell(found):
        told.append(found)
        done.set()

    detector.look(USERS, "u1", tell)
    assert done.wait(10)
    return told


@pytest.mark.parametrize(
    ("total", "added", "due"),
    [(5, 1, True), (4, 1, False), (6, 1, False), (7, 3, True), (4, 4, False), (12, 12, True)],
)
def test_one_of_the_writes_is_an_nth_one(total, added, due):
    assert is_due(total, added, 5) is due


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ((1, 2, 63, 64), Finding(3, True)),
        ((1, 2, 64, 200), Finding(2, False)),
        ((), Finding(0, False)),
    ],
)
def test_files_below_the_threshold_are_small(pool, sizes, found):
    recommended = []
    detector = Detector(
        lambda table: facts(*sizes), DatabaseRules(), pool, print, recommended.append
    )
    assert look(detector) == [found]
    pool.submit(lambda: None).result(10)
    assert recommended == ([USERS] if found.is_recommended else [])


def test_what_a_compaction_left_small_is_not_counted_again():
    found = facts(1, 2)
    found.data_files[0].added_snapshot_id = 2
    assert count_small(found, 64 * MB) == 1


@pytest.mark.promise(53)
@pytest.mark.parametrize("error", [CatalogError("It is away."), ValueError("a defect")])
def test_a_count_that_fails_is_told_as_nothing(pool, error):
    def survey(table):
        raise error

    warnings = []
    assert look(Detector(survey, DatabaseRules(), pool, warnings.append, print)) == [None]


@pytest.mark.promise(53)
def test_a_count_that_takes_long_is_told_with_the_next_write(pool):
    go = threading.Event()

    def survey(table):
        go.wait(10)
        return facts(1, 1, 1)

    recommended, rules = [], DatabaseRules(check_seconds=0.01)
    detector = Detector(survey, rules, pool, print, recommended.append)
    assert look(detector) == [None]
    go.set()
    pool.submit(lambda: None).result(10)
    # No other write need come for it.
    assert recommended == [USERS]
    assert detector.late("u1") == Finding(3, True)
    assert detector.late("u1") is None
