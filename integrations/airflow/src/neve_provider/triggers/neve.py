"""Waits for jobs in a triggerer, where waiting takes no worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from neve_provider import routes
from neve_provider.errors import NeveError
from neve_provider.following import PATIENCE_SECONDS, follow
from neve_provider.hooks.neve import NeveHook
from neve_provider.server import NeveServer


class NeveJobTrigger(BaseTrigger):
    """Fires when all of these jobs are over, however each of them ended.

    All that it knows is in its arguments: another triggerer goes on with it.
    """

    def __init__(
        self,
        neve_conn_id: str,
        job_ids: Sequence[str],
        poll_seconds: float = 10.0,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        super().__init__()
        self.neve_conn_id = neve_conn_id
        self.job_ids = list(job_ids)
        self.poll_seconds = poll_seconds
        self.patience_seconds = patience_seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__name__}",
            {
                "neve_conn_id": self.neve_conn_id,
                "job_ids": self.job_ids,
                "poll_seconds": self.poll_seconds,
                "patience_seconds": self.patience_seconds,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        problem = None
        try:
            await follow(
                await self._server(),
                self.job_ids,
                poll_seconds=self.poll_seconds,
                patience_seconds=self.patience_seconds,
            )
        except NeveError as error:
            problem = str(error)
        yield TriggerEvent({"job_ids": self.job_ids, "problem": problem})

    async def on_kill(self) -> None:
        """Somebody ended the task: its jobs stop at their next boundary."""
        server = await self._server()
        for job_id in self.job_ids:
            try:
                await server.asend(routes.cancel(job_id))
            except NeveError as error:
                self.log.warning("Job %s was not cancelled: %s", job_id, error)

    async def _server(self) -> NeveServer:
        return await NeveHook(self.neve_conn_id).aget_conn()
