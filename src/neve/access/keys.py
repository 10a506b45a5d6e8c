"""API keys: made of chance, shown once, kept as digests."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from neve.access.rights import Caller, Grant

MARK = "neve"
PREFIX_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
PREFIX_CHARACTERS = 10
SECRET_BYTES = 32
MAX_KEY_CHARACTERS = 128


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: what it may do, and a digest that only its secret has."""

    #: The part that may be shown, and by which it is found.
    prefix: str
    digest: str
    name: str
    grants: tuple[Grant, ...]
    created_at: datetime
    tenant: str = ""
    all_tenants: bool = False
    #: Who holds it.
    owner: str = ""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_good(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    @property
    def caller(self) -> Caller:
        return Caller(
            f"key:{self.prefix}:{self.name}",
            self.grants,
            self.tenant,
            self.all_tenants,
            self.owner or self.name,
        )


def new_secret() -> tuple[str, str]:
    """A prefix, and the whole text that its holder sends; nobody can guess 256 bits."""
    prefix = "".join(secrets.choice(PREFIX_ALPHABET) for _ in range(PREFIX_CHARACTERS))
    return prefix, f"{MARK}_{prefix}_{secrets.token_urlsafe(SECRET_BYTES)}"


def digest_of(text: str) -> str:
    """One round is enough, since what is hashed was not thought up by a person."""
    return hashlib.sha256(text.encode()).hexdigest()


def prefix_of(text: str) -> str | None:
    """The prefix of what looks like a key; None for any other text."""
    mark, _, rest = text.partition("_")
    prefix, _, secret = rest.partition("_")
    fits = len(text) <= MAX_KEY_CHARACTERS and text.isascii() and len(prefix) == PREFIX_CHARACTERS
    return prefix if mark == MARK and secret and fits else None


#: Stands for a key that is not there: no text has this digest.
_NOBODY = ApiKey("", "0" * 64, "", (), datetime.min.replace(tzinfo=UTC))


def caller_of(text: str, key: ApiKey | None, now: datetime) -> Caller | None:
    """Whose key the text is; the same work whether the key is unknown, another, over or good."""
    kept = _NOBODY if key is None else key
    is_secret, is_good = hmac.compare_digest(kept.digest, digest_of(text)), kept.is_good(now)
    return kept.caller if is_secret and is_good else None
