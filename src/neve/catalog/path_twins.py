"""A table known by its path alone, in the same folder as one that a catalog knows.

Where a table of a Hadoop catalog is registered in another one, and somebody still writes to it by
its path, there are two tables with one folder and one past. Nothing that the registered one knows
leads to what the other has become, but the hint to the version beside its metadata does.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.table import Table

from neve.catalog.checked_avro import Damaged, damage_explained, read_text
from neve.catalog.reachable import VERSION_HINT, hint_folders
from neve.model.errors import TableUnreadable

SUFFIXES = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
#: Longer ones are no versions.
MAX_DIGITS = 9


def path_twin(loaded: Table) -> str | None:
    """Its newest metadata file, where that has a state that the loaded table does not have.

    A hint that has been there since the table was registered leads to old states of it. Once those
    are expired here, their lists are gone, and nobody reads them by the path either.
    """
    own = {snapshot.snapshot_id for snapshot in loaded.metadata.snapshots}
    newest = (_newest(loaded.io, folder) for folder in sorted(hint_folders(loaded)))
    return next((path for path in newest if path and _is_apart(loaded.io, path, own)), None)


def _newest(io: FileIO, folder: str) -> str | None:
    """The metadata file that the hint names; writers by path look for later ones, too."""
    hint = f"{folder}/{VERSION_HINT}"
    if not io.new_input(hint).exists():
        return None
    said = _read(io, hint).strip()
    if not said.isdecimal() or len(said) > MAX_DIGITS:
        return _first_there(io, [f"{folder}/{said}{suffix}" for suffix in ("", *SUFFIXES)])
    version, found = int(said), None
    while path := _first_there(io, [f"{folder}/v{version}{suffix}" for suffix in SUFFIXES]):
        version, found = version + 1, path
    return found


def _first_there(io: FileIO, paths: Iterable[str]) -> str | None:
    return next((path for path in paths if io.new_input(path).exists()), None)


def _is_apart(io: FileIO, path: str, own: Collection[int]) -> bool:
    """Whether one of its heads is no snapshot of the table and still there."""
    try:
        metadata: dict[str, Any] = json.loads(_read(io, path))
        heads = {ref["snapshot-id"] for ref in (metadata.get("refs") or {}).values()}
        heads.add(metadata.get("current-snapshot-id"))
        lists = [
            snapshot.get("manifest-list")
            for snapshot in metadata.get("snapshots") or ()
            if snapshot["snapshot-id"] in heads.difference(own)
        ]
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        raise _unreadable(path, "it is no metadata of Iceberg") from error
    return any(place is None or io.new_input(place).exists() for place in lists)


def _read(io: FileIO, path: str) -> str:
    try:
        with damage_explained():
            return read_text(io, path)
    except Damaged as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: str, why: str) -> TableUnreadable:
    return TableUnreadable(
        f"{path} may be of a table that is known by its path alone, and cannot be read: {why}.",
        next_step=f"Remove {VERSION_HINT} beside it if nobody reads or writes that table by its "
        "path.",
    )
