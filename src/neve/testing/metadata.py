"""Changes of metadata alone, on the table in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from neve.model.errors import CommitConflict
from neve.model.facts import TableFacts
from neve.model.metadata_change import MetadataChange
from neve.planning.metadata_changes import why_not

if TYPE_CHECKING:
    from neve.testing.lake import MemoryLake


class MemoryMetadata:
    """Commits as a catalog would; `before_commit` lets other writers in, or raises."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake
        self.changes: list[MetadataChange] = []
        self.before_commit: Callable[[], None] = lambda: None
        self.after_commit: Callable[[], None] = lambda: None

    def commit(
        self, change: MetadataChange, still_held: Callable[[], None] | None = None
    ) -> TableFacts:
        self.before_commit()
        if still_held is not None:
            still_held()
        lake = self._lake
        lake.loads += 1
        if reason := why_not(change, lake.facts):
            raise CommitConflict(reason)
        present = {ref.name for ref in lake.facts.refs}
        for name in present & {*change.drop_refs, *(tag.name for tag in change.tags)}:
            lake.remove_tag(change.table, name)
        for tag in change.tags:
            lake.create_tag(change.table, tag.snapshot_id, tag.name, tag.max_age_ms)
        if change.set_main is not None:
            lake.roll_back(change.table, change.set_main)
        kept = (s for s in lake.facts.snapshots if s.snapshot_id not in change.remove_snapshots)
        lake.facts = replace(lake.facts, snapshots=tuple(kept))
        self.changes.append(change)
        self.after_commit()
        return lake.facts
