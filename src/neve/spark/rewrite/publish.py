"""One commit of a rewrite: the new snapshot, main, and the tag of the state before, all or nothing.

Iceberg's own `commit` makes a snapshot, swaps the metadata, and deletes what it wrote after an
error that it takes for final. Here its parts are called by themselves, and nothing is deleted.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from neve.model.errors import CommitConflict, ExecutionError
from neve.model.metadata_change import MAIN, UndoTag, taken_name
from neve.retries import retrying
from neve.spark.retries import POLICY
from neve.spark.tables import iceberg

RACED = "CommitFailedException"


def publish(session: SparkSession, loaded: Any, rewrite: Any, undo: UndoTag | None) -> None:
    """Commit on whatever head the rewrite is valid for; where somebody was faster, again."""
    operations = loaded.operations()
    tried: list[int] = []

    def attempt() -> None:
        if tried and operations.refresh().snapshot(tried[-1]) is not None:
            # The answer was wrong: it is there.
            return
        snapshot = rewrite.apply()
        tried.append(snapshot.snapshotId())
        _swap(session, operations, snapshot, undo)

    retrying(attempt, on=_is_raced, policy=POLICY)


def publish_on(
    session: SparkSession,
    loaded: Any,
    rewrite: Any,
    head_id: int,
    undo: UndoTag | None,
    what: str,
) -> None:
    """Commit on exactly this head, once, or raise CommitConflict."""
    snapshot = rewrite.apply()
    if snapshot.parentId() != head_id:
        raise CommitConflict(
            f"{what} failed: its head is no longer snapshot {head_id}.",
            next_step="Run the command again: it plans again.",
        )
    _swap(session, loaded.operations(), snapshot, undo)


def _swap(session: SparkSession, operations: Any, snapshot: Any, undo: UndoTag | None) -> None:
    """Compare and set: the metadata that the snapshot was made on, for that with it."""
    package, base = iceberg(session), operations.current()
    before = base.currentSnapshot()
    if before.snapshotId() != snapshot.parentId():
        raise CommitConflict(f"Snapshot {snapshot.snapshotId()} was made on another head.")
    update = package.TableMetadata.buildFrom(base).setBranchSnapshot(snapshot, MAIN)
    if undo is not None:
        update = _with_tag(package, update, base, undo)
    operations.commit(base, update.build())


def _with_tag(package: Any, update: Any, base: Any, undo: UndoTag) -> Any:
    """The tag on the state before; where the job has one already, it stays where it is."""
    earlier = base.ref(undo.name)
    if earlier is not None and earlier.isBranch():
        raise ExecutionError(taken_name(undo))
    kept = base.currentSnapshot() if earlier is None else base.snapshot(earlier.snapshotId())
    age_ms = undo.max_age_ms(kept.timestampMillis())
    tag = package.SnapshotRef.tagBuilder(kept.snapshotId()).maxRefAgeMs(age_ms).build()
    return update.setRef(undo.name, tag)


def _is_raced(error: Exception) -> bool:
    return isinstance(error, Py4JJavaError) and bool(
        error.java_exception.getClass().getSimpleName() == RACED
    )
