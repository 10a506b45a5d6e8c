"""Idempotency keys as snapshots name them: two short digests, of the key and of its rows."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence

from neve.model.database import Row, WriteKey

KEY_BYTES, CONTENT_BYTES = 12, 6
KEY_LENGTH = KEY_BYTES * 4 // 3
WIDTH = KEY_LENGTH + CONTENT_BYTES * 4 // 3


def write_key(tenant: str, key: str, records: Sequence[Row]) -> WriteKey:
    """Keys of two tenants, and of two tables, have nothing to do with each other."""
    content = json.dumps(records, sort_keys=True, separators=(",", ":"), default=str)
    owned = f"{len(tenant)}:{tenant}:{key}"
    return WriteKey(_digest(owned, KEY_BYTES), _digest(content, CONTENT_BYTES))


def to_text(keys: Iterable[WriteKey]) -> str:
    """Keys as one text: each takes the same room."""
    return "".join(key.key + key.content for key in keys)


def from_text(text: str) -> dict[str, str]:
    """Keys of such a text, each with its content."""
    parts = (text[start : start + WIDTH] for start in range(0, len(text), WIDTH))
    return {part[:KEY_LENGTH]: part[KEY_LENGTH:] for part in parts}


def _digest(text: str, size: int) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:size]
    return base64.urlsafe_b64encode(digest).decode()
