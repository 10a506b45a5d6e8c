"""The part of the façade that ends jobs of this process, in good order or at once."""

from __future__ import annotations

from neve.app import App
from neve.service.maintenance import Maintenance


class Stopping:
    """What a signal calls; safe from any thread."""

    _app: App
    _services: Maintenance

    def stop(self, *, wakes: bool = True) -> None:
        """Ask the jobs of this process to stop at their next boundary.

        Without `wakes` it may be called in a signal's handler, and tasks of jobs are told later.
        """
        self._services.stop.ask(wakes=wakes)

    @property
    def has_jobs(self) -> bool:
        """Whether a job of this process would have to stop first."""
        return self._services.stop.has_jobs

    @property
    def is_stopping(self) -> bool:
        return self._services.stop.is_asked

    def leave(self) -> list[str]:
        """Give up what runs, because this process ends now; the ids of jobs that were under way.

        Tables are left as they are: whoever works on them next settles those jobs by reading.
        """
        left = self._services.stop.leave()
        self._app.abandon()
        return left
