"""Whether a table is still as a change of its metadata was judged by, and who changed it."""

from __future__ import annotations

from collections.abc import Sequence

from neve.model.facts import RefFacts, SnapshotFacts, TableFacts
from neve.model.metadata_change import MAIN, MetadataChange

#: Properties of a snapshot in which engines leave their names.
ENGINE_NAMES = ("engine-name", "trino_query_id")


def why_not(change: MetadataChange, facts: TableFacts) -> str | None:
    """What is different from what was judged, as a sentence that names who came in between."""
    if facts.table_uuid != change.table_uuid:
        return f"Table {change.table} was dropped and made again, or replaced by another table."
    refs = {ref.name: ref for ref in facts.refs if ref.name != MAIN}
    return (
        _main_moved(change, facts)
        or _refs_changed(change, refs)
        or _impossible(change, facts, refs)
    )


def _main_moved(change: MetadataChange, facts: TableFacts) -> str | None:
    if facts.snapshot_id == change.head:
        return None
    later = _since(change.head, facts)
    if later is None:
        return (
            f"Branch main of table {change.table} was moved from snapshot {change.head} "
            f"to {_who(facts.snapshot(facts.snapshot_id), facts.snapshot_id)}."
        )
    if change.head_may_advance:
        return None
    return (
        f"Branch main of table {change.table} was at {change.head}, and "
        f"{_came_between(later, facts.snapshot_id)}."
    )


def who_came_between(before: TableFacts, after: TableFacts, partitions: Sequence[str]) -> str:
    """A sentence about commits of others that took these partitions, empty where none shows."""
    later = [s for s in _since(before.snapshot_id, after) or () if s.job_id is None]
    if not later:
        return ""
    names = list(dict.fromkeys(partitions))
    told = f"partition {names[0]}" if len(names) == 1 else f"{len(names)} partitions"
    others = f", {names[0]} among them" if len(names) > 1 else ""
    sentence = f"{_came_between(later, after.snapshot_id)} and changed {told}{others}."
    return sentence[0].upper() + sentence[1:]


def _came_between(later: Sequence[SnapshotFacts], head: int | None) -> str:
    more = f", the last of {len(later)} commits," if len(later) > 1 else ""
    return f"{_who(later[0], head)}{more} came in between"


def _since(head: int | None, facts: TableFacts) -> list[SnapshotFacts] | None:
    """The commits on top of a snapshot, newest first; None where main does not come from it."""
    ancestry = facts.ancestry()
    if head is None:
        return ancestry
    ids = [snapshot.snapshot_id for snapshot in ancestry]
    return ancestry[: ids.index(head)] if head in ids else None


def _who(snapshot: SnapshotFacts | None, snapshot_id: int | None) -> str:
    """A snapshot with what is known of its writer."""
    if snapshot is None:
        return f"snapshot {snapshot_id}" if snapshot_id is not None else "no snapshot"
    known = [f"{snapshot.operation} at {snapshot.committed_at.isoformat(timespec='seconds')}"]
    known += [f"job {snapshot.job_id}"] if snapshot.job_id else []
    known += [f"{n} {snapshot.summary[n]}" for n in ENGINE_NAMES if n in snapshot.summary]
    return f"snapshot {snapshot.snapshot_id} ({', '.join(known)})"


def _refs_changed(change: MetadataChange, refs: dict[str, RefFacts]) -> str | None:
    for name, expected in change.expected_refs.items():
        ref = refs.get(name)
        if ref is None and expected is not None:
            return f"Branch or tag {name} of table {change.table} was dropped by somebody else."
        if ref is not None and ref.snapshot_id != expected:
            return f"{_ref(ref)} of table {change.table} was made or moved by somebody else."
    if change.knows_all_refs:
        for ref in refs.values():
            if ref.name not in change.expected_refs:
                return f"{_ref(ref)} of table {change.table} was made by somebody else."
    return None


def _ref(ref: RefFacts) -> str:
    return f"{ref.kind.capitalize()} {ref.name} at snapshot {ref.snapshot_id}"


def _impossible(change: MetadataChange, facts: TableFacts, refs: dict[str, RefFacts]) -> str | None:
    """What no catalog may be asked for, whatever was judged."""
    there = {snapshot.snapshot_id for snapshot in facts.snapshots}
    for wanted in (change.set_main, *(tag.snapshot_id for tag in change.tags)):
        if wanted is not None and wanted not in there:
            return f"Snapshot {wanted} of table {change.table} is gone: somebody expired it."
    for tag in change.tags:
        if tag.name == MAIN or (tag.name in refs and refs[tag.name].kind != "tag"):
            return f"{tag.name} is a branch of table {change.table}, so no tag can be called so."
    if MAIN in change.drop_refs:
        return f"Branch main of table {change.table} is never dropped."
    return _still_needed(change, facts, refs)


def _still_needed(
    change: MetadataChange, facts: TableFacts, refs: dict[str, RefFacts]
) -> str | None:
    """Taking a snapshot out would take the branch or tag along that points to it."""
    gone = set(change.remove_snapshots)
    if {facts.snapshot_id, change.set_main} & gone:
        return f"The current snapshot of table {change.table} is never removed."
    moved = {tag.name for tag in change.tags}
    for ref in refs.values():
        if ref.snapshot_id in gone and ref.name not in {*change.drop_refs, *moved}:
            return f"{_ref(ref)} of table {change.table} points to a snapshot that was to go."
    if pointed := gone.intersection(tag.snapshot_id for tag in change.tags):
        return f"Snapshot {min(pointed)} of table {change.table} cannot be tagged and removed."
    return None


def has_landed(change: MetadataChange, judged: TableFacts, facts: TableFacts) -> bool:
    """Whether the table shows the change; asked where the answer to a commit was lost."""
    refs = {ref.name: ref.snapshot_id for ref in facts.refs}
    there = {snapshot.snapshot_id for snapshot in facts.snapshots}
    return (
        facts.table_uuid == change.table_uuid
        and all(refs.get(tag.name) == tag.snapshot_id for tag in change.tags)
        and not any(name in refs for name in change.drop_refs)
        and there.isdisjoint(change.remove_snapshots)
        and (change.set_main is None or _main_was_set(change.set_main, judged, facts))
    )


def _main_was_set(wanted: int, judged: TableFacts, facts: TableFacts) -> bool:
    """Main is at the snapshot, or at commits on top of it that nobody knew before."""
    later = _since(wanted, facts)
    known = {snapshot.snapshot_id for snapshot in judged.snapshots}
    return later is not None and known.isdisjoint(s.snapshot_id for s in later)
