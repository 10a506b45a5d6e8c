from __future__ import annotations

from datetime import timedelta

import pytest

from neve.model.policy import CompactionPolicy, RewriteMode
from neve.planning.cost import CostModel
from neve.planning.planner import PlanRequest
from neve.service.maintenance import Maintenance
from neve.testing.facts import MB, NOW, TABLE, data_file, partition, table_facts
from neve.testing.lake import MemoryLake, SilentReporter
from neve.testing.store import MemoryStore

POLICY = CompactionPolicy(target_file_size_bytes=100 * MB, undo_window_seconds=86400)


class ManualClock:
    """Stands still until it is told to go on."""

    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def store(clock):
    return MemoryStore(clock)


@pytest.fixture
def lake():
    """Three small files on Monday, one good file on Tuesday."""
    small = [data_file(f"mon-{index}", 10 * MB) for index in range(3)]
    good = data_file("tue", 90 * MB, partition=partition("tue"))
    return MemoryLake(table_facts([*small, good]))


def make_services_over(lake, store, clock):
    return Maintenance(
        surveyor=lake,
        metadata=lake.metadata,
        make_engine=lambda: lake,
        store=store,
        log=lake,
        clock=clock,
        reporter=SilentReporter(),
        cost_model=CostModel(),
        lease_seconds=60,
    )


@pytest.fixture
def services(lake, store, clock):
    return make_services_over(lake, store, clock)


@pytest.fixture
def make_services(lake):
    """New ones with each call, for tests that draw many examples."""

    def make():
        clock = ManualClock()
        return make_services_over(MemoryLake(lake.facts), MemoryStore(clock), clock)

    return make


@pytest.fixture
def plan(services):
    """The plan for the table as it is now, on Iceberg's own action."""
    return lambda **request: services.plan(
        TABLE, PlanRequest(**{"engine": RewriteMode.SPARK, **request}), where=None, policy=POLICY
    )
