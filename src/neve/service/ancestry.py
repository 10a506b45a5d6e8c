"""Commits that a job saw on main must still be there when it ends, whoever made them."""

from __future__ import annotations

from collections.abc import Iterable

from neve.model.facts import TableFacts


def lost_history(after: TableFacts, seen: Iterable[int | None]) -> str | None:
    """Which of the snapshots that were once on main is not behind it any more.

    A snapshot that somebody expired meanwhile is no loss: its successor still names it, or the
    chain ends before it.
    """
    chain = after.ancestry()
    ids = {snapshot.snapshot_id for snapshot in chain}
    kept = {snapshot.snapshot_id for snapshot in after.snapshots}
    expired_from = chain[-1].parent_id if chain else None
    for snapshot_id in seen:
        if snapshot_id is None or snapshot_id in ids:
            continue
        if snapshot_id in kept or expired_from is None:
            return f"Snapshot {snapshot_id} is no longer part of the table's history."
    return None
