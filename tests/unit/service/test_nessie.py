"""Tables that Nessie shows: the newest snapshot alone, which names no parent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.errors import TableUnreadable
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Strategy
from neve.service.ancestry import with_history
from neve.service.unchanged import check_commits
from neve.service.verify import verify_commits
from neve.testing.facts import MB, TABLE, data_file, snapshot, table_facts
from neve.testing.orphans import StoredLake
from neve.testing.services import memory_services

POLICY = CompactionPolicy(target_file_size_bytes=100 * MB)
NESSIE = {"nessie.commit.id": "6c12", "nessie.commit.ref": "dev", "gc.enabled": "false"}


class NessieLake(StoredLake):
    """Keeps all of its history, and shows the end of it."""

    def survey(self, table, *, where=None, snapshot_id=None):
        facts = super().survey(table, where=where)
        if snapshot_id not in (None, facts.snapshot_id):
            raise TableUnreadable(f"Table {table} keeps no snapshot {snapshot_id}.")
        head = replace(facts.snapshot(facts.snapshot_id), parent_id=None)
        return replace(
            facts, snapshots=(head,), where=where, last_sequence_number=len(self.history)
        )


@pytest.fixture
def lake():
    files = [data_file(f"mon-{number}", 20 * MB) for number in range(3)]
    return NessieLake(table_facts(files, properties=NESSIE))


@pytest.fixture
def compact(lake, store, clock):
    services = memory_services(lake, store, clock)
    return lambda **said: services.compact(TABLE, RewriteDataFilesArguments(**said), policy=POLICY)


@pytest.mark.parametrize("said", [{}, {"where": "day = 'mon'"}])
def test_what_was_seen_before_is_what_a_commit_is_held_against(lake, compact, said):
    outcome = compact(**said)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert (outcome.proof.rows_in, outcome.proof.rows_out) == (300, 300)
    assert outcome.stats.files_before - outcome.stats.files_after == 2
    assert "the state before is Nessie's commit 6c12 on dev" in outcome.reason


def test_a_commit_that_loses_rows_is_found(lake, compact):
    lake.lose_rows = 5

    # Iceberg's action commits by itself: nothing is proven before that.
    outcome = compact(strategy=Strategy.SORT, sort_columns=("id",))

    assert outcome.status is Status.FAILED
    assert len(lake.history) > 1
    assert "300" in outcome.reason, outcome.reason


def test_what_came_between_unseen_is_told(lake, compact, monkeypatch):
    rewrite = lake._commit

    def behind_a_writer(files, added, operation, summary):
        lake.history[99] = lake.facts
        rewrite(files, added, operation, summary)

    monkeypatch.setattr(lake, "_commit", behind_a_writer)

    outcome = compact()

    assert outcome.status is Status.FAILED
    assert "names no parent" in outcome.reason


BEFORE = table_facts(snapshots=[snapshot(1)], properties=NESSIE, last_sequence_number=1)
AFTER = table_facts(snapshots=[snapshot(2)], properties=NESSIE, last_sequence_number=2)


def test_the_only_commit_since_was_made_on_what_was_seen():
    linked = with_history(BEFORE, AFTER)

    assert [s.snapshot_id for s in linked.ancestry()] == [2, 1]


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        replace(AFTER, last_sequence_number=3),
        replace(AFTER, properties={}),
        replace(AFTER, table_uuid="another"),
        replace(AFTER, snapshots=(snapshot(2, 7),)),
        table_facts(snapshots=(), properties=NESSIE),
    ],
    ids=["nothing new", "two commits", "another catalog", "another table", "parent", "empty"],
)
def test_nothing_else_is_taken_for_history(after):
    assert with_history(BEFORE, after) is after


def test_a_snapshot_without_a_parent_proves_nothing(lake, store, clock):
    services = memory_services(lake, store, clock)
    alone = [snapshot(1)]

    assert "names no parent" in verify_commits(services, TABLE, alone).problem
    assert "names no parent" in check_commits(services, TABLE, "rewrite_manifests", alone)
