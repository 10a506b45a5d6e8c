from __future__ import annotations

import itertools

import pytest

from neve.store.redis.store import RedisStore
from neve.testing.redis_server import RedisProcess

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
