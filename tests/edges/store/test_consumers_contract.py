"""One contract for every store of consumers: file, Redis server, and their twin in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from neve.model.table import TableRef
from neve.store.consumers import ConsumerStore
from neve.testing.consumers import MemoryConsumers

pytestmark = pytest.mark.promise(14)

TABLE = TableRef("lake", ("db",), "odd `name`")
OTHER = TableRef("lake", ("db",), "other")
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "memory", "redis"])
def consumers(request):
    if request.param == "redis":
        return request.getfixturevalue("redis_store").consumers
    if request.param == "sqlite":
        return ConsumerStore(Path("state") / "state.db")
    return MemoryConsumers(lambda: datetime.now(tz=UTC))


def test_there_are_none_at_first(consumers):
    assert (consumers.all(), consumers.all(TABLE)) == ([], [])


def test_a_consumer_reads_from_a_snapshot_or_from_a_moment(consumers):
    consumers.add("job", TABLE, snapshot_id=2**62, lease_seconds=60)
    consumers.add("clock", TABLE, at=MOMENT, lease_seconds=60)

    found = [(c.name, c.table, c.snapshot_id, c.at, c.is_live) for c in consumers.all(TABLE)]
    assert found == [
        ("clock", TABLE, None, MOMENT, True),
        ("job", TABLE, 2**62, None, True),
    ]


def test_a_lease_is_counted_from_now(consumers):
    before = datetime.now(tz=UTC)
    consumers.add("job", TABLE, snapshot_id=1, lease_seconds=60)
    after = datetime.now(tz=UTC)

    [found] = consumers.all(TABLE)
    grain = timedelta(milliseconds=2)
    assert before - grain <= found.leased_until - timedelta(seconds=60) <= after + grain


def test_a_lapsed_consumer_is_listed_as_one(consumers):
    consumers.add("job", TABLE, snapshot_id=1, lease_seconds=-1)

    assert [c.is_live for c in consumers.all(TABLE)] == [False]


def test_adding_again_moves_a_consumer_on(consumers):
    consumers.add("job", TABLE, snapshot_id=1, lease_seconds=0)
    consumers.add("job", TABLE, at=MOMENT, lease_seconds=60)

    assert [(c.snapshot_id, c.at) for c in consumers.all(TABLE)] == [(None, MOMENT)]


def test_a_name_is_taken_for_one_table_only(consumers):
    consumers.add("job", OTHER, snapshot_id=2, lease_seconds=60)
    consumers.add("job", TABLE, snapshot_id=1, lease_seconds=60)

    assert [(c.table, c.snapshot_id) for c in consumers.all()] == [(TABLE, 1), (OTHER, 2)]
    assert [c.snapshot_id for c in consumers.all(OTHER)] == [2]


def test_a_consumer_can_be_removed_once(consumers):
    consumers.add("job", TABLE, snapshot_id=1, lease_seconds=60)

    assert consumers.remove("job", OTHER) is False
    assert consumers.remove("job", TABLE) is True
    assert consumers.remove("job", TABLE) is False
    assert consumers.all() == []
