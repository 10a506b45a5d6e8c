"""A row of the audit log for every request that changes something or is refused."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neve.api.problems import on_neve_error
from neve.api.threads import OwnThreads
from neve.guarding import Notes, write_down
from neve.model.errors import StoreError
from neve.neve import Access

LOOKING = frozenset(("GET", "HEAD", "OPTIONS"))
MAX_PATH_CHARACTERS = 200
#: Threads for writing rows.
THREADS = 8


class Audited:
    """Around everything else; the row is written before the answer is sent."""

    def __init__(self, app: ASGIApp, access: Access | None) -> None:
        self._app, self._access = app, access
        self._threads = OwnThreads(THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        access = self._access
        if scope["type"] != "http" or access is None or not access.settings.is_audited:
            await self._app(scope, receive, send)
            return
        notes = scope.setdefault("state", {})["notes"] = Notes()
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def send_after_row(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = int(message["status"])
                if notes.is_kept and (status >= 400 or scope["method"] not in LOOKING):
                    try:
                        await self._threads.run(write_down, access, notes, _action(scope), status)
                    except StoreError as error:
                        answer.set_result(False)
                        refusal = await on_neve_error(Request(scope), error)
                        await refusal(scope, receive, send)
                        return
                answer.set_result(True)
            if answer.done() and answer.result():
                await send(message)

        await self._app(scope, receive, send_after_row)


def _action(scope: Scope) -> str:
    """The route, not the address: what stands in an address may be anything."""
    route = scope.get("route")
    path = getattr(route, "path", None)
    if path is None:
        cleaned = scope["path"].encode("ascii", "replace").decode()
        path = "".join(c for c in cleaned if c.isprintable())[:MAX_PATH_CHARACTERS]
    return f"{scope['method']} {path}"
