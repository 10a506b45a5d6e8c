"""How an application is served: uvicorn, with time-outs for clients that do not get on."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.datastructures import State
from uvicorn.protocols.http.h11_impl import H11Protocol

from neve.api.settings import ApiSettings

KEEP_ALIVE_SECONDS = 10
GRACE_SECONDS = 3
MAX_HEADER_BYTES = 32 * 1024


def server_config(app: FastAPI, host: str, port: int, **more: Any) -> uvicorn.Config:
    """The configuration under which an application of `create_app` is served."""
    settings: ApiSettings = app.state.settings
    usual = {
        "http": impatient(settings.patience_seconds, app.state),
        "ws": "none",
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        # Whoever follows a job must not keep the server from ending.
        "timeout_graceful_shutdown": GRACE_SECONDS,
        "h11_max_incomplete_event_size": MAX_HEADER_BYTES,
        "server_header": False,
        "access_log": False,
        "log_level": "warning",
    }
    return uvicorn.Config(app, host=host, port=port, **{**usual, **more})


def impatient(seconds: float, state: State) -> type[asyncio.Protocol]:
    """A protocol that hangs up where a request's headers take longer than this."""
    return type("Impatient", (ImpatientProtocol,), {"patience_seconds": seconds, "state": state})


class ImpatientProtocol(H11Protocol):
    """Waits for the headers of a request, and no longer than it has patience."""

    patience_seconds = 10.0
    state: State
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        # Routes that wait for something answer now: soon they are not asked any more.
        self.state.is_ending = True
        super().shutdown()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.patience_seconds, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self) -> None:
        if not self._is_answering:
            self.transport.close()
