"""The way from a connection of type `neve` to its server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook

from neve_provider import routes
from neve_provider.errors import NeveError
from neve_provider.get_provider_info import UI_FIELDS
from neve_provider.server import NeveServer

if TYPE_CHECKING:
    from airflow.sdk import Connection

DEFAULT_PORT = 8080
#: What a connection's extra may say.
EXTRAS = ("timeout_seconds", "verify", "job_page")


class NeveHook(BaseHook):
    """A Neve server: host and port, a key as the password, `https` as the schema."""

    conn_name_attr = "neve_conn_id"
    default_conn_name = "neve_default"
    conn_type = "neve"
    hook_name = "Neve"

    def __init__(self, neve_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.neve_conn_id = neve_conn_id

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        return {key.replace("-", "_"): value for key, value in UI_FIELDS.items()}

    def get_conn(self) -> NeveServer:
        return server_of(self.get_connection(self.neve_conn_id))

    async def aget_conn(self) -> NeveServer:
        """The same, for an event loop."""
        return server_of(await self.aget_connection(self.neve_conn_id))

    def job(self, job_id: str) -> dict[str, Any]:
        """One job, with its outcome once there is one."""
        found: dict[str, Any] = self.get_conn().send(routes.job(job_id))
        return found

    def cancel(self, job_id: str) -> None:
        """Stop a job: at once where it is queued, at its next boundary where it runs."""
        self.get_conn().send(routes.cancel(job_id))

    def health(self, table: str) -> dict[str, Any]:
        """How well a table is, and why."""
        found: dict[str, Any] = self.get_conn().send(routes.health(table))
        return found

    def newest_snapshot(self, table: str) -> dict[str, Any] | None:
        """The snapshot that was committed last; `job_id` tells whether a job of Neve made it."""
        found = self.get_conn().send(routes.newest_snapshot(table))["snapshots"]
        return found[0] if found else None

    def test_connection(self) -> tuple[bool, str]:
        try:
            self.get_conn().send(routes.Request("GET", f"{routes.API}/jobs?limit=1"))
        except NeveError as error:
            return False, str(error)
        return True, "The server answers."


def server_of(connection: Connection) -> NeveServer:
    """The server that a connection means; a whole address may stand as its host."""
    host = (connection.host or "localhost").rstrip("/")
    if "://" not in host:
        port = connection.port or DEFAULT_PORT
        host = f"{connection.schema or 'http'}://{host}:{port}"
    extra = connection.extra_dejson or {}
    if unknown := sorted(set(extra) - set(EXTRAS)):
        raise ValueError(
            f"The connection {connection.conn_id} says {', '.join(unknown)} in its extra, which "
            f"nobody reads. Write one of {', '.join(EXTRAS)}."
        )
    return NeveServer(host, connection.password or "", **extra)
