"""What a route is given: who asks, Neve as they may use it, the settings, a key to repeat with.

Every route declares the right that it needs: `dependencies=[needs(Right.VIEW)]`. An application
with a route that does not cannot be made. A catalog may let a route wait for minutes in its thread,
so that each takes a part of its tenant's share, unless it says that it asks no catalog.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Request
from fastapi.routing import RouteContext, iter_route_contexts

from neve.access.rights import Caller, Right
from neve.api.settings import ApiSettings
from neve.api.shares import Shares, ShareTaken
from neve.guarding import Guarded, Notes
from neve.model.errors import AccessDenied, TooMuch

#: After how long it is worth asking again.
RETRY_SECONDS = 5


class Needs:
    """The right that a route declares; a dependency that lets nobody else in."""

    def __init__(self, right: Right, *, asks_catalogs: bool) -> None:
        self.right, self.asks_catalogs = right, asks_catalogs

    # Asynchronous, because FastAPI would send it through a thread otherwise.
    async def __call__(self, request: Request) -> AsyncIterator[None]:
        # Set before anything of the request was read; without it nobody comes in.
        caller: Caller = request.state.caller
        request.state.right = self.right
        if self.right is not Right.OPEN and not caller.has_somewhere(self.right):
            raise AccessDenied(
                f"You lack the right {self.right}.",
                next_step="Ask whoever gives out keys and roles for it.",
            )
        if not self.asks_catalogs:
            yield
            return
        async with asking(request):
            yield


@asynccontextmanager
async def asking(request: Request) -> AsyncIterator[None]:
    """A part of the share that the caller's tenant has of the threads that ask catalogs."""
    state = request.app.state
    shares: Shares = state.asking
    settings: ApiSettings = state.settings
    caller: Caller = request.state.caller
    try:
        async with shares.share(caller.share, settings.asking_wait_seconds):
            yield
    except ShareTaken:
        raise TooMuch(
            f"{settings.max_asking_of_tenant} requests of your tenant wait for catalogs, and more "
            "are not sent there at once.",
            next_step="See whether a catalog hangs, and send less at the same time.",
            retry_after_seconds=RETRY_SECONDS,
        ) from None


def needs(right: Right, *, asks_catalogs: bool = True) -> Any:
    """Declare what a route needs, and whether it may wait for catalogs in a thread."""
    # Its part of the share is given back before the answer is sent: who reads slowly keeps none.
    return Depends(Needs(right, asks_catalogs=asks_catalogs), scope="function")


def right_of(route: RouteContext) -> Right | None:
    """The right that a route declares; None where it declares none, or several."""
    depends = getattr(route, "dependencies", None) or ()
    found = [d.dependency.right for d in depends if isinstance(d.dependency, Needs)]
    return found[0] if len(found) == 1 else None


def check_routes(app: FastAPI) -> None:
    """Raise for a route that does not say what right it needs."""
    for route in iter_route_contexts(app.routes):
        if route.path != app.openapi_url and right_of(route) is None:
            raise AssertionError(
                f"{route.path} does not declare one right: dependencies=[needs(…)]"
            )


def open_paths(app: FastAPI) -> frozenset[str]:
    """What is answered to whoever asks."""
    found = {r.path for r in iter_route_contexts(app.routes) if right_of(r) is Right.OPEN}
    return frozenset(str(path) for path in (*found, app.openapi_url))


def guarded(request: Request) -> Guarded:
    """Neve as whoever sent the request may use it."""
    state = request.state
    notes = getattr(state, "notes", None) or Notes()
    return Guarded(request.app.state.neve, state.caller, state.right, notes)


# Asynchronous, because FastAPI would send them through a thread otherwise.
async def _neve(request: Request) -> Guarded:
    return guarded(request)


async def _settings(request: Request) -> ApiSettings:
    settings: ApiSettings = request.app.state.settings
    return settings


TheNeve = Annotated[Guarded, Depends(_neve)]
TheSettings = Annotated[ApiSettings, Depends(_settings)]
#: What a key looks like, whatever it is for.
KEY_TEXT: dict[str, Any] = {
    "alias": "Idempotency-Key",
    "min_length": 1,
    "max_length": 255,
    "pattern": r"^[!-~]+$",
}
IdempotencyKey = Annotated[
    str | None,
    Header(**KEY_TEXT, description="A second request with the same key is the same job."),
]
