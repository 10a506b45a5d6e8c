"""What the frame of jobs must know about an operation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from neve.model.facts import TableFacts
from neve.model.job import JobRequest
from neve.model.operation import Operation
from neve.model.outcome import Outcome
from neve.model.plan import Plan
from neve.model.policies import EffectivePolicy
from neve.service.context import JobContext, Prepared
from neve.service.services import Services


class Handler(Protocol):
    """One operation: it refuses what makes no sense, and does its work in the context of a job."""

    @property
    def name(self) -> str: ...

    @property
    def arguments(self) -> Collection[str]:
        """What a request may tell it, besides what it says about the policy."""
        ...

    def prepare(self, services: Services, request: JobRequest) -> Prepared | None:
        """Raise for a request that could never be run: no job is made of it.

        A plan that was made on the way is what the job begins with.
        """
        ...

    def run(self, context: JobContext, prepared: Prepared | None = None) -> Outcome:
        """Do it. What was planned already is run as far as it still holds."""
        ...


class PlannedHandler(Handler, Protocol):
    """An operation that a policy asks for: it can say beforehand what it would do."""

    @property
    def operation(self) -> Operation: ...

    def plan(self, services: Services, facts: TableFacts, policy: EffectivePolicy) -> Plan[Any]:
        """What to do, from facts. Nothing is changed."""
        ...
