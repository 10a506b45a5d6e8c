"""One contract for every quarantine: the file, the Redis server and their twin in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from neve.model.orphans import FileTotals, Orphan, QuarantineState
from neve.model.table import TableRef
from neve.store.quarantine import SqliteQuarantine
from neve.testing.quarantine import MemoryQuarantine

pytestmark = pytest.mark.promise(23)

TABLE = TableRef("lake", ("db",), "odd `name`")
OPEN = (QuarantineState.QUARANTINED, QuarantineState.PURGING)
CHANGED = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "memory", "redis"])
def quarantine(request):
    if request.param == "redis":
        return request.getfixturevalue("redis_store").quarantine
    if request.param == "sqlite":
        return SqliteQuarantine(Path("state") / "state.db")
    return MemoryQuarantine(lambda: datetime.now(tz=UTC))


def orphan(path, **changes):
    values = {"size_bytes": 2**40, "modified_at": CHANGED, "etag": "e", "reason": "nobody's"}
    return Orphan(path, **{**values, **changes})


def test_there_is_nothing_at_first(quarantine):
    assert quarantine.entries("u", QuarantineState) == quarantine.due("u", 0) == []
    assert not quarantine.was_swept("u")


def test_an_entry_remembers_the_file_as_it_was(quarantine):
    before = datetime.now(tz=UTC)
    marked = orphan("s3://b/é 'x", etag=None)
    assert quarantine.add(TABLE, "u", "j1", [marked]) == 1
    [entry] = quarantine.entries("u", OPEN)
    assert (entry.orphan, entry.table, entry.table_uuid, entry.job_id) == (marked, TABLE, "u", "j1")
    assert entry.state is QuarantineState.QUARANTINED
    assert entry.marked_at == entry.state_at
    grain = timedelta(milliseconds=2)
    assert before - grain <= entry.marked_at <= datetime.now(tz=UTC) + grain


def test_a_file_is_on_the_list_once(quarantine):
    quarantine.add(TABLE, "u", "j1", [orphan("a")])
    assert quarantine.add(TABLE, "u", "j2", [orphan("a"), orphan("b")]) == 1
    assert [(e.orphan.path, e.job_id) for e in quarantine.entries("u", OPEN)] == [
        ("a", "j1"),
        ("b", "j2"),
    ]


def test_tables_do_not_see_each_others_entries(quarantine):
    quarantine.add(TABLE, "u", "j", [orphan("a")])
    assert quarantine.add(TABLE, "v", "j", [orphan("a")]) == 1
    assert len(quarantine.due("u", 0)) == len(quarantine.entries("v", OPEN)) == 1


def test_an_entry_is_due_when_it_has_waited(quarantine):
    quarantine.add(TABLE, "u", "j", [orphan("a")])
    assert quarantine.due("u", 60) == []
    assert [entry.orphan.path for entry in quarantine.due("u", 0)] == ["a"]


@pytest.mark.parametrize(
    "final", [QuarantineState.PURGED, QuarantineState.RELEASED, QuarantineState.RESTORED]
)
def test_a_final_state_stays_and_the_file_may_be_marked_again(quarantine, final):
    quarantine.add(TABLE, "u", "j", [orphan("a")])
    [entry] = quarantine.entries("u", OPEN)
    quarantine.move([entry.entry_id], QuarantineState.PURGING, "")
    assert [e.state for e in quarantine.due("u", 0)] == [QuarantineState.PURGING]
    quarantine.move([entry.entry_id], final, "why")
    quarantine.move([entry.entry_id], QuarantineState.QUARANTINED, "never")
    [kept] = quarantine.entries("u", QuarantineState)
    assert (kept.state, kept.state_reason, kept.marked_at) == (final, "why", entry.marked_at)
    assert quarantine.due("u", 0) == []
    assert quarantine.add(TABLE, "u", "j", [orphan("a")]) == 1
    assert len(quarantine.entries("u", QuarantineState)) == 2


def test_a_completed_sweep_is_remembered_for_that_table(quarantine):
    quarantine.record_sweep(TABLE, "u", "j", FileTotals(3, 30))
    quarantine.record_sweep(TABLE, "u", "j", FileTotals(3, 30))
    assert quarantine.was_swept("u")
    assert not quarantine.was_swept("v")
