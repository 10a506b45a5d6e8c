"""Whether a commit was applied, told by the table's metadata as it is now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from neve.spark.gate.commits import Json, TableChange, ancestors, head


class Effect(StrEnum):
    """What the table shows of a commit."""

    LANDED = "landed"
    ABSENT = "absent"
    UNCLEAR = "unclear"


def effect_of(change: TableChange, metadata: Json | None) -> Effect:
    """What is to be seen of the change; no metadata means that there is no such table."""
    if metadata is None:
        return Effect.ABSENT
    if change.added_snapshots:
        return _effect_on_snapshots(change, metadata)
    uuid = next((u["uuid"] for u in change.updates if u.get("action") == "assign-uuid"), None)
    if change.creates_table and uuid is not None:
        return Effect.LANDED if metadata.get("table-uuid") == uuid else Effect.ABSENT
    seen = [_is_seen(update, metadata) for update in change.updates]
    if None in seen or not seen:
        return Effect.UNCLEAR
    return Effect.LANDED if all(seen) else Effect.ABSENT


def _effect_on_snapshots(change: TableChange, metadata: Json) -> Effect:
    """A snapshot's id is made for one commit: where it is, all of that commit is."""
    kept = {snapshot["snapshot-id"] for snapshot in metadata.get("snapshots") or ()}
    added = change.added_snapshots.keys()
    if not added & kept:
        return Effect.ABSENT
    if not added <= kept:
        return Effect.UNCLEAR
    for ref, move in change.moved_refs.items():
        # Others may have committed on top; off the branch, somebody has moved it since.
        if move["snapshot-id"] not in ancestors(metadata, head(metadata, ref)):
            return Effect.UNCLEAR
    return Effect.LANDED


def _is_seen(update: Json, metadata: Json) -> bool | None:
    """Whether the table shows an update's effect; None where that cannot be told."""
    look = _LOOKS.get(str(update.get("action")))
    return None if look is None else look(update, metadata)


def _ref_is_set(update: Json, metadata: Json) -> bool:
    ref = (metadata.get("refs") or {}).get(update["ref-name"])
    limits = ("max-ref-age-ms", "max-snapshot-age-ms", "min-snapshots-to-keep")
    wanted = ("snapshot-id", "type", *limits)
    return ref is not None and all(ref.get(key) == update.get(key) for key in wanted)


def _values(metadata: Json, key: str, field: str) -> set[Any]:
    return {item[field] for item in metadata.get(key) or ()}


def _has_statistics(update: Json, metadata: Json, key: str) -> bool:
    kind = "partition-statistics" if key == "partition-statistics" else "statistics"
    wanted = update[kind]
    found: Iterable[Json] = metadata.get(key) or ()
    fields = ("snapshot-id", "statistics-path")
    return any(all(item[field] == wanted[field] for field in fields) for item in found)


_LOOKS: dict[str, Callable[[Json, Json], bool]] = {
    "set-properties": lambda u, m: (m.get("properties") or {}).items() >= u["updates"].items(),
    "remove-properties": lambda u, m: not (m.get("properties") or {}).keys() & {*u["removals"]},
    "set-snapshot-ref": _ref_is_set,
    "remove-snapshot-ref": lambda u, m: u["ref-name"] not in (m.get("refs") or {}),
    "remove-snapshots": lambda u, m: (
        not _values(m, "snapshots", "snapshot-id") & {*u["snapshot-ids"]}
    ),
    "set-statistics": lambda u, m: _has_statistics(u, m, "statistics"),
    "remove-statistics": lambda u, m: (
        u["snapshot-id"] not in _values(m, "statistics", "snapshot-id")
    ),
    "set-partition-statistics": lambda u, m: _has_statistics(u, m, "partition-statistics"),
    "remove-partition-statistics": lambda u, m: (
        u["snapshot-id"] not in _values(m, "partition-statistics", "snapshot-id")
    ),
    "set-location": lambda u, m: bool(m.get("location") == u["location"]),
    "upgrade-format-version": lambda u, m: bool(m["format-version"] >= u["format-version"]),
    "assign-uuid": lambda u, m: bool(m.get("table-uuid") == u["uuid"]),
}

_ASSERTED_FIELDS = {
    "assert-table-uuid": ("uuid", "table-uuid"),
    "assert-last-assigned-field-id": ("last-assigned-field-id", "last-column-id"),
    "assert-current-schema-id": ("current-schema-id", "current-schema-id"),
    "assert-last-assigned-partition-id": ("last-assigned-partition-id", "last-partition-id"),
    "assert-default-spec-id": ("default-spec-id", "default-spec-id"),
    "assert-default-sort-order-id": ("default-sort-order-id", "default-sort-order-id"),
}


def is_overtaken(change: TableChange, metadata: Json | None) -> bool:
    """Whether the table has moved on, so that the change can neither be in it nor come any more."""
    if metadata is None:
        return False
    if any(_is_broken(requirement, metadata) for requirement in change.requirements):
        return True
    return any(_is_outdated(s, metadata) for s in change.added_snapshots.values())


def _is_broken(requirement: Json, metadata: Json) -> bool:
    kind = str(requirement.get("type"))
    if kind == "assert-create":
        return True
    if kind == "assert-ref-snapshot-id":
        return head(metadata, requirement["ref"]) != requirement.get("snapshot-id")
    if kind in _ASSERTED_FIELDS:
        asserted, held = _ASSERTED_FIELDS[kind]
        return bool(metadata.get(held) != requirement.get(asserted))
    return False


def _is_outdated(snapshot: Json, metadata: Json) -> bool:
    """Commits to other branches take sequence numbers and row ids, too."""
    sequence_number = snapshot.get("sequence-number") or 0
    first_row_id = snapshot.get("first-row-id")
    if 0 < sequence_number <= (metadata.get("last-sequence-number") or 0):
        return True
    return first_row_id is not None and first_row_id < (metadata.get("next-row-id") or 0)
