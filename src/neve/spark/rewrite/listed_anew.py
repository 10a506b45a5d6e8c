"""What became of the files that a rewrite removes, since they were read.

Iceberg validates deletes, but finds the files that go by their paths alone: one that was taken out
and added again meanwhile, or a second time, would go with rows that nobody rewrote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from neve.model.errors import CommitConflict
from neve.model.facts import FIRST_WITH_ROW_IDS
from neve.spark.functions import location_of_file
from neve.spark.rewrite.publish import HeadMoved
from neve.spark.tables import iceberg

#: What one snapshot may have added and removed to be read into the JVM's memory.
MAX_FILES = 50_000


@dataclass(slots=True)
class RemovedFiles:
    """Files that a rewrite removes: a Java set, read at the snapshot `since_id`."""

    session: SparkSession
    loaded: Any
    what: str
    since_id: int
    files: Any
    #: Whether rows of them had no ids yet when they were read.
    are_unnumbered: bool
    #: Snapshots that did nothing to them; a second try need not read them again.
    harmless: set[int] = field(default_factory=set)
    #: Where the files are; known once somebody committed meanwhile.
    _own: Any = field(default=None, init=False)

    def refuse_if_listed_anew(self, base: Any, snapshot: Any) -> None:
        head = base.currentSnapshot()
        if head is None or snapshot.parentId() != head.snapshotId():
            raise HeadMoved(f"{self.what} failed: the head of the table has moved.")
        current = head.snapshotId()
        self._refuse_if_numbered(base, current)
        while current != self.since_id:
            found = base.snapshot(current) if current is not None else None
            if found is None:
                raise self._conflict(f"its history since snapshot {self.since_id} is not known")
            if current not in self.harmless:
                self._look_at(found)
                self.harmless.add(current)
            current = found.parentId()
        self._refuse_if_listed_twice(snapshot.summary())

    def _refuse_if_numbered(self, base: Any, head_id: int) -> None:
        """The first commit of a format with row ids gives them to all rows that are there."""
        has_ids = base.formatVersion() >= FIRST_WITH_ROW_IDS
        if self.are_unnumbered and has_ids and head_id != self.since_id:
            raise self._conflict("rows were given ids that the new files do not have")

    def _look_at(self, snapshot: Any) -> None:
        told = snapshot.summary()
        counts = [int(told.get(f"{key}-data-files") or 0) for key in ("added", "deleted")]
        only_adds = snapshot.operation() == "append"
        if sum(counts) > MAX_FILES:
            if only_adds:
                # It removed nothing; the rest shows in our own summary, and in the proof.
                return
            raise self._conflict(f"snapshot {snapshot.snapshotId()} changed {sum(counts)} files")
        io, by = self.loaded.io(), f"by snapshot {snapshot.snapshotId()}"
        # A commit that knows where its files are listed leaves a second entry of one standing.
        self._refuse_any(snapshot.addedDataFiles(io), f"was added a second time {by}")
        if not only_adds:
            self._refuse_any(snapshot.removedDataFiles(io), f"was removed {by}, and added again")

    def _refuse_any(self, changed: Any, what_happened: str) -> None:
        if self._own is None:
            self._own = self._paths(self.files)
        ours = self._paths(changed)
        ours.retainAll(self._own)
        if not ours.isEmpty():
            raise self._conflict(f"{ours.iterator().next()} {what_happened}")

    def _paths(self, files: Any) -> Any:
        """A Java set that the caller may change."""
        collect = iceberg(self.session).relocated.com.google.common.collect
        located = collect.Iterables.transform(files, location_of_file(self.session))
        return collect.Sets.newHashSet(located)

    def _refuse_if_listed_twice(self, summary: Any) -> None:
        removed = int(summary.get("deleted-data-files") or 0)
        twice = int(summary.get("deleted-duplicate-files") or 0)
        if removed != self.files.size() or twice:
            raise self._conflict("a file that it replaces is listed twice")

    def _conflict(self, why: str) -> CommitConflict:
        return CommitConflict(
            f"{self.what} failed: {why}.", next_step="Run the command again: it plans again."
        )
