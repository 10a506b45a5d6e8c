"""A change of a table's metadata alone: where main points, tags, and which snapshots are listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neve.model.expiry import TagToSet
from neve.model.table import TableRef

MAIN = "main"
#: Tags under which the state before a job is kept.
UNDO_TAG_PREFIX = "neve-undo-"


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
