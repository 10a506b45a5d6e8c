"""Snapshots, refs and sequence numbers, judged by the metadata file and the manifest lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from neve.model.diagnosis import IntegrityFinding, Severity
from neve.model.integrity import SnapshotRecord, TableIntegrity
from neve.planning.diagnosis.findings import found, heads, newest_whole
from neve.planning.diagnosis.statements import set_current_snapshot

MAIN = "main"


def judge_metadata(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    yield from _unreachable(facts)
    yield from _refs(facts)
    yield from _ids(facts)
    yield from _sequence_numbers(facts)
    known = {snapshot.snapshot_id for snapshot in facts.snapshots}
    yield from found(
        "parent_gone",
        Severity.INFORMATION,
        "Snapshots whose parent is no longer kept, as expiring leaves them.",
        [
            f"snapshot {s.snapshot_id}: parent {s.parent_id}"
            for s in facts.snapshots
            if s.parent_id is not None and s.parent_id not in known
        ],
    )


def _unreachable(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    named = {snapshot.snapshot_id for snapshot in heads(facts)}
    broken = [snapshot for snapshot in facts.snapshots if snapshot.problem]
    current = [s for s in broken if s.snapshot_id == facts.current_snapshot_id]
    yield from found(
        "current_snapshot_unreadable",
        Severity.ERROR,
        "The manifest list of the current snapshot cannot be read, so the table cannot be read.",
        [_unreadable(snapshot) for snapshot in current],
        _way_back(facts),
    )
    others = [snapshot for snapshot in broken if snapshot not in current]
    yield from found(
        "snapshot_unreadable",
        Severity.ERROR,
        "Manifest lists of older snapshots, branches or tags cannot be read: travelling there, "
        "expiring snapshots and removing orphan files fail.",
        [
            _unreadable(snapshot) + (" (a branch or tag)" if snapshot.snapshot_id in named else "")
            for snapshot in others
        ],
        "Bring the files back from a backup or from the storage's own versions. If they are lost, "
        "drop those snapshots from the log without touching files, with pyiceberg: "
        "table.maintenance.expire_snapshots().by_ids("
        f"{[s.snapshot_id for s in others[:10]]}).commit()",
    )


def _unreadable(snapshot: SnapshotRecord) -> str:
    return f"snapshot {snapshot.snapshot_id}: {snapshot.manifest_list}: {snapshot.problem}"


def _way_back(facts: TableIntegrity) -> str:
    restore = "Bring the file back from a backup or from the storage's own versions."
    whole = newest_whole(facts, ())
    if whole is None:
        return f"{restore} No earlier snapshot is whole."
    return (
        f"{restore} If it is lost, snapshot {whole.snapshot_id} of {_time(whole)} is the newest "
        "that is whole; rows written since are then not in the table: "
        f"{set_current_snapshot(facts.table, whole.snapshot_id)}"
    )


def _time(snapshot: SnapshotRecord) -> str:
    return f"{snapshot.committed_at:%Y-%m-%d %H:%M:%S}" if snapshot.committed_at else "no time"


def _refs(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    known = {snapshot.snapshot_id for snapshot in facts.snapshots}
    lost = [
        f"{ref.kind} {ref.name}: snapshot {ref.snapshot_id}"
        for ref in facts.refs
        if ref.snapshot_id not in known
    ]
    if facts.current_snapshot_id is not None and facts.current_snapshot_id not in known:
        lost.append(f"current-snapshot-id: snapshot {facts.current_snapshot_id}")
    yield from found(
        "ref_to_unknown_snapshot",
        Severity.ERROR,
        "Branches or tags name snapshots that the table does not keep; Iceberg refuses to load it.",
        lost,
        "Register an earlier metadata file, see the way back below.",
    )
    main = next((ref for ref in facts.refs if ref.name == MAIN), None)
    yield from found(
        "main_is_not_current",
        Severity.ERROR,
        "The branch main and current-snapshot-id name different snapshots.",
        [f"main: {main.snapshot_id}, current-snapshot-id: {facts.current_snapshot_id}"]
        if main and main.snapshot_id != facts.current_snapshot_id
        else [],
        "Register an earlier metadata file, see the way back below.",
    )


def _ids(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    counts = Counter(snapshot.snapshot_id for snapshot in facts.snapshots)
    yield from found(
        "snapshot_id_twice",
        Severity.ERROR,
        "Two snapshots have the same id.",
        [f"snapshot {snapshot_id}" for snapshot_id, count in counts.items() if count > 1],
        "Register an earlier metadata file that has each of them once.",
    )


def _sequence_numbers(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    """Version 1 has none. A child is younger than its parent, a manifest not than its snapshot."""
    if facts.format_version < 2:
        return
    by_id = {snapshot.snapshot_id: snapshot for snapshot in facts.snapshots}
    wrong: list[str] = []
    for snapshot in facts.snapshots:
        own = snapshot.sequence_number
        name = f"snapshot {snapshot.snapshot_id} has sequence number {own}"
        if own > facts.last_sequence_number:
            wrong.append(f"{name}, and the table's last is {facts.last_sequence_number}")
        parent = by_id.get(snapshot.parent_id) if snapshot.parent_id is not None else None
        # Snapshots of a table that was upgraded from version 1 all have 0.
        if parent and own and own <= parent.sequence_number:
            wrong.append(f"{name}, its parent {parent.sequence_number}")
        wrong += [
            f"{name}, its manifest {line.path} {line.sequence_number}"
            for line in snapshot.manifests
            if line.sequence_number > own
        ]
    yield from found(
        "sequence_numbers_out_of_order",
        Severity.ERROR,
        "Sequence numbers are out of order, so deletes may act on the wrong files.",
        wrong,
        "Do not write to the table; go back to a snapshot before the first of these.",
    )
