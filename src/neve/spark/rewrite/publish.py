"""One commit of a rewrite: the new snapshot, main, and the tag of the state before, all or nothing.

Iceberg's own `commit` makes a snapshot, tries again on whatever head it finds, and deletes what it
wrote after an error that it takes for final. Here its parts are called by themselves: the snapshot
is made, what it was made on is judged, and the metadata is swapped, by the table's own operations,
which refuse another base. Nothing is cleaned up when that fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from neve.model.errors import CommitConflict, ExecutionError
from neve.model.metadata_change import MAIN, MadeOn, UndoTag, another_table, taken_name
from neve.retries import retrying
from neve.spark.errors import engine_errors
from neve.spark.retries import POLICY
from neve.spark.tables import iceberg

#: Takes the table's metadata and the snapshot that was made on it, and raises where it may not be.
Judge = Callable[[Any, Any], None]


class HeadMoved(CommitConflict):
    """Somebody committed between the look at the head and the swap; nothing changed."""


def publish(
    session: SparkSession,
    loaded: Any,
    rewrite: Any,
    made_on: MadeOn,
    undo: UndoTag | None,
    what: str,
    judge: Judge,
) -> None:
    """Commit on whatever head the judge allows; where somebody was faster, again."""
    operations = loaded.operations()
    tried: list[int] = []

    def attempt() -> None:
        with engine_errors(what):
            if tried and operations.refresh().snapshot(tried[-1]) is not None:
                # The answer was wrong: it is there.
                return
        _swap(session, operations, rewrite, made_on, undo, what, judge, tried)

    retrying(attempt, on=lambda error: isinstance(error, HeadMoved), policy=POLICY)


def publish_on(
    session: SparkSession,
    loaded: Any,
    rewrite: Any,
    made_on: MadeOn,
    undo: UndoTag | None,
    what: str,
) -> None:
    """Commit on exactly this head, once, or raise CommitConflict."""
    head_id = made_on.snapshot_id

    def refuse_another_head(base: Any, snapshot: Any) -> None:
        if snapshot.parentId() != head_id or base.currentSnapshot().snapshotId() != head_id:
            raise CommitConflict(
                f"{what} failed: its head is no longer snapshot {head_id}.",
                next_step="Run the command again: it plans again.",
            )

    _swap(session, loaded.operations(), rewrite, made_on, undo, what, refuse_another_head, [])


def _swap(
    session: SparkSession,
    operations: Any,
    rewrite: Any,
    made_on: MadeOn,
    undo: UndoTag | None,
    what: str,
    judge: Judge,
    tried: list[int],
) -> None:
    """Compare and set: the metadata that the snapshot was made on, for that with it."""
    with engine_errors(what):
        snapshot = rewrite.apply()
        package, base = iceberg(session), operations.current()
        if base.uuid() not in (None, made_on.table_uuid):
            raise CommitConflict(another_table(what))
        judge(base, snapshot)
        update = package.TableMetadata.buildFrom(base).setBranchSnapshot(snapshot, MAIN)
        if undo is not None:
            update = _with_tag(package, update, base, undo)
        new = update.build()
        tried.append(snapshot.snapshotId())
    try:
        with engine_errors(what):
            operations.commit(base, new)
    except CommitConflict as conflict:
        raise HeadMoved(conflict.message, next_step=conflict.next_step) from conflict


def _with_tag(package: Any, update: Any, base: Any, undo: UndoTag) -> Any:
    """The tag on the state before; where the job has one already, it stays where it is."""
    earlier = base.ref(undo.name)
    if earlier is not None and earlier.isBranch():
        raise ExecutionError(taken_name(undo))
    kept = base.currentSnapshot() if earlier is None else base.snapshot(earlier.snapshotId())
    age_ms = undo.max_age_ms(kept.timestampMillis())
    tag = package.SnapshotRef.tagBuilder(kept.snapshotId()).maxRefAgeMs(age_ms).build()
    return update.setRef(undo.name, tag)
