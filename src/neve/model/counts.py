"""Numbers of things, as sentences say them."""

from __future__ import annotations


def many(count: int, what: str) -> str:
    """`1 file`, `2,000 files`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
