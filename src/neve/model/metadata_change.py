"""A change of a table's metadata alone: where main points, tags, and which snapshots are listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from neve.model.expiry import TagToSet
from neve.model.table import TableRef

MAIN = "main"
#: Tags under which the state before a job is kept.
UNDO_TAG_PREFIX = "neve-undo-"


@dataclass(frozen=True, slots=True)
class UndoTag:
    """The tag of the state before a job, and until when it is kept."""

    name: str
    until: datetime

    def max_age_ms(self, committed_ms: int) -> int:
        """Iceberg counts a tag's age from its snapshot's commit, which may be long ago."""
        return max(1, int(self.until.timestamp() * 1000) - committed_ms)

    def on(self, snapshot_id: int, committed_at: datetime) -> TagToSet:
        """The tag for this snapshot."""
        age_ms = self.max_age_ms(int(committed_at.timestamp() * 1000))
        return TagToSet(self.name, snapshot_id, age_ms)


@dataclass(frozen=True, slots=True)
class MadeOn:
    """What files were rewritten from: a table, whatever has its name by now, and its state."""

    table_uuid: str
    snapshot_id: int


def another_table(what: str) -> str:
    """Why nothing is committed where the name was given to another table meanwhile."""
    return f"{what} failed: another table has this name by now."


def taken_name(undo: UndoTag) -> str:
    """Why nothing is committed where the state before could not be kept."""
    return f"{undo.name} is a branch, so that the state before cannot be tagged with this name."


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """One commit, and the state of the table that it was judged by."""

    table: TableRef
    table_uuid: str
    #: What it is for, as the beginning of a sentence: `Rolling back table lake.db.events`.
    purpose: str
    #: The snapshot of main that was judged; None for a table that was never written.
    head: int | None
    #: Whether commits on top of that snapshot leave the judgement as it was.
    head_may_advance: bool = False
    #: Other branches and tags that were judged; None is one that must not exist.
    expected_refs: Mapping[str, int | None] = field(default_factory=dict)
    #: Whether the judgement fails with a branch or tag that is not among them.
    knows_all_refs: bool = False
    set_main: int | None = None
    tags: tuple[TagToSet, ...] = ()
    drop_refs: tuple[str, ...] = ()
    remove_snapshots: tuple[int, ...] = ()
