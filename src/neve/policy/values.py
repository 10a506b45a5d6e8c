"""Readers of policy values: what YAML or a table property holds becomes a checked value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import time
from difflib import get_close_matches

from neve.model.durations import format_duration, parse_duration
from neve.model.errors import InputError
from neve.model.policies import Value
from neve.model.policy import Verify
from neve.model.sizes import parse_size

Reader = Callable[[object], Value]

#: A suggestion names this many words where none is near.
MAX_NAMED = 12
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
COLUMN = r"(?:[^\s,()`]+|`(?:[^`]|``)+`)"
SORT_FIELD = re.compile(rf"({COLUMN})(?:\s+asc)?(?:\s+nulls\s+first)?", re.IGNORECASE)
ZORDER = re.compile(r"zorder\s*\((.*)\)", re.IGNORECASE)


def suggest(word: str, known: Iterable[str]) -> str:
    """The nearest known word, or all of them where they are few."""
    names = sorted(known)
    lowered = {name.lower(): name for name in names}
    for written, meant in ((word, {name: name for name in names}), (word.lower(), lowered)):
        if near := get_close_matches(written, meant):
            # One letter for another is the likelier slip: catalogz is catalogs, and not catalog.
            same_length = [name for name in near if len(name) == len(word)]
            return f"Did you mean {meant[(same_length or near)[0]]}?"
    some = ", ".join(names[:MAX_NAMED])
    return f"Known: {some}." if len(names) <= MAX_NAMED else f"Known, among others: {some}."


def flag(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.strip().lower() in ("true", "false"):
        return raw.strip().lower() == "true"
    raise InputError(f"{raw!r} is neither true nor false.")


def count(minimum: int) -> Reader:
    """Whole numbers from the minimum on."""

    def read(raw: object) -> int:
        text = str(raw).strip()
        if isinstance(raw, bool) or not re.fullmatch(r"-?[0-9]{1,18}", text):
            raise InputError(f"{raw!r} is not a whole number.")
        if int(text) < minimum:
            raise InputError(f"{raw} is too small: {minimum} is the least.")
        return int(text)

    return read


def amount(maximum: float | None = None) -> Reader:
    """Numbers from zero on."""

    def read(raw: object) -> float:
        try:
            number = float("x" if isinstance(raw, bool) else str(raw))
        except ValueError:
            raise InputError(f"{raw!r} is not a number.") from None
        if not 0 <= number < float("inf") or (maximum is not None and number > maximum):
            limit = "and must not be negative" if maximum is None else f"between 0 and {maximum:g}"
            raise InputError(f"{raw} is not possible: it must be a number {limit}.")
        return number

    return read


def text(raw: object) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise InputError(f"{raw!r} is not a text.")
    return raw.strip()


def words(raw: object) -> tuple[str, ...]:
    """A list, or a text with commas."""
    items = raw.split(",") if isinstance(raw, str) else raw
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise InputError(f"{raw!r} is not a list of names.")
    found = tuple(item.strip() for item in items if item.strip())
    if not found:
        raise InputError("The list is empty.")
    return found


def choice(*options: str) -> Reader:
    """One of a few words."""

    def read(raw: object) -> str:
        word = text(raw).lower()
        if word not in options:
            raise InputError(f"{raw!r} is not one of them.", next_step=suggest(word, options))
        return word

    return read


def verify(raw: object) -> str:
    # YAML reads off without quotes as false.
    return str(choice(*Verify)("off" if raw is False else raw))


def duration(raw: object) -> int:
    if isinstance(raw, str):
        return parse_duration(raw)
    raise InputError(f"{raw!r} has no unit.", next_step="Write for example 7d or 36h.")


def duration_from(least_seconds: int) -> Reader:
    """Durations that are long enough to notice, before files are gone, that something is wrong."""

    def read(raw: object) -> int:
        seconds = duration(raw)
        if seconds < least_seconds:
            least = format_duration(least_seconds)
            raise InputError(f"{raw!r} is too short.", next_step=f"{least} is the least.")
        return seconds

    return read


def size(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int | str):
        raise InputError(f"{raw!r} is not a size.", next_step="Write for example 128MB.")
    return parse_size(str(raw))


def clock(raw: object) -> time:
    found = CLOCK.fullmatch(raw.strip()) if isinstance(raw, str) else None
    if found is None:
        # YAML reads 22:00 without quotes as the number 1320.
        raise InputError(f"{raw!r} is not a time of day.", next_step='Write "22:00", with quotes.')
    return time(int(found.group(1)), int(found.group(2)))


def weekdays(raw: object) -> tuple[str, ...]:
    """Days by their English names or the first three letters, in the order of the week."""
    found = set()
    for word in words(raw):
        day = word.lower()
        if day in WEEKDAY_NAMES:
            day = day[:3]
        if day not in WEEKDAYS:
            known = WEEKDAYS if len(day) <= 4 else WEEKDAY_NAMES
            raise InputError(f"{word!r} is not a day of the week.", next_step=suggest(day, known))
        found.add(day)
    return tuple(day for day in WEEKDAYS if day in found)


def timezone(raw: object) -> str:
    # Most configurations name no time zone.
    from zoneinfo import ZoneInfo, available_timezones

    name = text(raw)
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        next_step = suggest(name, available_timezones())
        raise InputError(f"There is no time zone {name!r}.", next_step=next_step) from None
    return name


def cron(raw: object) -> str:
    """Cron text of five fields, or an interval, as it is."""
    from neve.planning.schedule import check_cron

    schedule = " ".join(text(raw).split())
    check_cron(schedule)
    return schedule


def sort_order(raw: object) -> str:
    order = text(raw)
    sort_columns(order)
    return order


def sort_columns(order: str) -> tuple[bool, tuple[str, ...]]:
    """Whether the order is a z-order, and its columns."""
    zorder = ZORDER.fullmatch(order)
    fields = (zorder.group(1) if zorder else order).split(",")
    return zorder is not None, tuple(_sort_column(field.strip()) for field in fields)


def _sort_column(field: str) -> str:
    found = SORT_FIELD.fullmatch(field)
    if found is None:
        raise InputError(
            f"{field!r} cannot be used in a sort order: Neve sorts by columns, ascending, nulls "
            "first.",
            next_step="Write columns with commas between them, or zorder(a, b).",
        )
    column = found.group(1)
    return column[1:-1].replace("``", "`") if column.startswith("`") else column


def strategy(raw: object) -> str:
    word = text(raw).lower()
    if word == "zorder":
        raise InputError(
            "'zorder' is a sort order, not a strategy.",
            next_step="Write strategy: sort and sort_order: zorder(a, b).",
        )
    return str(choice(*STRATEGIES)(word))


STRATEGIES: Sequence[str] = (
    "binpack",
    "sort",
    "auto",
    "small_files",
    "delete_files",
    "time_series",
)
