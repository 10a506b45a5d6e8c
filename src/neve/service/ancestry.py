"""Commits that a job saw on main must still be there when it ends, whoever made them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from neve.model.facts import TableFacts
from neve.planning.operations.intent import is_kept_by_nessie


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
        if is_kept_by_nessie(after.properties):
            return (
                "Nessie shows the newest snapshot alone, and more than one commit came after "
                f"{snapshot_id}: what this job changed cannot be proven."
            )
        if snapshot_id in kept or expired_from is None:
            return f"Snapshot {snapshot_id} is no longer part of the table's history."
    return None


def with_history(before: TableFacts, after: TableFacts) -> TableFacts:
    """The table with what was seen before behind its head, where Nessie does not show it.

    Nessie shows the newest snapshot alone, and names no parent. Its number says how many commits
    came since: only where that is a single one, it was made on what was seen.
    """
    head = after.snapshot(after.snapshot_id)
    if (
        head is None
        or head.parent_id is not None
        or not is_kept_by_nessie(after.properties)
        or before.snapshot_id in (None, head.snapshot_id)
        or after.table_uuid != before.table_uuid
        or after.last_sequence_number != before.last_sequence_number + 1
    ):
        return after
    linked = replace(head, parent_id=before.snapshot_id)
    return replace(after, snapshots=(*before.snapshots, linked))
