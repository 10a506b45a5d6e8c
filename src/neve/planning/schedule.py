"""When a table's turn comes: cron schedules, intervals and windows, by the clock of a time zone.

A schedule that fires outside of the window stays due until the window opens. Where clocks are
changed, a time that does not exist counts as the first moment after the gap, and one that exists
twice as its first occurrence. Where the minute or the hour begins with `*`, what the clock shows
counts, as with cron: minutes that it skips are left out, and those that it shows twice come twice.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from neve.model.durations import parse_duration
from neve.model.errors import InputError
from neve.model.facts import EPOCH
from neve.model.policies import EffectivePolicy, Timing, Window

MINUTE = timedelta(minutes=1)
#: A window opens within a week, and one opening may fall into a gap of the clock.
DAYS_TO_LOOK = 15


#: An interval since the last turn, as `rate(6 hours)`.
RATE = re.compile(r"rate\((?P<duration>[^()]+)\)")
SHORTEST_RATE_SECONDS = 60
#: A turn that never came has this slot, whoever looks at it.
FIRST_SLOT = EPOCH


def check_cron(schedule: str) -> None:
    """Raise InputError where the text is no interval and no five fields of cron that ever come."""
    if (seconds := interval_seconds(schedule)) is not None:
        if seconds < SHORTEST_RATE_SECONDS:
            raise InputError(
                f"{schedule!r} comes too often.", next_step="Wait for a minute at least."
            )
        return
    if len(schedule.split()) != 5:
        raise InputError(
            f"{schedule!r} is not a schedule: cron has five fields.",
            next_step="Write minute, hour, day, month and weekday, for example 0 3 * * *, "
            "or rate(6 hours).",
        )
    next_fire(schedule, "UTC", datetime(2000, 1, 1, tzinfo=UTC))


@lru_cache(maxsize=4096)
def interval_seconds(schedule: str) -> int | None:
    """The seconds between two turns; None where the schedule is cron's."""
    found = RATE.fullmatch(schedule)
    return parse_duration(found["duration"]) if found else None


def next_fire(schedule: str, timezone: str, after: datetime) -> datetime:
    """The first moment after the given one at which the schedule fires."""
    if (seconds := interval_seconds(schedule)) is not None:
        return after + timedelta(seconds=seconds)
    # Cron knows whole minutes, and tables whose turn came together come together again.
    return _next_of_cron(schedule, timezone, after.astimezone(UTC).replace(second=0, microsecond=0))


@lru_cache(maxsize=65_536)
def _next_of_cron(schedule: str, timezone: str, after: datetime) -> datetime:
    # Most commands need neither.
    from zoneinfo import ZoneInfo

    from cronsim import CronSim, CronSimError

    zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    try:
        return next(CronSim(schedule, after.astimezone(zone))).astimezone(UTC)
    except CronSimError as error:
        raise InputError(
            f"{schedule!r} is not a schedule: {str(error).lower()}.",
            next_step="Write minute, hour, day, month and weekday, for example 0 3 * * *.",
        ) from error
    except StopIteration:
        raise InputError(f"The schedule {schedule!r} never comes.") from None


def due(policy: EffectivePolicy, last_run: datetime | None, now: datetime) -> Timing:
    """The one answer to whether a table's turn has come."""
    return Timing(
        last_run=last_run,
        is_due=is_due(policy.schedule, last_run, now, policy.timezone),
        in_window=in_window(policy.window, now),
        next_run=next_run(policy.schedule, policy.window, last_run, now, policy.timezone),
    )


def is_due(
    schedule: str | None, last_run: datetime | None, now: datetime, timezone: str = "UTC"
) -> bool:
    """Whether the schedule has fired since the last run; what never ran is due at once."""
    slot = next_slot(schedule, timezone, last_run)
    return slot is not None and slot <= now


def next_slot(schedule: str | None, timezone: str, last_run: datetime | None) -> datetime | None:
    """The turn that comes next, or that was missed first; None without a schedule.

    However many were missed since: whoever looks, and whenever, finds the same one.
    """
    if schedule is None:
        return None
    return FIRST_SLOT if last_run is None else next_fire(schedule, timezone, last_run)


def in_window(window: Window | None, now: datetime) -> bool:
    """Whether work may begin now; a window past midnight belongs to the day on which it opened."""
    if window is None:
        return True
    from zoneinfo import ZoneInfo

    local = now.astimezone(ZoneInfo(window.timezone))
    clock, today = local.time(), local.weekday()
    if window.start < window.end:
        return _opens(window, today) and window.start <= clock < window.end
    if clock >= window.start:
        return _opens(window, today)
    return clock < window.end and _opens(window, (today - 1) % 7)


def _opens(window: Window, weekday: int) -> bool:
    return not window.days or weekday in window.days


def next_opening(window: Window | None, now: datetime) -> datetime:
    """The first moment from now on at which the window is open."""
    if window is None or in_window(window, now):
        return now
    from zoneinfo import ZoneInfo

    zone = ZoneInfo(window.timezone)
    today = now.astimezone(zone).date()
    for day in range(DAYS_TO_LOOK):
        start = datetime.combine(today + timedelta(days=day), window.start, zone)
        opened = start.astimezone(UTC)
        # In a gap of the clock, the second reading comes first: the gap ends between the two.
        moment = min(opened, start.replace(fold=1).astimezone(UTC))
        while moment <= opened:
            if moment >= now and in_window(window, moment):
                return moment
            moment += MINUTE
    raise InputError("The window never opens.", next_step="Check its days, start and end.")


def next_run(
    schedule: str | None,
    window: Window | None,
    last_run: datetime | None,
    now: datetime,
    timezone: str = "UTC",
) -> datetime | None:
    """The first moment from now on at which the table's turn has come and the window is open."""
    if schedule is None:
        return None
    comes = now
    if last_run is not None:
        comes = max(now, next_fire(schedule, timezone, last_run))
    return next_opening(window, comes).astimezone(UTC)
