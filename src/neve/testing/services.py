"""All ports in memory, put together as one deployment; mypy holds each to its protocol."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from neve.planning.cost import CostModel
from neve.service.maintenance import Maintenance
from neve.testing.facts import NOW
from neve.testing.lake import SilentReporter
from neve.testing.lakes import MemoryLakes
from neve.testing.orphans import StoredLake
from neve.testing.store import MemoryStore


class ManualClock:
    """Stands still until it is told to go on."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def memory_services(
    lake: StoredLake | MemoryLakes,
    store: MemoryStore | None = None,
    clock: Callable[[], datetime] | None = None,
    lease_seconds: float = 60,
) -> Maintenance:
    """The use cases over lakes, which are catalog, engine and maintenance log in one."""
    clock = clock or ManualClock()
    return Maintenance(
        surveyor=lake,
        metadata=lake if isinstance(lake, MemoryLakes) else lake.metadata,
        make_engine=lambda: lake,
        store=store or MemoryStore(clock),
        log=lake,
        clock=clock,
        reporter=SilentReporter(),
        cost_model=CostModel(),
        lease_seconds=lease_seconds,
    )
