"""Who sent a request: settled before a byte of its body is read."""

from __future__ import annotations

from collections.abc import Collection

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neve.access.credentials import LOCAL_NAME, bearer_of, names_a_key
from neve.access.pages import is_strange_page
from neve.access.rights import LOCAL, NOBODY, Caller
from neve.api.problems import Refusal, on_neve_error, on_refusal
from neve.api.rates import Rates
from neve.api.threads import OwnThreads
from neve.model.errors import NeveError, NotAuthenticated, StoreError
from neve.neve import Neve

#: Threads for finding out who asks.
THREADS = 16
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


class Authenticated:
    """Lets nobody in whom the configuration does not know; off, nobody who came by a browser."""

    def __init__(self, app: ASGIApp, neve: Neve, rates: Rates, open_paths: Collection[str]) -> None:
        self._app, self._neve, self._rates, self._open_paths = app, neve, rates, open_paths
        self._threads = OwnThreads(THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            self._refuse_two_lengths(request)
            self._refuse_keys_in_address(request)
            caller = await self._caller(request)
        except NeveError as error:
            answer = await on_neve_error(request, error)
        except HTTPException as error:
            answer = await on_refusal(request, error)
        else:
            request.state.caller = caller
            known = send if caller is not NOBODY else self._counting_refusals(request, send)
            await self._app(scope, receive, known)
            return
        await answer(scope, receive, send)

    def _refuse_two_lengths(self, request: Request) -> None:
        """What a proxy takes for the end of such a request may be the middle of another one."""
        if "transfer-encoding" in request.headers and "content-length" in request.headers:
            self._rates.count_failure(request)
            raise Refusal(
                400,
                "two-lengths",
                "The request says Content-Length and Transfer-Encoding, and only one can be true.",
                "Send one of them.",
                {"Connection": "close"},
            )

    def _refuse_keys_in_address(self, request: Request) -> None:
        """A key in an address is in logs and histories by now."""
        if names_a_key(request.query_params.multi_items()):
            self._rates.count_failure(request)
            raise Refusal(
                400,
                "key-in-address",
                "A key must not stand in an address.",
                "Send it as Authorization: Bearer, and revoke it: addresses are logged.",
            )

    def _counting_refusals(self, request: Request, send: Send) -> Send:
        """What is open to all is no way to fill the audit log with refusals."""

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                if message["status"] >= 500:
                    # Not ready is an answer to whoever asked for it, not a refusal.
                    _leave_no_row(request)
                elif message["status"] >= 400:
                    self._rates.forget_flood(request)
            await send(message)

        return counted

    async def _caller(self, request: Request) -> Caller:
        if not self._neve.access.settings.enabled:
            refuse_strange_pages(request)
            return _noted(request, LOCAL)
        sent = request.headers.getlist("authorization")
        is_open = request.url.path in self._open_paths
        if not sent and is_open:
            return NOBODY
        try:
            caller = await self._threads.run(self._neve.access.authenticate, bearer_of(sent))
        except NotAuthenticated:
            self._rates.count_failure(request)
            raise
        except StoreError:
            if is_open:
                # What is answered to nobody is answered to whoever cannot be known now.
                return NOBODY
            # Nothing was done, and a row would wait for the same state as long once more.
            _leave_no_row(request)
            raise
        _noted(request, caller)
        self._rates.count(request, caller)
        return caller


def _noted(request: Request, caller: Caller) -> Caller:
    if notes := getattr(request.state, "notes", None):
        notes.who, notes.tenant = caller.name or LOCAL_NAME, caller.tenant
    return caller


def _leave_no_row(request: Request) -> None:
    if notes := getattr(request.state, "notes", None):
        notes.is_kept = False


def refuse_strange_pages(request: Request) -> None:
    """Nobody is asked here, so that pages of other sites must not reach it."""
    if is_strange_page(request.headers, changes=request.method not in SAFE_METHODS):
        raise Refusal(
            403,
            "strange-page",
            "This server is for programs on its own machine, not for pages of other sites.",
            "Ask it as localhost, or configure access.",
        )
