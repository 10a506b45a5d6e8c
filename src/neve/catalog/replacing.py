"""Data files replaced by others without a JVM, for tables in which no row is deleted by a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.table.update.snapshot import _OverwriteFiles

from neve.catalog.errors import table_errors
from neve.catalog.sending import load, send
from neve.model.errors import CommitConflict, ExecutionError
from neve.model.metadata_change import MadeOn, UndoTag, another_table, taken_name
from neve.model.rewrite import FileDetails
from neve.model.table import TableRef
from neve.retries import RetryPolicy, Sleep, retrying

POLICY = RetryPolicy(attempts=5, first_pause_seconds=0.05, max_pause_seconds=1.0)


class _ReplaceFiles(_OverwriteFiles):
    """pyiceberg knows no replacing: as overwriting, but told as what it is."""

    def _build_manifest_evaluator(self, spec_id: int) -> Callable[[ManifestFile], bool]:
        # Every manifest is read: one that was passed over would keep a file that is replaced.
        return lambda manifest: True

    def _summary(self, snapshot_properties: Any = None) -> Summary:
        summary = super()._summary(snapshot_properties or {})
        return Summary(Operation.REPLACE, **summary.additional_properties)


def replace_files(
    ref: TableRef,
    catalog: Catalog,
    made_on: MadeOn,
    removed: Sequence[FileDetails],
    added: Sequence[FileDetails],
    properties: Mapping[str, str],
    undo: UndoTag | None = None,
    *,
    on_this_head: bool = False,
    sleep: Sleep = time.sleep,
) -> None:
    """Replace files on the head that is there, if all of them are in it and no delete file is.

    The state before is tagged by the same commit.

    With `on_this_head` on no other one than files were rewritten from.
    """
    retrying(
        partial(
            _replace_once, ref, catalog, made_on, removed, added, properties, undo, on_this_head
        ),
        on=lambda error: isinstance(error, _HeadMoved),
        policy=POLICY,
        sleep=sleep,
    )


class _HeadMoved(CommitConflict):
    """Somebody committed at the same moment: the files may still be replaced."""


def _replace_once(
    ref: TableRef,
    catalog: Catalog,
    made_on: MadeOn,
    removed: Sequence[FileDetails],
    added: Sequence[FileDetails],
    properties: Mapping[str, str],
    undo: UndoTag | None,
    on_this_head: bool,
) -> None:
    judged = load(ref, catalog)
    found = judged.metadata.current_snapshot_id
    if str(judged.metadata.table_uuid) != made_on.table_uuid:
        raise CommitConflict(another_table(f"Committing to table {ref}"))
    if on_this_head and found != made_on.snapshot_id:
        raise CommitConflict(f"Table {ref} has another head by now: snapshot {found}.")
    with table_errors(ref):
        entries = _live_files(ref, judged)
    meanwhile = _snapshots_since(ref, judged, made_on.snapshot_id)
    for file in removed:
        _refuse_if_touched(ref, file.path, entries.get(file.path), meanwhile)
    live = {file.path: entries[file.path].data_file for file in removed}
    transaction = judged.transaction()
    producer = _ReplaceFiles(
        operation=Operation.OVERWRITE,
        transaction=transaction,
        io=judged.io,
        snapshot_properties=dict(properties),
    )
    partitions = {(file.spec_id, file.partition): live[file.path] for file in removed}
    for file in removed:
        producer.delete_data_file(live[file.path])
    for file in added:
        like = partitions[file.spec_id, file.partition]
        producer.append_data_file(_data_file(file, like))
    try:
        send(ref, catalog, judged, producer, *(_tagged(judged, undo) if undo else ()))
    except CommitConflict as error:
        raise _HeadMoved(error.message, next_step=error.next_step) from error


def _tagged(judged: Table, undo: UndoTag) -> tuple[list[TableUpdate], list[TableRequirement]]:
    """The tag on the state before; where the job has one already, it stays where it is."""
    earlier = judged.metadata.refs.get(undo.name)
    if earlier is not None and earlier.snapshot_ref_type == SnapshotRefType.BRANCH:
        raise ExecutionError(taken_name(undo))
    current = judged.current_snapshot()
    kept = current if earlier is None else judged.snapshot_by_id(earlier.snapshot_id)
    assert kept is not None
    tag = {
        "ref-name": undo.name,
        "type": "tag",
        "snapshot-id": kept.snapshot_id,
        "max-ref-age-ms": undo.max_age_ms(kept.timestamp_ms),
    }
    seen = {"ref": undo.name, "snapshot-id": earlier.snapshot_id if earlier else None}
    return [SetSnapshotRefUpdate.model_validate(tag)], [AssertRefSnapshotId.model_validate(seen)]


def _snapshots_since(ref: TableRef, judged: Table, base_id: int) -> frozenset[int]:
    """What was committed since files were read, and is part of the head."""
    metadata, found = judged.metadata, set[int]()
    following = metadata.current_snapshot_id
    while following != base_id:
        snapshot = None if following is None else metadata.snapshot_by_id(following)
        if snapshot is None:
            raise CommitConflict(f"The history of table {ref} since snapshot {base_id} is gone.")
        found.add(snapshot.snapshot_id)
        following = snapshot.parent_snapshot_id
    return frozenset(found)


def _refuse_if_touched(
    ref: TableRef, path: str, entry: ManifestEntry | None, meanwhile: frozenset[int]
) -> None:
    """A path may be taken out and added again meanwhile, with other rows behind it."""
    if entry is None:
        raise CommitConflict(f"{path} is not a data file of table {ref} any more.")
    if entry.snapshot_id in meanwhile:
        raise CommitConflict(f"{path} of table {ref} was added again meanwhile.")


def _live_files(ref: TableRef, judged: Table) -> dict[str, ManifestEntry]:
    """Entries of the head's data files; a delete file among them is another's to follow."""
    snapshot = judged.current_snapshot()
    if snapshot is None:
        raise CommitConflict(f"Table {ref} has no snapshot any more.")
    found: dict[str, ManifestEntry] = {}
    for manifest in snapshot.manifests(judged.io):
        if manifest.content == ManifestContent.DELETES:
            raise CommitConflict(f"Rows of table {ref} were deleted by files meanwhile.")
        entries = manifest.fetch_manifest_entry(judged.io, discard_deleted=True)
        _refuse_if_cut(ref, manifest, len(entries))
        for entry in entries:
            if entry.data_file.file_path in found:
                raise CommitConflict(f"{entry.data_file.file_path} is listed twice.")
            found[entry.data_file.file_path] = entry
    return found


def _refuse_if_cut(ref: TableRef, manifest: ManifestFile, entries: int) -> None:
    """pyiceberg takes a block without records for the end, and would write the manifest so anew."""
    counts = (manifest.added_files_count, manifest.existing_files_count)
    if None in counts or sum(count or 0 for count in counts) != entries:
        raise ExecutionError(
            f"{manifest.manifest_path} of table {ref} cannot be read as a whole here.",
            next_step="Set database.service_url to a Neve server, whose workers have Spark.",
        )


def _data_file(file: FileDetails, like: DataFile) -> DataFile:
    """A new file in the partition of one that it replaces."""
    metrics = file.metrics
    made = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=file.path,
        file_format=FileFormat.PARQUET,
        partition=like.partition,
        record_count=file.record_count,
        file_size_in_bytes=file.size_bytes,
        column_sizes=_plain(metrics.column_sizes),
        value_counts=_plain(metrics.value_counts),
        null_value_counts=_plain(metrics.null_value_counts),
        nan_value_counts=_plain(metrics.nan_value_counts),
        lower_bounds=_plain(metrics.lower_bounds),
        upper_bounds=_plain(metrics.upper_bounds),
        key_metadata=None,
        split_offsets=list(file.split_offsets) if file.split_offsets else None,
        equality_ids=None,
        sort_order_id=file.sort_order_id,
    )
    made.spec_id = file.spec_id
    return made


def _plain(values: Mapping[int, Any] | None) -> dict[int, Any] | None:
    return dict(values) if values else None
