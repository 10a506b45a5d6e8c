"""What a request may take: bytes, depth and time. Around the application."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neve.api.problems import NOT_JSON, Refusal, on_neve_error, on_refusal
from neve.api.settings import ApiSettings
from neve.api.shares import Shares
from neve.model.errors import TooMuch
from neve.model.json_depth import is_deeper
from neve.model.twins import TWINS, twins_in_body


class RequestLimits:
    """Refuses bodies that are too large, and those that do not arrive."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings
        self._shares = Shares(settings.max_body_bytes_of_tenant)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (twins := said_twice(scope)) is not None:
            answer = await on_refusal(Request(scope), Refusal(400, TWINS, twins, "Say it once."))
            await answer(scope, receive, send)
            return
        size = self._announced(dict(scope["headers"]))
        if size > self._settings.max_body_bytes:
            answer = await on_refusal(Request(scope), self._too_large())
            await answer(scope, receive, send)
            return
        caller = scope.get("state", {}).get("caller")
        if not size or caller is None or not caller.is_known:
            await self._app(scope, self._limited(receive), send)
            return
        await self._shared(caller.share, size, scope, receive, send)

    def _announced(self, headers: Mapping[bytes, bytes]) -> int:
        """How large the body will be at most; one that does not say may be as large as any."""
        if b"transfer-encoding" in headers:
            return self._settings.max_body_bytes
        declared = headers.get(b"content-length", b"0")
        return int(declared) if declared.isdigit() else 0

    async def _shared(
        self, name: str, size: int, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Read the body where others of the tenant leave room for it: a parsed one takes memory."""
        is_read = False
        try:
            async with self._shares.share(name, self._settings.body_wait_seconds, size):
                is_read = True
                await self._app(scope, self._limited(receive), send)
        except TimeoutError:
            if is_read:
                raise
            answer = await on_neve_error(Request(scope), _too_much_at_once())
            await answer(scope, receive, send)

    def _limited(self, receive: Receive) -> Receive:
        deadline = asyncio.get_running_loop().time() + self._settings.patience_seconds
        body, is_whole = bytearray(), False

        async def limited() -> Message:
            nonlocal is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise self._too_slow() from None
            body.extend(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            if len(body) > self._settings.max_body_bytes:
                raise self._too_large()
            if is_whole and NUL in body:
                raise self._not_utf8()
            if is_whole and is_deeper(body, self._settings.max_json_depth):
                raise self._too_deep()
            if is_whole and (twins := twins_in_body(body)) is not None:
                raise Refusal(400, TWINS, twins, "Say each key once.")
            return message

        return limited

    def _too_large(self) -> Refusal:
        limit = self._settings.max_body_bytes
        detail = f"The body is larger than {limit} bytes."
        close = {"Connection": "close"}
        return Refusal(413, "body-too-large", detail, "Send less at once.", close)

    def _not_utf8(self) -> Refusal:
        return Refusal(400, NOT_JSON, "The body is not JSON in UTF-8.", "Send it as UTF-8.")

    def _too_deep(self) -> Refusal:
        limit = self._settings.max_json_depth
        detail = f"The body holds lists and objects in each other, more than {limit} deep."
        return Refusal(400, "body-too-deep", detail, "Send a flatter one.")

    def _too_slow(self) -> Refusal:
        detail = f"The body did not arrive within {self._settings.patience_seconds:g} seconds."
        return Refusal(408, "body-too-slow", detail, "Send it again.", {"Connection": "close"})


#: Headers of which a route reads one.
READ_ONCE = (b"idempotency-key", b"if-match", b"if-none-match", b"last-event-id")


def said_twice(scope: Scope) -> str | None:
    """Of what an address or a header says twice, one value would be ignored."""
    address: bytes = scope.get("query_string", b"")
    # As routes read it: addresses may hold what is no ASCII, as it is or escaped.
    names = [n for n, _ in QueryParams(address).multi_items()] if b"&" in address else []
    sent = [name.decode("latin-1") for name, _ in scope["headers"] if name in READ_ONCE]
    for what, found in (("address says", names), ("headers say", sent)):
        if len(set(found)) < len(found):
            name = next(name for name in found if found.count(name) > 1)
            return f"The {what} {name[:60]!r} twice."
    return None


def _too_much_at_once() -> TooMuch:
    return TooMuch(
        "Your tenant sends more at once than is taken from one.",
        next_step="Send less at the same time.",
        retry_after_seconds=1,
    )


#: In every JSON of UTF-16 and UTF-32, which parsers take as well, and in none of UTF-8.
NUL = 0


class AnswerInTime:
    """Answers for a route that takes too long. What it has begun goes on: threads do not stop."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app, self._seconds = app, settings.answer_seconds
        self._working: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        is_late = False

        async def send_in_time(message: Message) -> None:
            if not is_late:
                if not begun.done():
                    begun.set_result(None)
                await send(message)

        async def answer_it() -> None:
            await self._app(scope, receive, send_in_time)

        work = asyncio.create_task(answer_it())
        self._working.add(work)
        work.add_done_callback(self._working.discard)
        try:
            await asyncio.wait(
                (work, begun), timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            work.cancel()
            raise
        if begun.done() or work.done():
            await work
            return
        is_late = True
        work.add_done_callback(_forget)
        answer = await on_refusal(Request(scope), self._too_long())
        await answer(scope, receive, send)

    def _too_long(self) -> Refusal:
        detail = (
            f"The answer took longer than {self._seconds:g} seconds; what was asked for may still "
            "be done."
        )
        step = "Look at /api/v1/jobs, or send it again with the same Idempotency-Key."
        return Refusal(504, "answer-too-slow", detail, step, {"Connection": "close"})


def _forget(work: asyncio.Task[None]) -> None:
    """Nobody is left to hear how it ended."""
    if not work.cancelled():
        work.exception()


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
