"""The keys of an issuer: read over the network, kept, and read again seldom."""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import requests
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, RSAKey

from neve.access_settings import is_safe_address
from neve.model.errors import EnvironmentProblem

Key = ECKey | RSAKey
#: Only halves of key pairs: a shared secret in the list would let its readers sign.
KINDS: Mapping[str, type[ECKey] | type[RSAKey]] = {"EC": ECKey, "RSA": RSAKey}
MIN_RSA_BITS = 2048
MAX_BYTES = 512 * 1024
MAX_KEYS = 100
TIMEOUT_SECONDS = 5.0
#: For an issuer that was never heard: two requests of it.
LONGEST_WAIT_SECONDS = 4 * TIMEOUT_SECONDS
DESCRIPTION = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long keys are believed, and how often the issuer is asked."""

    fresh_seconds: float = 600.0
    #: With an issuer that does not answer, keys of before are believed for so long.
    stale_seconds: float = 24 * 3600.0
    #: Between two requests, whatever tokens say.
    pause_seconds: float = 30.0
    #: How long a token of an unknown key waits for the answer to another's request.
    wait_seconds: float = 1.0


class IssuerKeys:
    """Keys by their ids. An id is looked up in the list and is never part of an address."""

    def __init__(
        self,
        issuer: str,
        jwks_url: str | None = None,
        *,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer, self._url = issuer, jwks_url
        self._patience, self._clock = patience or Patience(), clock
        self._keys: dict[str, Key] = {}
        self._read_at: float | None = None
        self._asked_at: float | None = None
        self._lock = threading.Lock()

    def key(self, key_id: str) -> Key | None:
        """The key of that id; the issuer is asked where it may have a new one, but not often."""
        # While another asks an issuer that hangs, nobody waits for what is known, and nobody long.
        if not self._lock.acquire(timeout=self._wait_seconds(key_id)):
            if self._is_stale(self._age(self._clock())):
                raise _no_keys(self._issuer)
            return self._keys.get(key_id)
        try:
            now = self._clock()
            age = self._age(now)
            is_fresh = age is not None and age < self._patience.fresh_seconds
            if not (is_fresh and key_id in self._keys) and self._may_ask(now):
                self._asked_at = now
                self._refresh(now, age)
            elif self._is_stale(age):
                raise _no_keys(self._issuer)
            return self._keys.get(key_id)
        finally:
            self._lock.release()

    def _wait_seconds(self, key_id: str) -> float:
        if self._is_stale(self._age(self._clock())):
            # There is nothing to go by.
            return LONGEST_WAIT_SECONDS
        return 0.0 if key_id in self._keys else self._patience.wait_seconds

    def _is_stale(self, age: float | None) -> bool:
        return age is None or age >= self._patience.stale_seconds

    def _age(self, now: float) -> float | None:
        return None if self._read_at is None else now - self._read_at

    def _may_ask(self, now: float) -> bool:
        return self._asked_at is None or now - self._asked_at >= self._patience.pause_seconds

    def _refresh(self, now: float, age: float | None) -> None:
        try:
            self._keys = _keys_of(_read(self._url or _address_of_keys(self._issuer)))
            self._read_at = now
        except (requests.RequestException, ValueError) as error:
            if self._is_stale(age):
                raise _no_keys(self._issuer) from error


def _no_keys(issuer: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"The keys of the issuer {issuer} cannot be read, so that no token can be checked.",
        next_step="Check that it answers, and access.oidc in the configuration.",
    )


def _address_of_keys(issuer: str) -> str:
    """What the issuer says in its own description, if that is about itself."""
    description = _read(issuer.rstrip("/") + DESCRIPTION)
    url = description.get("jwks_uri")
    if description.get("issuer") != issuer or not isinstance(url, str) or not is_safe_address(url):
        raise ValueError("the description is not about this issuer")
    return url


def _read(url: str) -> dict[str, Any]:
    # Redirects are not followed: whoever can make one would choose the keys.
    with requests.get(url, timeout=TIMEOUT_SECONDS, allow_redirects=False, stream=True) as answer:
        if answer.status_code != 200:
            raise ValueError(f"status {answer.status_code}")
        text = answer.raw.read(MAX_BYTES + 1, decode_content=True)
    if len(text) > MAX_BYTES:
        raise ValueError("too large")
    try:
        found = json.loads(text)
    except RecursionError as error:
        raise ValueError("too deep") from error
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _keys_of(document: Mapping[str, Any]) -> dict[str, Key]:
    """The keys that signatures can be checked with; others are passed over."""
    listed = document.get("keys")
    if not isinstance(listed, list) or len(listed) > MAX_KEYS:
        raise ValueError("not a list of keys")
    found: dict[str, Key] = {}
    for item in listed:
        if not isinstance(item, dict) or not isinstance(item.get("kid"), str):
            continue
        kind = KINDS.get(str(item.get("kty")))
        if kind is None or item.get("use", "sig") != "sig" or "d" in item:
            continue
        try:
            with warnings.catch_warnings():
                # Keys that are too short are passed over below.
                warnings.simplefilter("ignore", SecurityWarning)
                key = kind.import_key(item)
        except (JoseError, ValueError):
            continue
        if isinstance(key, RSAKey) and key.public_key.key_size < MIN_RSA_BITS:
            continue
        found[item["kid"]] = key
    return found
