"""An operation that an engine runs whole, by a procedure of its own: Trino's."""

from __future__ import annotations

from dataclasses import dataclass

from neve.model.job import JobRequest, JobState
from neve.model.operation import Operation
from neve.model.outcome import Outcome
from neve.service.context import JobContext, Prepared
from neve.service.services import Services


@dataclass(frozen=True, slots=True)
class ProcedureHandler:
    """One such operation. It has no parts, so that it stops before it begins or not at all."""

    operation: Operation

    @property
    def name(self) -> str:
        return str(self.operation)

    @property
    def arguments(self) -> tuple[str, ...]:
        return ()

    def prepare(self, services: Services, request: JobRequest) -> Prepared | None:
        """Refuse where there is no engine for it."""
        _ = services.procedures
        return None

    def run(self, context: JobContext, prepared: Prepared | None = None) -> Outcome:
        """Run it in its job; what came of it is the engine's word."""
        procedures = context.services.procedures
        context.check()
        context.enter(JobState.REWRITING)
        return procedures.run(context.table, self.operation, context.job_id, context.services.clock)
