"""Policies on a Redis server."""

from __future__ import annotations

from collections.abc import Sequence

from neve.model.stored_policy import StoredPolicy
from neve.store.redis.rows import moment_of
from neve.store.redis.server import RedisServer


class RedisPolicies:
    """Policies by name, changed only by who knows what stands there."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def all(self) -> list[StoredPolicy]:
        _, rows = self._server.read("policies")
        return sorted(map(_policy, rows), key=lambda policy: policy.name)

    def put(
        self, name: str, document: str, *, expected: int | None, updated_by: str
    ) -> StoredPolicy | None:
        known = "" if expected is None else str(expected)
        answer = self._server.change("put_policy", name, document, known, updated_by)
        return _policy(answer[1]) if answer[0] == "ok" else None

    def remove(self, name: str, *, expected: int) -> bool:
        return bool(self._server.change("remove_policy", name, str(expected))[0] == "ok")


def _policy(row: Sequence[str]) -> StoredPolicy:
    name, revision, updated_at, updated_by, document = row
    return StoredPolicy(name, document, int(revision), moment_of(updated_at), updated_by)
