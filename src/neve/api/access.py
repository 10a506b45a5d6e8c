"""What a route is given: who asks, Neve as they may use it, the settings, a key to repeat with.

Every route declares the right that it needs: `dependencies=[needs(Right.VIEW)]`. An application
with a route that does not cannot be made.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Request
from fastapi.routing import RouteContext, iter_route_contexts

from neve.access.rights import Caller, Right
from neve.api.settings import ApiSettings
from neve.guarding import Guarded, Notes
from neve.model.errors import AccessDenied


class Needs:
    """The right that a route declares; a dependency that lets nobody else in."""

    def __init__(self, right: Right) -> None:
        self.right = right

    # Asynchronous, because FastAPI would send it through a thread otherwise.
    async def __call__(self, request: Request) -> None:
        # Set before anything of the request was read; without it nobody comes in.
        caller: Caller = request.state.caller
        request.state.right = self.right
        if self.right is not Right.OPEN and not caller.has_somewhere(self.right):
            raise AccessDenied(
                f"You lack the right {self.right}.",
                next_step="Ask whoever gives out keys and roles for it.",
            )


def needs(right: Right) -> Any:
    """Declare what a route needs."""
    return Depends(Needs(right))


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
