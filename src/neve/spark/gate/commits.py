"""What a commit request asks for, as far as its effect can be told from the table afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Json = Mapping[str, Any]

TABLE_COMMIT = re.compile(r"v1/(?:.+/)?namespaces/[^/]+/tables/[^/]+")
TRANSACTION = re.compile(r"(?P<root>v1/(?:.+/)?)transactions/commit")
MAIN = "main"
#: Between the parts of a namespace, as the specification has it.
NAMESPACE_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class TableChange:
    """One table's part of a commit; `path` is where the table is loaded."""

    path: str
    updates: tuple[Json, ...]
    requirements: tuple[Json, ...]
    #: Snapshots that it adds, by id.
    added_snapshots: Mapping[int, Json]
    #: Where it leaves refs, by name.
    moved_refs: Mapping[str, Json]

    @property
    def moves_a_branch_back(self) -> bool:
        """A branch is set to a snapshot that is there already, so commits may fall off it."""
        return any(
            move.get("type") == "branch" and move["snapshot-id"] not in self.added_snapshots
            for move in self.moved_refs.values()
        )

    @property
    def creates_table(self) -> bool:
        return any(r.get("type") == "assert-create" for r in self.requirements)

    @property
    def may_be_sent_again(self) -> bool:
        """Whether the catalog refuses the request once it was applied."""
        if self.creates_table:
            return True
        held = {
            r.get("ref") for r in self.requirements if r.get("type") == "assert-ref-snapshot-id"
        }
        return bool(self.added_snapshots) and bool(self.moved_refs) and held >= {*self.moved_refs}


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit request: of one table, or of several in one transaction."""

    changes: tuple[TableChange, ...]
    is_transaction: bool


def is_commit(method: str, path: str) -> bool:
    path = path.partition("?")[0]
    return method == "POST" and bool(TABLE_COMMIT.fullmatch(path) or TRANSACTION.fullmatch(path))


def read_commit(path: str, body: bytes) -> Commit | None:
    """The request, or None where it is none that is understood."""
    path = path.partition("?")[0]
    transaction = TRANSACTION.fullmatch(path)
    try:
        document = json.loads(body)
        if transaction is None:
            return Commit((_change(path, document),), is_transaction=False)
        changes = [
            _change(_load_path(transaction["root"], change["identifier"]), change)
            for change in document["table-changes"]
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Commit(tuple(changes), is_transaction=True)


def _change(path: str, document: Json) -> TableChange:
    updates = tuple(document["updates"])
    added = [u["snapshot"] for u in updates if u["action"] == "add-snapshot"]
    moves = [u for u in updates if u["action"] == "set-snapshot-ref"]
    return TableChange(
        path,
        updates,
        tuple(document.get("requirements") or ()),
        {snapshot["snapshot-id"]: snapshot for snapshot in added},
        {move["ref-name"]: move for move in moves},
    )


def _load_path(root: str, identifier: Json) -> str:
    namespace = quote(NAMESPACE_SEPARATOR.join(identifier["namespace"]), safe="")
    return f"{root}namespaces/{namespace}/tables/{quote(identifier['name'], safe='')}"


def ancestors(metadata: Json, snapshot_id: object) -> set[int]:
    """The snapshot and all that it builds on, as far as they are kept."""
    snapshots = metadata.get("snapshots") or ()
    parents = {s["snapshot-id"]: s.get("parent-snapshot-id") for s in snapshots}
    found: set[int] = set()
    while isinstance(snapshot_id, int) and snapshot_id in parents and snapshot_id not in found:
        found.add(snapshot_id)
        snapshot_id = parents[snapshot_id]
    return found


def head(metadata: Json, ref: str) -> object:
    """Where a ref points; tables of format 1 may name the current snapshot alone."""
    found = (metadata.get("refs") or {}).get(ref)
    if found is not None:
        return found.get("snapshot-id")
    if ref != MAIN:
        return None
    current = metadata.get("current-snapshot-id")
    # Old writers put -1 for a table without snapshots.
    return None if current == -1 else current
