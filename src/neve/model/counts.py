"""Numbers of things, as sentences say them."""

from __future__ import annotations


def many(count: int, what: str) -> str:
    """`1 file`, `2,000 files`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def verb(count: int, one: str, more: str) -> str:
    """What one does, or what several do: `was` of 1, `were` of 0 and 2."""
    return one if count == 1 else more
