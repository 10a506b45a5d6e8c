"""What jobs said on their way, on a Redis server."""

from __future__ import annotations

import json

from neve.documents import from_text, to_text
from neve.model.events import RecordedEvent
from neve.model.job import JobState, Progress
from neve.store.redis.rows import moment_of
from neve.store.redis.server import RedisServer


class RedisEvents:
    """The scripts that change a job's state append to the same numbers."""

    _server: RedisServer

    def append_event(
        self, job_id: str, phase: JobState, message: str = "", progress: Progress | None = None
    ) -> int:
        """Remember what a job says; returns its number."""
        text = "" if progress is None else to_text(progress)
        return int(self._server.change("append_event", job_id, phase, message, text)[1])

    def events_after(self, job_id: str, number: int = 0, limit: int = 100) -> list[RecordedEvent]:
        """Events of the job with higher numbers, in order."""
        _, found = self._server.read("events_after", job_id, str(number), str(limit))
        return [_event(job_id, text) for text in found]


def _event(job_id: str, text: str) -> RecordedEvent:
    number, at, phase, message, progress = json.loads(text)
    return RecordedEvent(
        int(number),
        job_id,
        moment_of(at),
        JobState(phase),
        message,
        from_text(Progress, progress) if progress else None,
    )
