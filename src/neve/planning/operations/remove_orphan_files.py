"""Which files are orphans, and everything that keeps a file from being one.

Each guard is a function of its own. Those about single files run where files are listed; those
about the whole table return a sentence, and then nothing of the table is touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from unicodedata import category
from urllib.parse import unquote_plus

from neve.model.durations import format_duration
from neve.model.facts import EPOCH
from neve.model.job import Job
from neve.model.orphans import (
    MIN_AGE_SECONDS,
    FileTotals,
    KeptReason,
    ListedFile,
    Listing,
    MetadataOwner,
    Orphan,
    OrphanRules,
    QuarantineEntry,
    Sweep,
    TableLocation,
)
from neve.planning.locations import CUT_OFF, is_within, path_of, store_of
from neve.planning.operations.intent import why_shared

#: Properties that may put files elsewhere than below the table's location.
PATH_PROPERTIES = (
    "write.data.path",
    "write.metadata.path",
    "write.folder-storage.path",
    "write.object-storage.path",
)
UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
#: What is added to a name until its file is whole.
DRAFT = re.compile(r"\.[0-9a-f]{16}\.tmp$")
#: Zero in whatever time zone it was written down.
NO_TIME_MS = 24 * 3600 * 1000
NOT_COMMITTED = "written by job {job_id} and not committed"
NOT_REACHED = "no snapshot, branch, tag or metadata file reaches it"


def gc_refusal(place: TableLocation) -> str | None:
    """Files that may belong to others, too, are no orphans."""
    return why_shared(place.table, place.properties)


def locations_of(place: TableLocation) -> list[str]:
    """Where a table's files may be: its location, and wherever its properties point."""
    named = [place.properties[key] for key in PATH_PROPERTIES if place.properties.get(key)]
    return [place.location, *named]


