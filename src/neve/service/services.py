"""The part of the service that the steps of a run need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from neve.model.events import JobEvent
from neve.planning.cost import CostModel
from neve.service.lease import StopSignal
from neve.service.ports import (
    Clock,
    Engine,
    JobStore,
    MaintenanceLog,
    MetadataWriter,
    Reporter,
    Surveyor,
)


class Services(Protocol):
    """Ports and settings of one deployment."""

    @property
    def surveyor(self) -> Surveyor: ...
    @property
    def engine(self) -> Engine: ...
    @property
    def metadata(self) -> MetadataWriter: ...
    @property
    def store(self) -> JobStore: ...
    @property
    def log(self) -> MaintenanceLog: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def reporter(self) -> Reporter: ...
    @property
    def cost_model(self) -> CostModel: ...
    @property
    def lease_seconds(self) -> float: ...
    @property
    def sleep(self) -> Callable[[float], None]: ...
    @property
    def events(self) -> Callable[[JobEvent], None]: ...
    @property
    def stop(self) -> StopSignal: ...

    def with_reporter(self, reporter: Reporter) -> Services:
        """The same, telling another reporter what is going on."""
        ...
