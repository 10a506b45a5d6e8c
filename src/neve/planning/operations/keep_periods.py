"""One snapshot of every hour, day, week or month: which bucket it falls in, which one stays.

Tags carry the rule, so that every engine honours it. A bucket gets its tag once it is over; until
then its last snapshot is the head of main, which stays anyway. Buckets are in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from neve.model.expiry import GFS_TAG_PREFIX, ExpiryRules, Period, TagToSet
from neve.model.facts import EPOCH, RefFacts, SnapshotFacts

#: Weeks begin on Monday, and the epoch was a Thursday.
DAYS_BEFORE_EPOCH = 3


def wanted_tags(
    lineage: Sequence[SnapshotFacts],
    refs: Iterable[RefFacts],
    by_id: Mapping[int, SnapshotFacts],
    rules: ExpiryRules,
    now: datetime,
) -> dict[str, TagToSet]:
    """The tags that must exist, by name; `lineage` is main's, from its head back."""
    tagged = {
        tag.name: by_id[tag.snapshot_id]
        for tag in refs
        if tag.kind == "tag" and period_of(tag.name) is not None and tag.snapshot_id in by_id
    }
    wanted: dict[str, TagToSet] = {}
    for period, count in rules.keep.items():
        current = bucket(period, now)
        kept = range(current - count + 1, current)
        for number, snapshot in _last_of_buckets(period, lineage, tagged).items():
            if number in kept:
                name, until = tag_name(period, number), bucket_start(period, number + count)
                age_ms = (until - snapshot.committed_at) // timedelta(milliseconds=1)
                wanted[name] = TagToSet(name, snapshot.snapshot_id, age_ms)
    return wanted


def _last_of_buckets(
    period: Period, lineage: Sequence[SnapshotFacts], tagged: Mapping[str, SnapshotFacts]
) -> dict[int, SnapshotFacts]:
    """The last snapshot of each bucket.

    An earlier expiry has cut the lineage off from what tags keep. So where it no longer reaches
    a bucket, the bucket's own tag tells, and after it the newest that any of our tags keeps.
    """
    last: dict[int, SnapshotFacts] = {}
    for snapshot in lineage:
        last.setdefault(bucket(period, snapshot.committed_at), snapshot)
    known = sorted(
        tagged.values(), key=lambda item: (item.committed_at, item.snapshot_id), reverse=True
    )
    for snapshot in known:
        number = bucket(period, snapshot.committed_at)
        own = tagged.get(tag_name(period, number))
        is_in_place = own is not None and bucket(period, own.committed_at) == number
        last.setdefault(number, own if own is not None and is_in_place else snapshot)
    return last


def period_of(name: str) -> Period | None:
    """The period whose rule a tag of that name belongs to."""
    if not name.startswith(GFS_TAG_PREFIX):
        return None
    word = name.removeprefix(GFS_TAG_PREFIX).partition("-")[0]
    return next((period for period in Period if period == word), None)


def bucket(period: Period, moment: datetime) -> int:
    """The number of the bucket that a moment falls in; they grow by one."""
    moment = moment.astimezone(UTC)
    if period is Period.MONTHLY:
        return moment.year * 12 + moment.month - 1
    since = moment - EPOCH
    if period is Period.HOURLY:
        return since // timedelta(hours=1)
    return since.days if period is Period.DAILY else (since.days + DAYS_BEFORE_EPOCH) // 7


def bucket_start(period: Period, number: int) -> datetime:
    if period is Period.MONTHLY:
        return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)
    if period is Period.HOURLY:
        return EPOCH + timedelta(hours=number)
    return EPOCH + timedelta(
        days=number if period is Period.DAILY else 7 * number - DAYS_BEFORE_EPOCH
    )


def tag_name(period: Period, number: int) -> str:
    """`neve-gfs-daily-2026-11-15`, and alike."""
    start = bucket_start(period, number)
    if period is Period.WEEKLY:
        year, week, _ = start.isocalendar()
        text = f"{year}-W{week:02d}"
    else:
        text = start.strftime(
            {
                Period.HOURLY: "%Y-%m-%d-%H",
                Period.DAILY: "%Y-%m-%d",
                Period.MONTHLY: "%Y-%m",
            }[period]
        )
    return f"{GFS_TAG_PREFIX}{period}-{text}"
