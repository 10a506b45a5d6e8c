"""Marks on a Redis server."""

from __future__ import annotations

from neve.store.redis.server import RedisServer


class RedisMarks:
    """Short texts by name, changed only by who knows what stands there."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def get(self, name: str) -> str:
        return str(self._server.read("mark", name)[1])

    def set(self, name: str, value: str, *, expected: str) -> bool:
        return bool(self._server.change("set_mark", name, value, expected)[0] == "ok")
