"""Moments as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

from neve.model.errors import InputError


def parse_moment(text: str) -> datetime:
    """A moment in ISO 8601; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InputError(
            f"{text!r} is not a time.", next_step="Write for example 2025-01-17T12:00:00Z."
        ) from None
