"""Who sent a request: settled before a byte of its body is read."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from neve.access.keys import prefix_of
from neve.access.rights import LOCAL, NOBODY, Caller
from neve.api.problems import Refusal, on_neve_error, on_refusal
from neve.api.rates import Rates
from neve.model.errors import NeveError, NotAuthenticated
from neve.neve import Neve

#: What somebody might send a key as. An address stands in logs and histories.
KEY_PARAMETERS = frozenset(
    ("access_token", "api-key", "api_key", "apikey", "authorization", "bearer", "token")
)
#: How the log names whoever a server did not ask.
LOCAL_NAME = "local"
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


class Authenticated:
    """Lets nobody in whom the configuration does not know; off, nobody who came by a browser."""

    def __init__(self, app: ASGIApp, neve: Neve, rates: Rates, open_paths: Collection[str]) -> None:
        self._app, self._neve, self._rates, self._open_paths = app, neve, rates, open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            refuse_keys_in_address(request)
            caller = await self._caller(request)
        except NeveError as error:
            answer = await on_neve_error(request, error)
        except HTTPException as error:
            answer = await on_refusal(request, error)
        else:
            request.state.caller = caller
            await self._app(scope, receive, send)
            return
        await answer(scope, receive, send)

    async def _caller(self, request: Request) -> Caller:
        if not self._neve.access.settings.enabled:
            refuse_strange_pages(request)
            return _noted(request, LOCAL)
        sent = request.headers.getlist("authorization")
        if not sent and request.url.path in self._open_paths:
            return NOBODY
        try:
            caller = await run_in_threadpool(self._neve.access.authenticate, _bearer(sent))
        except NotAuthenticated:
            self._rates.count_failure(request)
            raise
        _noted(request, caller)
        self._rates.count(request, caller)
        return caller


def _noted(request: Request, caller: Caller) -> Caller:
    if notes := getattr(request.state, "notes", None):
        notes.who, notes.tenant = caller.name or LOCAL_NAME, caller.tenant
    return caller


def _bearer(sent: list[str]) -> str:
    scheme, _, value = sent[0].strip().partition(" ") if len(sent) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not value.strip():
        raise NotAuthenticated(
            "This server asks who you are.",
            next_step="Send one header Authorization: Bearer with your key: neve keys create.",
        )
    return value.strip()


def refuse_keys_in_address(request: Request) -> None:
    """A key in an address is in logs and histories by now."""
    for name, value in request.query_params.multi_items():
        if name.lower() in KEY_PARAMETERS or prefix_of(value):
            raise Refusal(
                400,
                "key-in-address",
                "A key must not stand in an address.",
                "Send it as Authorization: Bearer, and revoke it: addresses are logged.",
            )


def refuse_strange_pages(request: Request) -> None:
    """A page of another site in a browser on this machine must not reach what asks nobody.

    Such a page has a name of its own: in Host, where it made that name mean this machine, or in
    Origin, where it sends a form.
    """
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    origin = request.headers.get("origin")
    is_other_site = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    is_form = request.method not in SAFE_METHODS and (
        is_other_site or (origin is not None and urlsplit(origin).netloc != _authority(request))
    )
    if is_form or not (_is_address(host) or "." not in host or host.endswith(".localhost")):
        raise Refusal(
            403,
            "strange-page",
            "This server is for programs on its own machine, not for pages of other sites.",
            "Ask it as localhost, or configure access.",
        )


def _authority(request: Request) -> str:
    return request.headers.get("host", "")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