def roots_of(place: TableLocation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Locations to list, and locations that are left alone.

    A folder elsewhere is listed only if its last part holds the table's id: then it is no one
    else's. Any other may be shared with tables that no catalog here knows.
    """
    listed = [place.location]
    left: list[str] = []
    for location in locations_of(place)[1:]:
        if any(is_within(location, root) for root in listed):
            continue
        is_own = place.table_uuid in path_of(location).rpartition("/")[2]
        (listed if is_own else left).append(location)
    return tuple(listed), tuple(dict.fromkeys(left))


def overlap_refusal(
    place: TableLocation, roots: Sequence[str], others: Iterable[TableLocation]
) -> str | None:
    """A location that another table's location is equal to, or lies around, is not swept."""
    for other in others:
        for theirs in (*locations_of(other), *other.aliases):
            if any(is_within(root, theirs) for root in roots):
                return f"Table {place.table} lies in {theirs}, which is table {other.table}'s, too."
    return None


def foreign_locations(roots: Sequence[str], others: Iterable[TableLocation]) -> tuple[str, ...]:
    """Locations of other tables below the roots: their files are theirs."""
    return tuple(
        dict.fromkeys(
            theirs
            for other in others
            for theirs in (*locations_of(other), *other.aliases)
            if any(is_within(theirs, root) for root in roots)
        )
    )


def cutoff(now: datetime, rules: OrphanRules, unfinished: Iterable[Job]) -> tuple[datetime, str]:
    """The moment since when files are too young, and why: age, floor, or a job without an end."""
    age = max(rules.older_than_seconds, MIN_AGE_SECONDS)
    moment, reason = now - timedelta(seconds=age), f"older than {format_duration(age)}"
    for job in unfinished:
        if job.created_at < moment:
            moment, reason = job.created_at, f"older than job {job.job_id}, which has no end yet"
    return moment, reason


def why_kept(file: ListedFile, listing: Listing) -> KeptReason | None:
    """What keeps a file whether metadata reaches it or not; None where nothing does."""
    if not file.is_regular:
        return KeptReason.NOT_A_FILE
    if has_ambiguous_name(file.path):
        return KeptReason.AMBIGUOUS
    if any(is_within(file.path, location) for location in listing.foreign):
        return KeptReason.OTHER_TABLE
    if is_hidden(file.path, listing):
        return KeptReason.HIDDEN
    if not is_time_known(file.modified_ms, listing.now_ms):
        return KeptReason.UNKNOWN_TIME
    if file.modified_ms is None or file.modified_ms >= listing.cutoff_ms:
        return KeptReason.TOO_YOUNG
    return None


def is_time_known(modified_ms: int | None, now_ms: int) -> bool:
    """Stores that do not keep times say 0; a time in the future is a wrong clock."""
    return modified_ms is not None and NO_TIME_MS < modified_ms <= now_ms


def has_ambiguous_name(path: str) -> bool:
    """Whether a store or a client on the way to it could take the name for another's."""
    _, _, rest = path.partition(":")
    parts = rest.lstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or CUT_OFF & set(rest):
        return True
    if rest.isascii():
        return not rest.isprintable()
    return any(category(character) in UNSEEN for character in rest)


def is_hidden(path: str, listing: Listing) -> bool:
    """A name with `_` or `.` in front, unless it is the folder of a partition field."""
    root = next((root for root in listing.roots if path.startswith(root.rstrip("/") + "/")), "")
    for part in path[len(root) :].strip("/").split("/"):
        if part.startswith(("_", ".")):
            name, equals, _ = part.partition("=")
            if not equals or unquote_plus(name) not in listing.partition_fields:
                return True
    return False


def changed_place_refusal(place: TableLocation, sweep: Sweep) -> str | None:
    """The table must be the same before its files are listed and after."""
    found = sweep.reachable
    if (found.table_uuid, found.location) != (place.table_uuid, place.location):
        return f"Table {place.table} was replaced or moved while its files were listed."
    return None


def foreign_metadata_refusal(place: TableLocation, owners: Iterable[MetadataOwner]) -> str | None:
    """Metadata of another table or view among the table's own: who reads it may need any file."""
    own = ("table", place.table_uuid.lower())
    foreign = [owner for owner in owners if (owner.kind, owner.uuid.lower()) != own]
    if not foreign:
        return None
    first = foreign[0]
    alike = sum((owner.kind, owner.uuid) == (first.kind, first.uuid) for owner in foreign)
    files = f"{first.path} is" if alike == 1 else f"{first.path} and {alike - 1} more files are"
    return (
        f"{files} metadata of the {first.kind} {first.uuid}, and not of {place.table} "
        f"({place.table_uuid}), which does not reach it: whoever reads it may need any "
        f"file below {place.location}."
    )


def nothing_reached_refusal(sweep: Sweep) -> str | None:
    """Where no listed file is reachable, listing and metadata do not speak of the same place."""
    reached = sweep.kept.get(KeptReason.REACHABLE, FileTotals()).files
    if not sweep.reachable.paths or (sweep.listed.files and not reached):
        return (
            f"None of the {sweep.listed.files} files below {sweep.reachable.location} is reachable "
            f"from the metadata of table {sweep.reachable.table}."
        )
    return None


def elsewhere_refusal(sweep: Sweep) -> str | None:
    """A path that metadata knows in another bucket may be the same file by another name."""
    if not sweep.elsewhere:
        return None
    stores = sorted({store_of(path) for path in sweep.reachable.paths})
    return (
        f"The path of {sweep.elsewhere[0]} is reachable under another scheme or authority "
        f"({', '.join(stores)}), so it may be the same file."
    )


def ratio_refusal(sweep: Sweep, max_ratio: float) -> str | None:
    """Many orphans are more likely a mistake than a fact."""
    pairs = (
        ("files", sweep.orphans.files, sweep.listed.files),
        ("bytes", sweep.orphans.size_bytes, sweep.listed.size_bytes),
    )
    for what, orphans, listed in pairs:
        if listed and orphans / listed > max_ratio:
            return (
                f"{orphans} of {listed} {what} would be orphans, {orphans / listed:.1%}, "
                f"and the limit is {max_ratio:.1%}."
            )
    return None


def as_orphan(file: ListedFile, leftovers: Mapping[str, str]) -> Orphan:
    """The orphan that a candidate is; leftovers are jobs by the paths that they left."""
    path = path_of(file.path)
    # A task that is killed leaves a draft, which is called after what it would have become.
    job_id = leftovers.get(path) or leftovers.get(DRAFT.sub("", path))
    reason = NOT_COMMITTED.format(job_id=job_id) if job_id else NOT_REACHED
    modified_at = EPOCH + timedelta(milliseconds=file.modified_ms or 0)
    return Orphan(file.path, file.size_bytes, modified_at, file.etag, reason)


def is_unchanged(orphan: Orphan, file: ListedFile) -> bool:
    """Whether the file is still the one that was marked."""
    same = orphan.size_bytes == file.size_bytes and orphan.etag == file.etag
    return same and orphan.modified_at == EPOCH + timedelta(milliseconds=file.modified_ms or 0)


def why_released(
    entry: QuarantineEntry, found: ListedFile | None, keep: KeptReason | None
) -> str | None:
    """Why an entry leaves the quarantine without being deleted, if it does."""
    if found is None:
        return "It is no longer there."
    if keep in (KeptReason.REACHABLE, KeptReason.REACHABLE_IN_ENGINE):
        return "It is reachable now."
    if keep is KeptReason.REFERENCED:
        return "Another table reaches it."
    if keep is KeptReason.NOT_OF_TABLES:
        return "It is a database, or a file that the configuration names."
    if not is_unchanged(entry.orphan, found):
        return "It has changed since it was marked."
    return None
