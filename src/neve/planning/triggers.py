"""What lets a table's turn come before its schedule: what writers did to it since."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from neve.model.facts import TableFacts
from neve.model.policies import Triggers
from neve.planning.health import count_small_files

DELETE_FILES = "total-delete-files"


@dataclass(frozen=True, slots=True)
class TableLook:
    """What triggers ask of a table, at one of its states."""

    #: The newest commit of others: what it has triggered once it does not trigger again.
    snapshot_id: int | None
    #: When others committed, the newest first.
    commits: tuple[datetime, ...] = ()
    delete_files: int = 0
    #: None where nobody has counted.
    small_file_ratio: float | None = None


def look_at(
    facts: TableFacts, small_file_bytes: int, now: datetime, *, has_files: bool
) -> TableLook:
    """The answers; without files, those of the snapshots alone."""
    others = [snapshot for snapshot in facts.ancestry() if snapshot.job_id is None]
    current = facts.snapshot(facts.snapshot_id) if facts.snapshot_id is not None else None
    deletes = current.summary.get(DELETE_FILES, "") if current else ""
    ratio = count_small_files(facts, small_file_bytes) / max(1, len(facts.data_files))
    return TableLook(
        others[0].snapshot_id if others else None,
        # A writer's clock may be ahead, and a turn in the future would put off all others.
        tuple(min(snapshot.committed_at, now) for snapshot in others),
        int(deletes) if deletes.isdecimal() else 0,
        ratio if has_files else None,
    )


def triggered(triggers: Triggers, look: TableLook, last_run: datetime | None) -> bool:
    """Whether the table's turn has come by what was done to it."""
    if look.snapshot_id is None:
        return False
    since = sum(last_run is None or moment > last_run for moment in look.commits)
    if since == 0:
        # Whatever is wrong with it was seen by the last turn already.
        return False
    ratio = look.small_file_ratio
    return (
        (triggers.commits is not None and since >= triggers.commits)
        or (triggers.delete_files is not None and look.delete_files >= triggers.delete_files)
        or (
            triggers.small_file_ratio is not None
            and ratio is not None
            and ratio > triggers.small_file_ratio
        )
    )
