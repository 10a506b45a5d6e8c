"""Keys, the audit log and approvals on a Redis server."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from neve.access.approvals import (
    KEPT_SECONDS,
    MAX_OF_A_TENANT,
    VALID_SECONDS,
    Approval,
    ApprovalState,
    too_many,
)
from neve.access.chain import NO_DIGEST, AuditHead, AuditRow
from neve.access.keys import ApiKey
from neve.documents import from_text, to_text
from neve.store.redis.rows import microseconds, microseconds_of, moment_of
from neve.store.redis.server import RedisServer


class RedisApiKeys:
    """Who may ask, by keys."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def add(self, key: ApiKey) -> bool:
        return bool(self._server.change("add_api_key", key.prefix, to_text(key))[0] == "ok")

    def key(self, prefix: str) -> ApiKey | None:
        _, document, revoked_at = self._server.read("api_key", prefix)
        return _key(document, revoked_at) if document else None

    def all(self) -> list[ApiKey]:
        _, found = self._server.read("api_keys")
        keys = [_key(document, revoked_at) for document, revoked_at in found]
        return sorted(keys, key=lambda key: (key.created_at, key.prefix))

    def revoke(self, prefix: str, at: datetime) -> bool:
        return bool(self._server.change("revoke_api_key", prefix, microseconds_of(at))[0] == "ok")


class RedisAudit:
    """The chain; the head stands beside it, so that a cut is found."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def head(self) -> AuditHead:
        _, number, digest = self._server.read("audit_head")
        return AuditHead(int(number), digest) if digest else AuditHead()

    def append(self, row: AuditRow) -> bool:
        kept = json.dumps([row.text, row.previous, row.digest])
        sent = (str(row.number), kept, row.previous, row.digest, NO_DIGEST)
        return bool(self._server.change("append_audit", *sent)[0] == "ok")

    def rows(self, after: int = 0, limit: int = 100) -> list[AuditRow]:
        return self._rows(after, limit)[0]

    def newest(self, before: int | None = None, limit: int = 100) -> list[AuditRow]:
        # The rows themselves tell how many there are: the head may have been changed.
        last = self._rows(0, 1)[1]
        last = last if before is None else min(before - 1, last)
        first = max(last - limit, 0)
        return self.rows(first, last - first)[::-1] if last > first else []

    def _rows(self, after: int, limit: int) -> tuple[list[AuditRow], int]:
        """Rows, and how many there are in all."""
        _, found, length = self._server.read("audit_rows", str(after), str(after + limit - 1))
        rows = [_row(after + place, text) for place, text in enumerate(found, start=1)]
        return rows, int(length)


class RedisApprovals:
    """What waits for a second person."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def ask(self, approval: Approval) -> Approval:
        sent = (approval.approval_id, approval.digest, to_text(approval), approval.state)
        times = (microseconds_of(approval.created_at), microseconds(VALID_SECONDS))
        limits = (microseconds(KEPT_SECONDS), approval.tenant, str(MAX_OF_A_TENANT))
        answer = self._server.change("ask_approval", *sent, *times, *limits)
        if answer[0] == "too many":
            raise too_many()
        return approval if answer[0] == "ok" else _approval(answer[1:])

    def approval(self, approval_id: str) -> Approval | None:
        _, found = self._server.read("approvals", approval_id)
        return _approval(found[0]) if found else None

    def newest(self, limit: int = 100) -> list[Approval]:
        _, found = self._server.read("approvals", "", str(limit))
        return [_approval(row) for row in found]

    def move(
        self, approval_id: str, old: ApprovalState, new: ApprovalState, by: str | None = None
    ) -> bool:
        told = () if by is None else (by,)
        return bool(self._server.change("move_approval", approval_id, old, new, *told)[0] == "ok")


def _key(document: str, revoked_at: str) -> ApiKey:
    key = from_text(ApiKey, document)
    return replace(key, revoked_at=moment_of(revoked_at)) if revoked_at else key


def _row(number: int, kept: str) -> AuditRow:
    try:
        text, previous, digest = json.loads(kept)
    except (ValueError, TypeError):
        # Somebody wrote it who is not Neve: the chain says so.
        return AuditRow(number, kept, "", "")
    return AuditRow(number, str(text), str(previous), str(digest))


def _approval(row: list[Any]) -> Approval:
    document, state, decided_by = row
    return replace(from_text(Approval, document), state=ApprovalState(state), decided_by=decided_by)
