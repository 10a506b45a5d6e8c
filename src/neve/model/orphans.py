"""Files that no metadata of their table reaches, and what is known before one may be deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from neve.model.errors import InputError
from neve.model.table import TableRef

DAY_SECONDS = 86400
#: No setting makes a younger file an orphan: its writer may not have committed yet.
MIN_AGE_SECONDS = DAY_SECONDS


@dataclass(frozen=True, slots=True)
class ReachableFiles:
    """Every file that a table's metadata reaches, through all of its snapshots."""

    table: TableRef
    table_uuid: str
    location: str
    metadata_location: str
    properties: Mapping[str, str]
    #: Names of partition fields of all specs: folders may begin with them.
    partition_fields: frozenset[str]
    snapshot_ids: frozenset[int]
    paths: frozenset[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class TableLocation:
    """Where a table lives, as its metadata says."""

    table: TableRef
    table_uuid: str
    location: str
    properties: Mapping[str, str]
    partition_fields: frozenset[str]
    #: The same folders by other names, where they lie behind links.
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OrphanRules:
    """How old an orphan must be, how long it waits, and how many are too many."""

    older_than_seconds: int = 3 * DAY_SECONDS
    purge_delay_seconds: int = DAY_SECONDS
    #: Share of files or bytes above which a sweep stops, because its premise must be wrong.
    max_orphan_ratio: float = 0.2


def check_orphan_age(seconds: int) -> None:
    """Refuse an age at which a file's writer may still be about to commit it."""
    if seconds < MIN_AGE_SECONDS:
        raise InputError(
            "A file younger than 24 hours is never an orphan: its writer may still commit it.",
            next_step="Give --older-than or orphans.older_than 24h or more.",
        )


class KeptReason(StrEnum):
    """Why a file that was listed is not an orphan."""

    REACHABLE = "reachable"
    REACHABLE_IN_ENGINE = "reachable_in_engine"
    TOO_YOUNG = "too_young"
    UNKNOWN_TIME = "unknown_time"
    HIDDEN = "hidden"
    NOT_A_FILE = "not_a_file"
    OTHER_TABLE = "other_table"
    #: Another table reaches it, wherever that one lies.
    REFERENCED = "referenced"
    AMBIGUOUS = "ambiguous"
    #: A database, or a file that the configuration names or that Neve keeps.
    NOT_OF_TABLES = "not_of_tables"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file as its store lists it, under exactly the name that the store uses."""

    path: str
    size_bytes: int
    #: Milliseconds since the epoch; None where the store does not tell.
    modified_ms: int | None
    etag: str | None = None
    #: False for links and whatever else is not a file of its own.
    is_regular: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """What is listed, and what decides about a file before any metadata is asked."""

    roots: tuple[str, ...]
    #: Locations of other tables below the roots.
    foreign: tuple[str, ...]
    partition_fields: frozenset[str]
    #: Files that changed at this moment or later are too young.
    cutoff_ms: int
    now_ms: int


@dataclass(frozen=True, slots=True)
class FileTotals:
    """How many files, and their bytes."""

    files: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Sweep:
    """A listing compared with what metadata reaches."""

    reachable: ReachableFiles
    listed: FileTotals
    orphans: FileTotals
    kept: Mapping[KeptReason, FileTotals]
    #: The orphans, or as many of them as one run takes.
    candidates: tuple[ListedFile, ...]
    #: Files that were asked for by name and are there, with why they are kept, if they are.
    watched: Mapping[str, tuple[ListedFile, KeptReason | None]]
    #: Listed files whose path is reachable in another bucket or under another authority.
    elsewhere: tuple[str, ...] = ()
    #: Listed metadata files that the table does not reach: its own old ones, or another table's.
    metadata_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetadataOwner:
    """Whose metadata a file is, as it says itself."""

    path: str
    #: `table` or `view`.
    kind: str
    uuid: str


@dataclass(frozen=True, slots=True)
class Orphan:
    """A file that both computations do not reach and that no guard keeps."""

    path: str
    size_bytes: int
    modified_at: datetime
    etag: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class SweepReport:
    """What a sweep found. Nothing was changed by finding it."""

    table: TableRef
    table_uuid: str
    swept_at: datetime
    #: Files that changed later are kept, and why the moment is this one.
    cutoff: datetime
    cutoff_reason: str
    listed: FileTotals
    kept: Mapping[KeptReason, FileTotals]
    orphans: tuple[Orphan, ...]
    #: All orphans, also those beyond what one run takes.
    found: FileTotals
    #: Locations of the table that were not listed, with the reason.
    not_listed: tuple[str, ...] = ()
    #: Other tables that reach files below this one's location.
    referenced_by: tuple[TableRef, ...] = ()
    #: Why nothing of this may be quarantined or purged, if it may not.
    stop: str | None = None
    #: Whether this is the first sweep of the table, which never changes anything.
    is_first: bool = False


class QuarantineState(StrEnum):
    """Where an entry of the quarantine stands. The last three are final."""

    QUARANTINED = "quarantined"
    #: Its deletion was begun; whether it happened, the next sweep sees.
    PURGING = "purging"
    PURGED = "purged"
    #: No orphan any more: reachable, changed or gone.
    RELEASED = "released"
    #: Taken off the list by a person; the file is left alone from then on.
    RESTORED = "restored"

    @property
    def is_open(self) -> bool:
        return self in (QuarantineState.QUARANTINED, QuarantineState.PURGING)


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """One orphan on the list. The file itself is where it was, untouched."""

    entry_id: int
    table: TableRef
    table_uuid: str
    orphan: Orphan
    job_id: str
    marked_at: datetime
    state: QuarantineState
    state_at: datetime
    state_reason: str = ""
