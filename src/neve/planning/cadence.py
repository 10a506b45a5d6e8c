"""When a table's writers commit, as far as their habit tells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median

#: So many of the last commits are looked at, and fewer than `MIN_COMMITS` are no habit.
MAX_COMMITS = 12
MIN_COMMITS = 5
#: Writers that commit less often are not waited for: their gaps are long enough.
MAX_PERIOD_SECONDS = 60.0
#: Gaps that differ more than this share of the usual one are no rhythm.
MAX_SPREAD = 0.35
#: A writer that missed this many of its commits has stopped.
MISSED_PERIODS = 3
#: So many commits tell how often a writer comes, if not when.
MIN_COMMITS_FOR_GAP = 3


def usual_gap(commits: Sequence[datetime], now: datetime) -> float | None:
    """Seconds between two commits, of a writer that is at work; None where nobody seems to be."""
    times = sorted(commit.timestamp() for commit in commits)[-MAX_COMMITS:]
    if len(times) < MIN_COMMITS_FOR_GAP:
        return None
    gap = median(later - earlier for earlier, later in pairwise(times))
    since_last = now.timestamp() - times[-1]
    if not 0 < gap <= MAX_PERIOD_SECONDS or since_last >= MISSED_PERIODS * gap:
        return None
    return gap


def fits_before_next(
    commits: Sequence[datetime], now: datetime, gap: float, *, window_seconds: float
) -> bool:
    """Whether work of this length is done before the next commit is due."""
    since_last = max(0.0, now.timestamp() - max(commits).timestamp())
    return since_last + window_seconds <= gap


def seconds_to_wait(commits: Sequence[datetime], now: datetime, *, window_seconds: float) -> float:
    """How long to wait so that work of this length lies between two commits of the writer.

    Zero where there is no rhythm, where the work fits in before the next commit, or where it fits
    into no gap at all. Never more than one period.
    """
    times = sorted(commit.timestamp() for commit in commits)[-MAX_COMMITS:]
    if len(times) < MIN_COMMITS:
        return 0.0
    gaps = [later - earlier for earlier, later in pairwise(times)]
    period = median(gaps)
    spread = median(abs(gap - period) for gap in gaps)
    since_last = now.timestamp() - times[-1]
    if not 0 < period <= MAX_PERIOD_SECONDS or spread > MAX_SPREAD * period:
        return 0.0
    if not 0 <= since_last < MISSED_PERIODS * period or window_seconds >= period:
        return 0.0
    until_next = period - since_last % period
    if window_seconds + spread < until_next:
        return 0.0
    return min(period, until_next + spread)
