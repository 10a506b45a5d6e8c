"""What jobs said on their way, in the state database."""

from __future__ import annotations

from neve.documents import from_text, to_text
from neve.model.events import RecordedEvent
from neve.model.job import JobState, Progress
from neve.store import statements as sql
from neve.store.database import Database
from neve.store.values import moment


class EventRows(Database):
    """Changes of states become events by triggers, so that none is missed."""

    def append_event(
        self, job_id: str, phase: JobState, message: str = "", progress: Progress | None = None
    ) -> int:
        """Remember what a job says; returns its number."""
        text = None if progress is None else to_text(progress)
        with self._write() as db:
            row = db.execute(sql.APPEND_EVENT, (job_id, phase, message, text)).fetchone()
            if text is not None:
                db.execute(sql.SET_PROGRESS, (text, job_id))
        return int(row["number"])

    def events_after(self, job_id: str, number: int = 0, limit: int = 100) -> list[RecordedEvent]:
        """Events of the job with higher numbers, in order."""
        return [
            RecordedEvent(
                row["number"],
                row["job_id"],
                moment(row["told_at"]),
                JobState(row["phase"]),
                row["message"],
                progress_of(row["progress"]),
            )
            for row in self._rows("events", sql.EVENTS_AFTER, (job_id, number, limit))
        ]


def progress_of(text: str | None) -> Progress | None:
    return from_text(Progress, text) if text else None
