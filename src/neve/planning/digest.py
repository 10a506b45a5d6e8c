"""What ran on a day, what it cost and what it saved: pure, from the day's jobs to figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from neve.model.job import Job, JobState
from neve.model.operation import Operation
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job with its end; None where it ended by an error, before anything was counted."""

    job: Job
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class TableDay:
    """One table's day. Files and bytes are those of the table, before its first and after its last
    rewrite; None where no rewrite counted them.
    """

    table: TableRef
    jobs: int
    succeeded: int
    nothing_to_do: int
    failures: tuple[str, ...]
    files_before: int | None
    files_after: int | None
    bytes_before: int
    bytes_after: int
    target_file_size_bytes: int
    files_compacted: int
    #: What every full scan opens less from then on.
    file_opens_saved: int
    bytes_saved: int
    snapshots_expired: int
    seconds: float
    usd: float

    @property
    def file_reduction_percent(self) -> float | None:
        if not self.files_before or self.files_after is None:
            return None
        return 100 * (self.files_before - self.files_after) / self.files_before

    @property
    def average_bytes_before(self) -> float | None:
        return self.bytes_before / self.files_before if self.files_before else None

    @property
    def average_bytes_after(self) -> float | None:
        return self.bytes_after / self.files_after if self.files_after else None


@dataclass(frozen=True, slots=True)
class Digest:
    """A day of all tables that a channel hears of."""

    day: date
    tables: tuple[TableDay, ...]
    #: The price of opening the files once that are not opened any more.
    usd_saved_per_full_scan: float
    #: Tables that workers leave alone, with the reason.
    set_aside: tuple[tuple[TableRef, str], ...] = ()


def bounds_of(day: date, timezone: str) -> tuple[datetime, datetime]:
    """The first moment of the day, and the first after it, by the clock of the time zone."""
    from zoneinfo import ZoneInfo

    zone = ZoneInfo(timezone)
    begin = datetime.combine(day, time(0), tzinfo=zone)
    end = datetime.combine(day + timedelta(days=1), time(0), tzinfo=zone)
    return begin.astimezone(UTC), end.astimezone(UTC)


def day_before(now: datetime, at: time, timezone: str) -> date | None:
    """The day whose digest is due now; None before the hour of it."""
    from zoneinfo import ZoneInfo

    local = now.astimezone(ZoneInfo(timezone))
    return local.date() - timedelta(days=1) if local.time() >= at else None


def table_day(table: TableRef, ended: Sequence[EndedJob], target_file_size_bytes: int) -> TableDay:
    """The table's jobs of a day, added up."""
    outcomes = sorted(
        (item.outcome for item in ended if item.outcome), key=lambda outcome: outcome.started_at
    )
    statuses = Counter(outcome.status for outcome in outcomes)
    rewrites = [outcome.stats for outcome in outcomes if _counted_files(outcome)]
    first, last = (rewrites[0], rewrites[-1]) if rewrites else (None, None)
    return TableDay(
        table=table,
        jobs=len(ended),
        succeeded=statuses[Status.SUCCEEDED],
        nothing_to_do=statuses[Status.NOTHING_TO_DO],
        failures=tuple(
            f"{item.job.operation}: {item.job.reason}"
            for item in ended
            if item.job.state in (JobState.FAILED, JobState.UNKNOWN)
        ),
        files_before=first.files_before if first else None,
        files_after=last.files_after if last else None,
        bytes_before=first.bytes_before if first else 0,
        bytes_after=last.bytes_after if last else 0,
        target_file_size_bytes=target_file_size_bytes,
        files_compacted=sum(outcome.stats.files_compacted for outcome in outcomes),
        file_opens_saved=sum(
            max(0, (stats.files_before or 0) - (stats.files_after or 0)) for stats in rewrites
        ),
        bytes_saved=sum(max(0, outcome.stats.bytes_saved) for outcome in outcomes),
        snapshots_expired=sum(outcome.stats.snapshots_expired for outcome in outcomes),
        seconds=sum(outcome.seconds for outcome in outcomes),
        usd=sum(outcome.actual_usd or 0.0 for outcome in outcomes),
    )


def _counted_files(outcome: Outcome) -> bool:
    return (
        outcome.operation == Operation.REWRITE_DATA_FILES
        and outcome.status is Status.SUCCEEDED
        and outcome.stats.files_before is not None
        and outcome.stats.files_after is not None
    )
