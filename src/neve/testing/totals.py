"""What was counted, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from neve.access.quotas import Usage
from neve.model.figures import JOBS, StoreTotals, counter_name
from neve.model.job import Job, JobState
from neve.store.values import outcome_of


class MemoryTotals:
    """Counters in a dictionary."""

    _jobs: dict[str, Job]

    def __init__(self) -> None:
        self._counters: dict[str, float] = {}

    @property
    def totals(self) -> StoreTotals:
        alive = [job.state for job in self._jobs.values() if not job.state.is_final]
        queued = alive.count(JobState.QUEUED)
        dead = sum(job.is_dead for job in self._jobs.values())
        return StoreTotals(dict(self._counters), queued, len(alive) - queued, dead)

    def usage(self, tenant: str, day: date) -> Usage:
        own = [job for job in list(self._jobs.values()) if job.tenant == tenant]
        ended = [job for job in own if job.state.is_final and job.updated_at.date() == day]
        outcomes = [outcome for job in ended if (outcome := outcome_of(job))]
        return Usage(
            sum(not job.state.is_final for job in own),
            sum(outcome.bytes_rewritten for outcome in outcomes),
            sum(outcome.actual_usd or 0.0 for outcome in outcomes),
        )

    def _add(self, added: Mapping[str, float]) -> None:
        for name, amount in added.items():
            self._counters[name] = self._counters.get(name, 0.0) + amount

    def _count_job(self, operation: str, state: JobState) -> None:
        if state.is_final:
            self._add({counter_name(JOBS, operation, state): 1.0})
