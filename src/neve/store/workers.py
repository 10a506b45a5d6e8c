"""Workers in the state database, for as long as they say so."""

from __future__ import annotations

from neve.documents import from_text, to_text
from neve.model.workers import AnnouncedWorker
from neve.store.database import NOW, Database

_ANNOUNCE = (
    f"INSERT INTO workers (worker_id, announced, expires_at) VALUES (?, ?, {NOW} + ?) "
    "ON CONFLICT (worker_id) DO UPDATE SET announced = excluded.announced, "
    "expires_at = excluded.expires_at"
)
_FORGET = f"DELETE FROM workers WHERE expires_at <= {NOW}"
_LEAVE = "DELETE FROM workers WHERE worker_id = ?"
_ALL = f"SELECT announced FROM workers WHERE expires_at > {NOW} ORDER BY worker_id"


class SqliteWorkers(Database):
    """Who is there now."""

    def announce(self, worker: AnnouncedWorker, seconds: float) -> None:
        with self._write() as db:
            db.execute(_FORGET)
            db.execute(_ANNOUNCE, (worker.worker_id, to_text(worker), seconds))

    def leave(self, worker_id: str) -> None:
        with self._write() as db:
            db.execute(_LEAVE, (worker_id,))

    def all(self) -> list[AnnouncedWorker]:
        rows = self._rows("workers", _ALL, ())
        return [from_text(AnnouncedWorker, row["announced"]) for row in rows]
