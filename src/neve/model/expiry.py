"""Expiry of snapshots: the rules, those who still read old ones, and what would go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from neve.model.errors import InputError
from neve.model.table import TableRef

DAY_SECONDS = 86400
#: Hours, days, weeks or months of which a snapshot can be kept.
MAX_KEPT = 10_000
#: Tags that keep one snapshot of an hour, a day, a week or a month.
GFS_TAG_PREFIX = "neve-gfs-"


class Period(StrEnum):
    """How long one bucket of the rules by hour, day, week and month is."""

    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


@dataclass(frozen=True, slots=True)
class ExpiryRules:
    """What is kept; a snapshot goes only where every rule lets it go."""

    older_than_seconds: int = 7 * DAY_SECONDS
    #: So many snapshots of every branch stay, however old.
    retain_last: int = 1
    #: So many hours, days, weeks and months of which the last snapshot stays; 0 is no rule.
    keep_hourly: int = 0
    keep_daily: int = 0
    keep_weekly: int = 0
    keep_monthly: int = 0
    undo_window_seconds: int = 7 * DAY_SECONDS

    def __post_init__(self) -> None:
        if self.older_than_seconds <= 0:
            raise InputError("The age above which snapshots expire must be greater than zero.")
        if self.retain_last < 1:
            raise InputError("One snapshot of every branch must stay at least.")
        if not all(0 <= count <= MAX_KEPT for count in self.keep.values()):
            raise InputError(f"Of each period, 0 to {MAX_KEPT} snapshots can be kept.")

    @property
    def keep(self) -> dict[Period, int]:
        """How many buckets of each period have a snapshot kept."""
        return {
            Period.HOURLY: self.keep_hourly,
            Period.DAILY: self.keep_daily,
            Period.WEEKLY: self.keep_weekly,
            Period.MONTHLY: self.keep_monthly,
        }


@dataclass(frozen=True, slots=True)
class Consumer:
    """Somebody who reads a table from a snapshot, or from a moment, on; it counts until then."""

    name: str
    table: TableRef
    snapshot_id: int | None
    at: datetime | None
    leased_until: datetime
    is_live: bool = True


class FileKind(StrEnum):
    """What a file of a table is for."""

    DATA = "data"
    DELETE = "delete"
    MANIFEST = "manifest"
    MANIFEST_LIST = "manifest_list"
    STATISTICS = "statistics"


@dataclass(frozen=True, slots=True)
class FreedFile:
    """A file that nothing reaches once the snapshots are gone."""

    path: str
    kind: FileKind
    size_bytes: int


@dataclass(frozen=True, slots=True)
class KeptSnapshot:
    """A snapshot that stays although it is old, and why."""

    snapshot_id: int
    committed_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class ExpiredSnapshot:
    """A snapshot that goes."""

    snapshot_id: int
    committed_at: datetime
    operation: str


@dataclass(frozen=True, slots=True)
class TagToSet:
    """A tag that must point to a snapshot, with the age at which every engine drops it."""

    name: str
    snapshot_id: int
    max_age_ms: int


@dataclass(frozen=True, slots=True)
class DroppedRef:
    """A tag or branch that goes, and why."""

    name: str
    kind: str
    snapshot_id: int
    reason: str
