"""What a command that was interrupted has done, in one sentence."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from neve.documents import from_document
from neve.model.errors import StoreError
from neve.model.events import JobEvent
from neve.model.job import Job, JobState
from neve.model.operation import Operation
from neve.model.outcome import Outcome, Status

if TYPE_CHECKING:
    from neve.neve import Neve

NOTHING = "Interrupted; nothing was changed."


class SeenJobs:
    """The jobs of this process, by what they told."""

    GENERAL = "Interrupted; what was under way is settled by the next command on the table."

    def __init__(self, neve: Neve | None, nothing: str = NOTHING) -> None:
        """`nothing` is what to say where no job has changed anything."""
        self._neve = neve
        self._nothing = nothing
        #: Jobs in the order of their beginning, and whether they got as far as changing anything.
        self.ids: dict[str, bool] = {}

    def note(self, event: JobEvent) -> None:
        begun = not (event.phase is JobState.PLANNING or event.phase.is_final)
        self.ids[event.job_id] = self.ids.get(event.job_id, False) or begun

    def sentence(self, left: Collection[str] = ()) -> str:
        """What there is to tell; `left` are jobs that were given up."""
        begun = [job_id for job_id in left if self.ids.get(job_id)]
        try:
            changed = [job for job in self._jobs() if self._has_changed(job)]
        except StoreError:
            return self.GENERAL
        if begun:
            tables = ", ".join(sorted({str(job.table) for job in self._jobs(begun)}))
            return f"Interrupted; what was under way on {tables} is settled by the next command."
        if not changed:
            return self._nothing
        if len(changed) > 1:
            return f"Interrupted; {len(changed)} jobs had been done, and stay: neve history"
        (job,) = changed
        return f"Interrupted; {job.table}: {job.reason}"

    def _jobs(self, ids: Collection[str] | None = None) -> list[Job]:
        if self._neve is None:
            return []
        found = (self._neve.job(job_id) for job_id in (self.ids if ids is None else ids))
        return [job for job in found if job is not None]

    def _has_changed(self, job: Job) -> bool:
        """Whether it may have changed its table; what was given up is told of elsewhere."""
        if not self.ids.get(job.job_id):
            return False
        outcome = _outcome(job)
        if outcome is None:
            return job.state.is_final
        if outcome.status is Status.NOTHING_TO_DO:
            return False
        is_whole = job.operation == Operation.REWRITE_DATA_FILES
        return not (
            outcome.status is Status.CANCELLED
            and is_whole
            and outcome.snapshot_before == outcome.snapshot_after
        )


def _outcome(job: Job) -> Outcome | None:
    with suppress(ValueError):
        return from_document(Outcome, json.loads(job.outcome)) if job.outcome else None
    return None
