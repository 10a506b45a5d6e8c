"""Moments from numbers that may be no moments."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(timestamp_ms: int) -> datetime | None:
    """The moment of a timestamp, where the number is one."""
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None
