"""Keys and rows of the audit log as commands print them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from neve.access.chain import AuditEntry, AuditRow
from neve.access.keys import ApiKey
from neve.access.rights import Grant


@dataclass(frozen=True)
class KeyView:
    """A key without its digest."""

    prefix: str
    name: str
    owner: str
    tenant: str
    all_tenants: bool
    grants: tuple[Grant, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    is_good: bool


@dataclass(frozen=True)
class NewKey:
    """What is shown once."""

    key: str


@dataclass(frozen=True)
class RevokedKey:
    prefix: str
    revoked: bool


@dataclass(frozen=True)
class AuditPlace:
    number: int
    digest: str


@dataclass(frozen=True)
class VerifiedLog:
    is_whole: bool
    rows: int
    head: str
    problem: str | None


def key_view(key: ApiKey, now: datetime) -> KeyView:
    return KeyView(
        key.prefix,
        key.name,
        key.owner,
        key.tenant,
        key.all_tenants,
        key.grants,
        key.created_at,
        key.expires_at,
        key.revoked_at,
        key.is_good(now),
    )


def row_parts(row: AuditRow) -> tuple[AuditPlace, AuditEntry]:
    return AuditPlace(row.number, row.digest), row.entry
