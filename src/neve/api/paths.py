"""Names with slashes in paths: what was sent as %2F is part of a name, and not between two."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send


class SlashesInNames:
    """Keeps %2F (and %, which tells it apart) as they were sent, until a route reads its names.

    The path that servers give to applications is decoded as a whole, so that a slash of a name
    would be one of the path.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if scope["type"] == "http" and b"%2" in raw:
            parts = raw.partition(b"?")[0].decode("ascii", "replace").split("/")
            scope = {**scope, "path": "/".join(_escaped(unquote(part)) for part in parts)}
        await self._app(scope, receive, send)


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")


def unescaped(part: str) -> str:
    """A name as it was meant."""
    return part.replace("%2F", "/").replace("%25", "%")
