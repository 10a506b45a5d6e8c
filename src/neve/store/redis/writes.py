"""Writes and their keys on a Redis server."""

from __future__ import annotations

from collections.abc import Sequence

from neve.model.database import MAX_WRITE_KEYS, WriteKey
from neve.store.redis.server import RedisServer, batches


class RedisWrites:
    """How many writes tables have had, and the newest keys of each."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def known(self, table_uuid: str, keys: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for some in batches(keys):
            contents = self._server.read("known_writes", table_uuid, *some)[1:]
            found |= {key: str(content) for key, content in zip(some, contents, strict=True)}
        return {key: content for key, content in found.items() if content}

    def record(self, table_uuid: str, keys: Sequence[WriteKey], others: int = 0) -> int:
        contents = {key.key: key.content for key in keys}
        total = 0
        for some in list(batches(list(contents))) or [()]:
            pairs = [text for key in some for text in (key, contents[key])]
            limit, count = str(MAX_WRITE_KEYS), str(others)
            answer = self._server.change("record_writes", table_uuid, limit, count, *pairs)
            total, others = int(answer[1]), 0
        return total
