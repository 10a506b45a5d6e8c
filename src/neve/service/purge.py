"""Deleting what has waited in quarantine, after everything was looked at once more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neve.model.job import JobState
from neve.model.orphans import FileTotals, KeptReason, QuarantineEntry, QuarantineState
from neve.planning.operations import remove_orphan_files as guards
from neve.service.lease import HeldLease
from neve.service.sweep import Found

#: One batch of deletions, between two looks at the claim, the files and the metadata.
DELETED_AT_ONCE = 5000


@dataclass(slots=True)
class Changes:
    """What a run has changed so far."""

    quarantined: int = 0
    purged: list[QuarantineEntry] = field(default_factory=list)
    released: list[QuarantineEntry] = field(default_factory=list)
    #: Entries whose files are still there although they were deleted.
    left: int = 0
    #: What to say instead of the figures.
    reason: str = ""

    @property
    def purged_totals(self) -> FileTotals:
        return FileTotals(len(self.purged), sum(e.orphan.size_bytes for e in self.purged))

    @property
    def settled_paths(self) -> set[str]:
        """Files that this run has decided about, whatever its listing said."""
        return {entry.orphan.path for entry in (*self.purged, *self.released)}


def purge_due(found: Found, held: HeldLease, changes: Changes) -> None:
    """Delete entries whose delay is over, if all that made them orphans still holds."""
    sweeper, sweep = found.sweeper, found.sweep
    waited = sweeper.services.store.quarantine.due(
        found.report.table_uuid, sweeper.rules.purge_delay_seconds
    )
    due: list[QuarantineEntry] = []
    released: dict[str, list[QuarantineEntry]] = defaultdict(list)
    for entry in waited:
        file, keep = sweep.watched.get(entry.orphan.path, (None, None))
        if reason := guards.why_released(entry, file, keep):
            released[reason].append(entry)
        elif keep is None:
            due.append(entry)
    _release(found, held, released, changes)
    for start in range(0, len(due), DELETED_AT_ONCE):
        _delete(found, held, due[start : start + DELETED_AT_ONCE], changes)


def _release(
    found: Found,
    held: HeldLease,
    released: Mapping[str, Sequence[QuarantineEntry]],
    changes: Changes,
) -> None:
    """Take entries off the list, by the reason for it."""
    quarantine, there = found.sweeper.services.store.quarantine, found.sweep.watched
    for reason, entries in released.items():
        held.check()
        # One that is gone after its deletion was begun: that run ended before it could say so.
        purged = [
            entry
            for entry in entries
            if entry.state is QuarantineState.PURGING and entry.orphan.path not in there
        ]
        quarantine.move(_ids(purged), QuarantineState.PURGED, reason)
        # Entries that are purged by now keep that state.
        quarantine.move(_ids(entries), QuarantineState.RELEASED, reason)
        changes.released += entries


def _delete(
    found: Found, held: HeldLease, entries: Sequence[QuarantineEntry], changes: Changes
) -> None:
    """One batch: look at the files once more, ask the engine once more, delete, look again."""
    services, table = found.sweeper.services, found.sweeper.table
    agreed = _agreed(found, held, entries, changes)
    held.check()
    # From here on the job has begun: what fails is left to the next turn, and not tried again.
    held.enter(JobState.REWRITING)
    # The intention is written first: a crash leaves a list, not a riddle.
    services.store.quarantine.move(_ids(agreed), QuarantineState.PURGING, "")
    held.require()
    services.reporter(f"Deleting {len(agreed)} orphans of {table} …")
    services.engine.delete_files(table, _paths(agreed))
    left = {file.path for file in services.engine.look_up(table, _paths(agreed))}
    gone = [entry for entry in agreed if entry.orphan.path not in left]
    said = f"Deleted by job {found.sweeper.job_id}."
    services.store.quarantine.move(_ids(gone), QuarantineState.PURGED, said)
    services.evidence.files(_paths(gone))
    changes.purged += gone
    changes.left += len(left)


def _agreed(
    found: Found, held: HeldLease, entries: Sequence[QuarantineEntry], changes: Changes
) -> list[QuarantineEntry]:
    """Entries whose files are unchanged this very moment, and that no table reaches."""
    services, table = found.sweeper.services, found.sweeper.table
    there = {file.path: file for file in services.engine.look_up(table, _paths(entries))}
    unreached = set(services.engine.unreachable(table, _paths(entries)))
    not_of_tables = services.surveyor.not_of_tables(table, _paths(entries))
    # Other tables come last: between asking them and deleting, as little as possible happens.
    needed = services.surveyor.needed(table, _paths(entries), recheck=True)
    agreed: list[QuarantineEntry] = []
    released: dict[str, list[QuarantineEntry]] = defaultdict(list)
    for entry in entries:
        keep = None if entry.orphan.path in unreached else KeptReason.REACHABLE_IN_ENGINE
        if keep is None and entry.orphan.path in needed:
            keep = KeptReason.REFERENCED
        if entry.orphan.path in not_of_tables:
            keep = KeptReason.NOT_OF_TABLES
        if reason := guards.why_released(entry, there.get(entry.orphan.path), keep):
            released[reason].append(entry)
        else:
            agreed.append(entry)
    _release(found, held, released, changes)
    return agreed


def _paths(entries: Sequence[QuarantineEntry]) -> list[str]:
    return [entry.orphan.path for entry in entries]


def _ids(entries: Sequence[QuarantineEntry]) -> list[int]:
    return [entry.entry_id for entry in entries]
