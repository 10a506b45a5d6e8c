from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest

from neve.store.redis.store import RedisStore
from neve.store.sqlite import SqliteStore
from neve.testing.redis_server import RedisProcess
from neve.testing.store import MemoryStore

_prefixes = (f"test-{number}" for number in itertools.count())


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    with RedisProcess(tmp_path_factory.mktemp("redis"), is_cluster=True) as server:
        yield server


@pytest.fixture
def redis_store(redis_server):
    """A store under a prefix of its own."""
    store = RedisStore(redis_server.url, prefix=next(_prefixes))
    yield store
    store.close()


@pytest.fixture(params=["sqlite", "memory", "redis"])
def store(request):
    if request.param == "redis":
        return request.getfixturevalue("redis_store")
    if request.param == "sqlite":
        return SqliteStore(Path("state.db"))
    return MemoryStore(lambda: datetime.now(tz=UTC))
