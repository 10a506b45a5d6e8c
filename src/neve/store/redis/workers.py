"""Workers on a Redis server, for as long as they say so."""

from __future__ import annotations

from neve.documents import from_text, to_text
from neve.model.workers import AnnouncedWorker
from neve.store.redis.rows import microseconds
from neve.store.redis.server import RedisServer


class RedisWorkers:
    """Who is there now."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def announce(self, worker: AnnouncedWorker, seconds: float) -> None:
        sent = (worker.worker_id, to_text(worker), microseconds(seconds))
        self._server.change("announce_worker", *sent)

    def leave(self, worker_id: str) -> None:
        self._server.change("remove_worker", worker_id)

    def all(self) -> list[AnnouncedWorker]:
        _, texts = self._server.read("workers")
        found = [from_text(AnnouncedWorker, text) for text in texts]
        return sorted(found, key=lambda worker: worker.worker_id)
