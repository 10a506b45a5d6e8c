"""Keys, the audit log and approvals in the state database."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime

from neve.access.approvals import (
    KEPT_SECONDS,
    MAX_OF_A_TENANT,
    VALID_SECONDS,
    Approval,
    ApprovalState,
    too_many,
)
from neve.access.chain import AuditHead, AuditRow
from neve.access.keys import ApiKey
from neve.documents import from_text, to_text
from neve.store.database import Database
from neve.store.values import moment

_KEY = "SELECT document, revoked_at FROM api_keys WHERE prefix = ?"
_KEYS = "SELECT document, revoked_at FROM api_keys ORDER BY position"
_ADD_KEY = "INSERT OR IGNORE INTO api_keys (prefix, document) VALUES (?, ?)"
_REVOKE = "UPDATE api_keys SET revoked_at = ? WHERE prefix = ? AND revoked_at IS NULL"

_HEAD = "SELECT number, digest FROM audit_head"
_SET_HEAD = (
    "INSERT INTO audit_head (only, number, digest) VALUES (1, ?, ?) "
    "ON CONFLICT (only) DO UPDATE SET number = excluded.number, digest = excluded.digest"
)
_APPEND = "INSERT INTO audit (number, document, previous, digest) VALUES (?, ?, ?, ?)"
_ROWS = "SELECT * FROM audit WHERE number > ? ORDER BY number LIMIT ?"
_NEWEST = "SELECT * FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?"
_ANY_NUMBER = 2**63 - 1

_APPROVAL = "SELECT * FROM approvals WHERE approval_id = ?"
_APPROVALS = "SELECT * FROM approvals ORDER BY position DESC LIMIT ?"
_OPEN_APPROVAL = (
    "SELECT * FROM approvals WHERE request = ? AND state IN ('pending', 'approved') "
    "AND created_at > ? ORDER BY position DESC LIMIT 1"
)
_ASKED_LATELY = (
    "SELECT count(*) AS asked FROM approvals WHERE created_at > ? AND state <> 'used' "
    "AND json_extract(document, '$.tenant') = ?"
)
_FORGET = "DELETE FROM approvals WHERE created_at < ?"
_ASK = (
    "INSERT INTO approvals (approval_id, request, document, created_at, state) "
    "VALUES (?, ?, ?, ?, ?)"
)
_MOVE = (
    "UPDATE approvals SET state = ?, decided_by = coalesce(?, decided_by) "
    "WHERE approval_id = ? AND state = ?"
)


class SqliteApiKeys(Database):
    """Who may ask, by keys."""

    def add(self, key: ApiKey) -> bool:
        with self._write() as db:
            return db.execute(_ADD_KEY, (key.prefix, to_text(key))).rowcount == 1

    def key(self, prefix: str) -> ApiKey | None:
        found = self._rows("api_keys", _KEY, (prefix,))
        return _key(found[0]) if found else None

    def all(self) -> list[ApiKey]:
        return [_key(row) for row in self._rows("api_keys", _KEYS, ())]

    def revoke(self, prefix: str, at: datetime) -> bool:
        with self._write() as db:
            return db.execute(_REVOKE, (at.timestamp(), prefix)).rowcount == 1


class SqliteAudit(Database):
    """The chain; the head stands beside it, so that a cut is found."""

    def head(self) -> AuditHead:
        found = self._rows("audit_head", _HEAD, ())
        return AuditHead(found[0]["number"], found[0]["digest"]) if found else AuditHead()

    def append(self, row: AuditRow) -> bool:
        with self._write() as db:
            found = db.execute(_HEAD).fetchone()
            head = AuditHead(found["number"], found["digest"]) if found else AuditHead()
            if (row.number, row.previous) != (head.number + 1, head.digest):
                return False
            db.execute(_APPEND, (row.number, row.text, row.previous, row.digest))
            db.execute(_SET_HEAD, (row.number, row.digest))
        return True

    def rows(self, after: int = 0, limit: int = 100) -> list[AuditRow]:
        return [_row(row) for row in self._rows("audit", _ROWS, (after, limit))]

    def newest(self, before: int | None = None, limit: int = 100) -> list[AuditRow]:
        below = _ANY_NUMBER if before is None else before
        return [_row(row) for row in self._rows("audit", _NEWEST, (below, limit))]


class SqliteApprovals(Database):
    """What waits for a second person."""

    def ask(self, approval: Approval) -> Approval:
        created_at = approval.created_at.timestamp()
        with self._write() as db:
            known = db.execute(_OPEN_APPROVAL, (approval.digest, created_at - VALID_SECONDS))
            if row := known.fetchone():
                return _approval(row)
            lately = (created_at - VALID_SECONDS, approval.tenant)
            if db.execute(_ASKED_LATELY, lately).fetchone()["asked"] >= MAX_OF_A_TENANT:
                raise too_many()
            db.execute(_FORGET, (created_at - KEPT_SECONDS,))
            sent = (approval.approval_id, approval.digest, to_text(approval), created_at)
            db.execute(_ASK, (*sent, approval.state))
        return approval

    def approval(self, approval_id: str) -> Approval | None:
        found = self._rows("approvals", _APPROVAL, (approval_id,))
        return _approval(found[0]) if found else None

    def newest(self, limit: int = 100) -> list[Approval]:
        return [_approval(row) for row in self._rows("approvals", _APPROVALS, (limit,))]

    def move(
        self, approval_id: str, old: ApprovalState, new: ApprovalState, by: str | None = None
    ) -> bool:
        with self._write() as db:
            return db.execute(_MOVE, (new, by, approval_id, old)).rowcount == 1


def _key(row: sqlite3.Row) -> ApiKey:
    key, revoked_at = from_text(ApiKey, row["document"]), row["revoked_at"]
    return key if revoked_at is None else replace(key, revoked_at=moment(revoked_at))


def _row(row: sqlite3.Row) -> AuditRow:
    return AuditRow(row["number"], row["document"], row["previous"], row["digest"])


def _approval(row: sqlite3.Row) -> Approval:
    kept = from_text(Approval, row["document"])
    return replace(kept, state=ApprovalState(row["state"]), decided_by=row["decided_by"])
