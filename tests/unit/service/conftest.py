from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from neve.model.plan import CompactionPlan
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode
from neve.service.maintenance import Maintenance
from neve.testing.facts import MB, TABLE, data_file, partition, table_facts
from neve.testing.orphans import StoredLake
from neve.testing.services import ManualClock, memory_services
from neve.testing.store import MemoryStore

POLICY = CompactionPolicy(target_file_size_bytes=100 * MB, undo_window_seconds=86400)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def lake() -> StoredLake:
    """Three small files on Monday, one good file on Tuesday."""
    small = [data_file(f"mon-{index}", 10 * MB) for index in range(3)]
    good = data_file("tue", 90 * MB, partition=partition("tue"))
    return StoredLake(table_facts([*small, good]))


@pytest.fixture
def services(lake: StoredLake, store: MemoryStore, clock: ManualClock) -> Maintenance:
    return memory_services(lake, store, clock)


@pytest.fixture
def make_services(lake: StoredLake) -> Callable[[], Maintenance]:
    """New ones with each call, for tests that draw many examples."""

    def make() -> Maintenance:
        clock = ManualClock()
        return memory_services(StoredLake(lake.facts), MemoryStore(clock), clock)

    return make


@pytest.fixture
def plan(services: Maintenance) -> Callable[..., CompactionPlan]:
    """The plan for the table as it is now, on Iceberg's own action."""
    arguments = RewriteDataFilesArguments(engine=RewriteMode.SPARK)
    return lambda max_cost_usd=None, **said: services.plan(
        TABLE, replace(arguments, **said), policy=POLICY, max_cost_usd=max_cost_usd
    )
