"""Spans of time as people write them."""

from __future__ import annotations

import re
from decimal import Decimal

from neve.model.errors import InputError

SECONDS_PER_UNIT = {
    "s": 1, "sec": 1, "second": 1,
    "m": 60, "min": 60, "minute": 60,
    "h": 3600, "hour": 3600,
    "d": 86400, "day": 86400,
    "w": 7 * 86400, "week": 7 * 86400,
}  # fmt: skip
MAX_DURATION_SECONDS = 3650 * 86400
PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")


def parse_duration(text: str) -> int:
    """The seconds in `7d`, `36h`, `1d 12h` or `90 minutes`; a number needs its unit."""
    position, total = 0, Decimal(0)
    while position < len(text):
        part = PART.match(text, position)
        unit = _unit(part.group(2)) if part else None
        if part is None or unit is None:
            raise _bad_duration(text, "it is not a span of time with a unit")
        total += Decimal(part.group(1)) * unit
        position = part.end()
    if total <= 0:
        raise _bad_duration(text, "it must be longer than nothing")
    if total > MAX_DURATION_SECONDS:
        raise _bad_duration(text, "ten years are the longest")
    if total != int(total):
        raise _bad_duration(text, "seconds are the smallest unit")
    return int(total)


def format_duration(seconds: float) -> str:
    """`90000` as `1d 1h`, the way it can be written back."""
    rest, parts = int(seconds), []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"


def _unit(word: str) -> int | None:
    word = word.lower()
    return SECONDS_PER_UNIT.get(word) or SECONDS_PER_UNIT.get(word.removesuffix("s"))


def _bad_duration(text: str, why: str) -> InputError:
    return InputError(
        f"{text!r} cannot be used as a duration: {why}.", next_step="Write for example 7d or 36h."
    )
