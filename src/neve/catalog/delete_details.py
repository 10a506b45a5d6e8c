"""What manifests say about chosen delete files, for reading them without an engine."""

from __future__ import annotations

from collections.abc import Collection

from pyiceberg.table import Table

from neve.catalog.delete_entries import read_delete_entries
from neve.catalog.manifests import CONTENT_POSITION_DELETES, single_path
from neve.model.facts import DeleteKind
from neve.model.rebase import DeleteEntry
from neve.model.rewrite import DeleteDetails

#: A delete: its file, and the data file that it speaks of, where one file holds several vectors.
DeleteKey = tuple[str, str | None]


def read_delete_details(
    loaded: Table, snapshot_id: int, wanted: Collection[DeleteKey]
) -> list[DeleteDetails]:
    """The details of those deletes, which the snapshot holds."""
    keys = set(wanted)
    if not keys:
        return []
    found = read_delete_entries(loaded, snapshot_id, {path for path, _ in keys})
    details = (_details(entry) for entry in found)
    return [delete for delete in details if (delete.path, delete.referenced_path) in keys]


def _details(entry: DeleteEntry) -> DeleteDetails:
    return DeleteDetails(
        path=entry.path,
        kind=entry.kind,
        format=entry.format.lower(),
        size_bytes=entry.size_bytes,
        record_count=entry.record_count,
        data_sequence_number=entry.data_sequence_number or 0,
        referenced_path=entry.referenced_path or _only_path(entry),
        equality_ids=entry.equality_ids,
        content_offset=entry.content_offset,
        content_size_bytes=entry.content_size_bytes,
        metrics=entry.metrics,
    )


def _only_path(entry: DeleteEntry) -> str | None:
    """The data file of position deletes whose bounds name a single one."""
    if entry.kind is DeleteKind.EQUALITY:
        return None
    metrics = entry.metrics
    return single_path(CONTENT_POSITION_DELETES, metrics.lower_bounds, metrics.upper_bounds)
