"""What was counted, in memory."""

from __future__ import annotations

from collections.abc import Mapping

from neve.model.figures import JOBS, StoreTotals, counter_name
from neve.model.job import Job, JobState


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

    def _add(self, added: Mapping[str, float]) -> None:
        for name, amount in added.items():
            self._counters[name] = self._counters.get(name, 0.0) + amount

    def _count_job(self, operation: str, state: JobState) -> None:
        if state.is_final:
            self._add({counter_name(JOBS, operation, state): 1.0})
