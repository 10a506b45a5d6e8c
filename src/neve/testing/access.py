"""Keys, the audit log and approvals in memory."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timedelta

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

OPEN = (ApprovalState.PENDING, ApprovalState.APPROVED)


class MemoryApiKeys:
    """Keys in a dictionary."""

    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}

    def add(self, key: ApiKey) -> bool:
        return self._keys.setdefault(key.prefix, key) is key

    def key(self, prefix: str) -> ApiKey | None:
        return self._keys.get(prefix)

    def all(self) -> list[ApiKey]:
        return list(self._keys.values())

    def revoke(self, prefix: str, at: datetime) -> bool:
        key = self._keys.get(prefix)
        if key is None or key.revoked_at is not None:
            return False
        self._keys[prefix] = replace(key, revoked_at=at)
        return True


class MemoryAudit:
    """The chain in a list that a test may spoil."""

    def __init__(self) -> None:
        self.kept: list[AuditRow] = []
        self.kept_head = AuditHead()
        self._lock = threading.Lock()

    def head(self) -> AuditHead:
        return self.kept_head

    def append(self, row: AuditRow) -> bool:
        with self._lock:
            if (row.number, row.previous) != (self.kept_head.number + 1, self.kept_head.digest):
                return False
            self.kept.append(row)
            self.kept_head = AuditHead(row.number, row.digest)
            return True

    def rows(self, after: int = 0, limit: int = 100) -> list[AuditRow]:
        return [row for row in self.kept if row.number > after][:limit]

    def newest(self, before: int | None = None, limit: int = 100) -> list[AuditRow]:
        return [row for row in self.kept[::-1] if before is None or row.number < before][:limit]


class MemoryApprovals:
    """Approvals in a dictionary."""

    def __init__(self) -> None:
        self._approvals: dict[str, Approval] = {}
        self._lock = threading.Lock()

    def ask(self, approval: Approval) -> Approval:
        oldest = approval.created_at - timedelta(seconds=VALID_SECONDS)
        with self._lock:
            for known in reversed(self._approvals.values()):
                is_same = known.digest == approval.digest and known.created_at > oldest
                if is_same and known.state in OPEN:
                    return known
            kept = approval.created_at - timedelta(seconds=KEPT_SECONDS)
            self._approvals = {k: a for k, a in self._approvals.items() if a.created_at >= kept}
            lately = [a for a in self._approvals.values() if a.created_at > oldest]
            counted = [a for a in lately if a.state is not ApprovalState.USED]
            if sum(a.tenant == approval.tenant for a in counted) >= MAX_OF_A_TENANT:
                raise too_many()
            self._approvals[approval.approval_id] = approval
        return approval

    def approval(self, approval_id: str) -> Approval | None:
        return self._approvals.get(approval_id)

    def newest(self, limit: int = 100) -> list[Approval]:
        return list(self._approvals.values())[::-1][:limit]

    def move(
        self, approval_id: str, old: ApprovalState, new: ApprovalState, by: str | None = None
    ) -> bool:
        with self._lock:
            known = self._approvals.get(approval_id)
            if known is None or known.state is not old:
                return False
            decided_by = known.decided_by if by is None else by
            self._approvals[approval_id] = replace(known, state=new, decided_by=decided_by)
            return True
