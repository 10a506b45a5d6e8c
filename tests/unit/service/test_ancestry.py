from __future__ import annotations

import pytest

from neve.service.ancestry import lost_history
from neve.testing.facts import snapshot, table_facts


def table(*snapshots, head):
    return table_facts(snapshots=snapshots, snapshot_id=head)


CHAIN = (snapshot(1), snapshot(2, 1), snapshot(3, 2))


@pytest.mark.parametrize("seen", [[], [None], [1], [3, 2, 1]])
def test_what_is_behind_main_is_not_lost(seen):
    assert lost_history(table(*CHAIN, head=3), seen) is None


@pytest.mark.parametrize("head", [1, 2])
def test_a_commit_that_main_was_moved_away_from_is_lost(head):
    found = lost_history(table(*CHAIN, head=head), [1, 3])

    assert found == "Snapshot 3 is no longer part of the table's history."


def test_a_commit_beside_main_is_lost():
    beside = table(snapshot(1), snapshot(2, 1), snapshot(3, 1), head=3)

    assert "Snapshot 2 is no longer" in lost_history(beside, [1, 2])


def test_a_commit_that_is_gone_from_a_whole_history_is_lost():
    assert "Snapshot 2 " in lost_history(table(snapshot(1), snapshot(3, 1), head=3), [2])
    assert "Snapshot 2 " in lost_history(table_facts(snapshots=()), [2])


def test_what_somebody_expired_meanwhile_is_not_lost():
    assert lost_history(table(snapshot(3, 2), head=3), [1, 2]) is None
