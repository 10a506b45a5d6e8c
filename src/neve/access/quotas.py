"""How much a tenant may ask for: jobs at once, bytes and dollars of a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from neve.model.errors import TooMuch
from neve.model.sizes import format_size

#: After how long it is worth asking again where jobs must end first.
WAIT_SECONDS = 30
#: Room that was held and not used, by a process that died, is given to others after so long.
HELD_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one tenant; None: as much as it likes."""

    #: Jobs that wait or run.
    max_open_jobs: int | None = None
    max_bytes_per_day: int | None = None
    max_usd_per_day: float | None = None

    @property
    def is_unlimited(self) -> bool:
        return self == Quota()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tenant has."""

    open_jobs: int = 0
    bytes_today: int = 0
    usd_today: float = 0.0


@dataclass(frozen=True, slots=True)
class Room:
    """Room for jobs that are about to be queued: nobody else gets it meanwhile."""

    room_id: str
    tenant: str
    jobs: int
    #: Of a request that is sent again: what has the same one shares its room.
    key: str = ""


def room_lost() -> TooMuch:
    return TooMuch(
        "It took so long to prepare the job that its room went to others.",
        next_step="Ask again.",
    )


def day_of(now: datetime) -> date:
    """The day that it is, by UTC."""
    return now.astimezone(UTC).date()


def day_begins(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def refusal_of(
    quota: Quota, usage: Usage, tenant: str, now: datetime, more_jobs: int = 1
) -> TooMuch | None:
    """Why there is no room for so many more jobs; None where there is."""
    whose = f"The tenant {tenant}" if tenant else "The tenant without a name"
    if quota.max_open_jobs is not None and usage.open_jobs + more_jobs > quota.max_open_jobs:
        return TooMuch(
            f"{whose} has {usage.open_jobs} jobs that wait or run, and may have "
            f"{quota.max_open_jobs}.",
            next_step="Wait for some to end.",
            retry_after_seconds=WAIT_SECONDS,
        )
    until_tomorrow = int((day_begins(day_of(now) + timedelta(1)) - now).total_seconds()) + 1
    if quota.max_bytes_per_day is not None and usage.bytes_today >= quota.max_bytes_per_day:
        return TooMuch(
            f"{whose} has rewritten {format_size(usage.bytes_today)} today, and may rewrite "
            f"{format_size(quota.max_bytes_per_day)} a day.",
            next_step="Ask again tomorrow (UTC).",
            retry_after_seconds=until_tomorrow,
        )
    if quota.max_usd_per_day is not None and usage.usd_today >= quota.max_usd_per_day:
        return TooMuch(
            f"{whose} has spent {usage.usd_today:.2f} USD today, and may spend "
            f"{quota.max_usd_per_day:.2f} a day.",
            next_step="Ask again tomorrow (UTC).",
            retry_after_seconds=until_tomorrow,
        )
    return None
