"""The part of the façade about telling: where a server runs, and what a day was like."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime

from neve.looking import Looking
from neve.serve_address import ServerAddress, announce, find_server
from neve.service.digests import digest, digest_if_due


@dataclass(frozen=True, slots=True)
class ServeDefaults:
    """What a server of this configuration does, where nobody says otherwise."""

    host: str
    port: int
    #: Jobs that its worker runs at the same time.
    concurrency: int
    #: Whether it gives tables their turns.
    is_scheduling: bool


class Announcing(Looking):
    """What is told to other processes of this machine, and to people."""

    def serve_defaults(self) -> ServeDefaults:
        """Where a server listens, how much it does at once, and whether it goes by schedules."""
        settings = self._app.settings
        said = settings.maintain.model_fields_set
        return ServeDefaults(
            settings.server.host,
            settings.server.port,
            settings.maintain.parallel_tables if "parallel_tables" in said else 1,
            settings.scheduler.enabled,
        )

    def server(self) -> ServerAddress | None:
        """A server of this configuration on this machine, which jobs can be handed to."""
        return find_server(self._app.settings)

    def announce(self, host: str, port: int) -> AbstractContextManager[ServerAddress]:
        """Let others find this process as such a server, for the length of the block."""
        return announce(self._app.settings, host, port)

    def send_digest(self, day: date) -> list[str]:
        """Send a day's digest, once, whoever asks; returns the channels that got it now."""
        return digest(self._services, day)

    def send_due_digest(self, now: datetime | None = None) -> list[str]:
        """Send the digest of yesterday, if its hour has come and nobody has sent it."""
        return digest_if_due(self._services, now)
