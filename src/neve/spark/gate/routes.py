"""The gate's addresses: for each real catalog one, with a secret in its path."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neve.spark.gate.upstream import Answer, Upstream

SIGV4_KEYS = ("rest.sigv4-enabled", "rest.auth.type")


class Routes:
    """Which secret leads to which catalog."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._upstreams: dict[str, Upstream] = {}
        self._changing = threading.Lock()

    def add(self, upstream: Upstream) -> str:
        """The gate's URI for a catalog; the same one as before, if it is known."""
        with self._changing:
            for secret, known in self._upstreams.items():
                if known == upstream:
                    return self._uri(secret)
            secret = secrets.token_urlsafe(24)
            self._upstreams[secret] = upstream
        return self._uri(secret)

    def find(self, path: str) -> tuple[Upstream, str] | None:
        """The catalog that a path leads to, and the rest of the path, as it came."""
        given, _, rest = path.removeprefix("/").partition("/")
        for secret, upstream in list(self._upstreams.items()):
            if hmac.compare_digest(secret.encode(), given.encode()):
                return upstream, rest
        return None

    def close(self) -> None:
        for upstream in self._upstreams.values():
            upstream.close()

    def _uri(self, secret: str) -> str:
        return f"{self._address}/{secret}"

    def configured(self, upstream: Upstream, answer: Answer) -> Answer:
        """A catalog's configuration that does not lead around the gate."""
        document = _object(answer)
        if document is None or answer.status != 200:
            return answer
        overrides = dict(document.get("overrides") or {})
        defaults = dict(document.get("defaults") or {})
        real = replace(upstream, uri=str(overrides.get("uri") or upstream.uri))
        if wants_sigv4({**defaults, **overrides}):
            # What signs requests signs the host's name: here it must be the real one.
            overrides["uri"] = real.uri
        elif "uri" in overrides:
            overrides["uri"] = self.add(real)
        defaults.pop("uri", None)
        changed = {**document, "overrides": overrides, "defaults": defaults}
        return replace(answer, body=json.dumps(changed).encode())


def wants_sigv4(properties: Mapping[str, str]) -> bool:
    """Whether requests are signed for the host that they are sent to."""
    enabled, auth = (str(properties.get(key, "")).lower() for key in SIGV4_KEYS)
    return enabled == "true" or auth == "sigv4"


def reachable_from_afar(upstream: Upstream, answer: Answer) -> Answer:
    """A loaded table whose files are reached by the catalog's real address.

    Executors on other machines sign requests and renew credentials there, and the gate listens on
    the driver's loopback alone.
    """
    document = _object(answer)
    if document is None or answer.status != 200 or "metadata" not in document:
        return answer
    config = {"uri": upstream.uri, **(document.get("config") or {})}
    return replace(answer, body=json.dumps({**document, "config": config}).encode())


def _object(answer: Answer) -> dict[str, Any] | None:
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
