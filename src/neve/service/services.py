"""What every step of a job is given: the ports and settings of one deployment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from neve.access.chain import AuditEntry
from neve.model.errors import ConfigError
from neve.model.events import JobEvent
from neve.model.job import Progress
from neve.model.notices import DigestTime
from neve.model.policies import EffectivePolicy
from neve.model.table import TableRef
from neve.planning.cost import CostModel
from neve.service.auditing import Evidence
from neve.service.lease import StopSignal
from neve.service.policies import Policies
from neve.service.ports import (
    Clock,
    Engine,
    MaintenanceLog,
    MetadataWriter,
    Notifier,
    Procedures,
    Reporter,
    Surveyor,
)
from neve.service.store_ports import JobStore


@dataclass(frozen=True)
class Services:
    """Ports and settings; nothing in here knows what they are used for."""

    surveyor: Surveyor
    metadata: MetadataWriter
    make_engine: Callable[[], Engine]
    store: JobStore
    log: MaintenanceLog
    clock: Clock
    reporter: Reporter
    cost_model: CostModel
    lease_seconds: float
    policies: Policies = field(default_factory=Policies)
    sleep: Callable[[float], None] = time.sleep
    #: Where events of jobs go; nowhere by default.
    events: Callable[[JobEvent], None] = lambda event: None
    #: Where work says how far it is; nowhere outside of a job.
    progress: Callable[[Progress], None] = lambda progress: None
    stop: StopSignal = field(default_factory=StopSignal)
    #: Runs the jobs that are for Trino, where it is configured.
    make_procedures: Callable[[], Procedures] | None = None

    #: Who tells people how jobs end; nobody by default.
    notifier: Notifier | None = None
    digest_time: DigestTime = field(default_factory=DigestTime)
    #: Where the audit log is written; nowhere by default.
    auditor: Callable[[AuditEntry], None] = lambda entry: None
    #: What the job under way tells for the audit log.
    evidence: Evidence = field(default_factory=Evidence)
    #: Where troubles go that must not fail a job; nowhere by default.
    warn: Callable[[str], None] = lambda message: None

    @property
    def engine(self) -> Engine:
        """Made when something is to be changed: looking needs no engine."""
        return self.make_engine()

    @property
    def procedures(self) -> Procedures:
        """What runs the jobs that are for Trino."""
        if self.make_procedures is None:
            raise ConfigError(
                "This job is for Trino, and this Neve works with Spark.",
                next_step="Run it where neve.yaml says engine: trino.",
            )
        return self.make_procedures()

    def with_reporter(self, reporter: Reporter) -> Self:
        """The same, telling another reporter what is going on."""
        return replace(self, reporter=reporter)

    def effective(
        self,
        table: TableRef,
        overrides: Mapping[str, object] | None = None,
        *,
        apply: bool = False,
    ) -> EffectivePolicy:
        """The table's policy, with what the caller said as its strongest layer."""
        return self.policies.effective(self.surveyor.outline(table), overrides, apply=apply)
