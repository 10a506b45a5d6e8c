"""What a request may take: bytes and time. Around the application, before anything reads it."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neve.api.problems import Refusal, on_refusal
from neve.api.settings import ApiSettings


class RequestLimits:
    """Refuses bodies that are too large, and those that do not arrive."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self._settings.max_body_bytes:
            answer = await on_refusal(Request(scope), self._too_large())
            await answer(scope, receive, send)
            return
        await self._app(scope, self._limited(receive), send)

    def _limited(self, receive: Receive) -> Receive:
        deadline = asyncio.get_running_loop().time() + self._settings.patience_seconds
        read, is_whole = 0, False

        async def limited() -> Message:
            nonlocal read, is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise self._too_slow() from None
            read += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            if read > self._settings.max_body_bytes:
                raise self._too_large()
            return message

        return limited

    def _too_large(self) -> Refusal:
        limit = self._settings.max_body_bytes
        detail = f"The body is larger than {limit} bytes."
        close = {"Connection": "close"}
        return Refusal(413, "body-too-large", detail, "Send less at once.", close)

    def _too_slow(self) -> Refusal:
        detail = f"The body did not arrive within {self._settings.patience_seconds:g} seconds."
        return Refusal(408, "body-too-slow", detail, "Send it again.", {"Connection": "close"})


HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


class SafeHeaders:
    """Headers for browsers, where a route has not said otherwise."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {name.lower() for name, _ in message["headers"]}
                message["headers"] += [pair for pair in HEADERS if pair[0] not in said]
            await send(message)

        await self._app(scope, receive, send_with_headers)
