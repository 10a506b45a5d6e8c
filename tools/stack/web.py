"""The few HTTP questions that tell whether a part is up."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

# No proxy, whatever the environment says: everything asked here is on loopback.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(
    url: str, *, body: bytes | None = None, headers: dict[str, str] | None = None
) -> bytes | None:
    """The body of a successful answer; None if there is no answer yet, or not a good one."""
    try:
        with _OPENER.open(
            urllib.request.Request(url, data=body, headers=headers or {}), timeout=5
        ) as answer:
            content: bytes = answer.read()
            return content
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return None


def get_json(url: str, *, body: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
    content = get(url, body=body, headers=headers)
    try:
        return None if content is None else json.loads(content)
    except ValueError:
        return None
