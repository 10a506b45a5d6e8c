"""Commits to REST catalogs: updates that the server applies where every requirement holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePartitionStatisticsUpdate,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    RemoveStatisticsUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from neve.catalog.checked_avro import Damaged, damage_explained, read_metadata
from neve.catalog.recent import with_metadata
from neve.model.errors import RefLost
from neve.model.metadata_change import MAIN, MetadataChange


def commit_rest(
    catalog: Catalog, judged: Table, change: MetadataChange, still_held: Callable[[], None]
) -> Table:
    """One request. pyiceberg would send it again after an answer about credentials."""
    send = inspect.unwrap(type(catalog).commit_table)
    asserted, wanted = requirements(change, judged.metadata), updates(change, judged.metadata)
    still_held()
    answer = send(catalog, judged, asserted, wanted)
    return with_metadata(judged, answer.metadata, answer.metadata_location)


def requirements(change: MetadataChange, judged: TableMetadata) -> tuple[TableRequirement, ...]:
    """The table and everything in it that the change was judged by."""
    main = judged.refs.get(MAIN)
    expected = {MAIN: main.snapshot_id if main else None, **change.expected_refs}
    return (
        AssertTableUUID(uuid=judged.table_uuid),
        *(
            AssertRefSnapshotId.model_validate({"ref": n, "snapshot-id": s})
            for n, s in expected.items()
        ),
    )


def updates(change: MetadataChange, judged: TableMetadata) -> tuple[TableUpdate, ...]:
    return tuple(_updates(change, judged))


def _updates(change: MetadataChange, judged: TableMetadata) -> Iterator[TableUpdate]:
    for tag in change.tags:
        yield SetSnapshotRefUpdate.model_validate(
            {
                "ref-name": tag.name,
                "type": "tag",
                "snapshot-id": tag.snapshot_id,
                "max-ref-age-ms": tag.max_age_ms,
            }
        )
    if change.set_main is not None:
        yield _set_main(change.set_main, judged)
    for name in change.drop_refs:
        yield RemoveSnapshotRefUpdate.model_validate({"ref-name": name})
    if change.remove_snapshots:
        yield RemoveSnapshotsUpdate.model_validate({"snapshot-ids": list(change.remove_snapshots)})
        yield from _without_statistics(set(change.remove_snapshots), judged)


def _set_main(snapshot_id: int, judged: TableMetadata) -> SetSnapshotRefUpdate:
    """What main asks expiry to keep stays as it is."""
    main = judged.refs.get(MAIN)
    settings = main.model_dump(by_alias=True, exclude_none=True) if main else {"type": "branch"}
    return SetSnapshotRefUpdate.model_validate(
        {**settings, "ref-name": MAIN, "snapshot-id": snapshot_id}
    )


def _without_statistics(gone: set[int], judged: TableMetadata) -> Iterator[TableUpdate]:
    for table_file in judged.statistics:
        if table_file.snapshot_id in gone:
            yield RemoveStatisticsUpdate.model_validate({"snapshot-id": table_file.snapshot_id})
    for file in judged.partition_statistics:
        if file.snapshot_id in gone:
            yield RemovePartitionStatisticsUpdate.model_validate({"snapshot-id": file.snapshot_id})


def refuse_lost_refs(judged: Table, after: TableMetadata, change: MetadataChange) -> None:
    """No requirement says that there is no further ref, and servers drop one with its snapshot.

    Such a ref can only have come with a commit between the judged metadata and the removal, and
    the metadata log names the files of such commits.
    """
    known = {entry.metadata_file for entry in judged.metadata.metadata_log}
    known.add(judged.metadata_location)
    gone = set(change.remove_snapshots)
    for entry in after.metadata_log:
        if entry.metadata_file in known:
            continue
        refs = _refs_of(judged.io, entry.metadata_file, change)
        lost = [name for name, snapshot_id in refs.items() if snapshot_id in gone]
        if lost:
            raise RefLost(
                f"Branch or tag {lost[0]} of table {change.table} was made on snapshot "
                f"{refs[lost[0]]} while that was being removed, and the catalog dropped both. "
                f"No file was deleted; {entry.metadata_file} still describes them.",
                next_step="Keep that metadata file, and ask whoever made it whether it is needed.",
            )


def _refs_of(io: FileIO, location: str, change: MetadataChange) -> dict[str, int]:
    try:
        with damage_explained():
            metadata = read_metadata(io, location)
    except Damaged as damaged:
        raise RefLost(
            f"Somebody committed to table {change.table} while snapshots were being removed, and "
            f"{location} cannot tell whether a branch or tag was lost: {damaged}. "
            "No file was deleted.",
            next_step="Run the command again: it plans again.",
        ) from damaged
    return {name: ref.snapshot_id for name, ref in metadata.refs.items() if name != MAIN}
