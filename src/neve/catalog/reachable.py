"""Everything that a table's metadata reaches: all snapshots, whatever ref they are of, or none.

A file that this walk misses may be deleted, so a list or manifest that cannot be read whole is an
error, never a smaller set.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import NestedField, StringType

from neve.catalog.errors import table_errors
from neve.catalog.manifest_fields import entry_schema
from neve.catalog.manifests import STATUS_DELETED
from neve.catalog.whole_avro import ProjectedAvroFile
from neve.model.errors import TableUnreadable
from neve.model.orphans import ReachableFiles
from neve.model.table import TableRef
from neve.storage.resolved import Resolver

#: Only what the walk needs: a manifest of many columns is read several times faster.
_PATHS = entry_schema("status", ("file_path",))
_LISTED = Schema(NestedField(500, "manifest_path", StringType(), required=True))
#: Written beside metadata files by catalogs that live in the file system alone.
VERSION_HINT = "version-hint.text"


def reachable(table: TableRef, loaded: Table) -> ReachableFiles:
    """Walk the metadata as it was loaded."""
    resolver = Resolver()
    with table_errors(table):
        metadata = loaded.metadata
        paths = set(metadata_files(loaded))
        paths.update(_snapshot_files(table, loaded))
        # A listing gives files by the names of their real folders.
        paths.update([other for path in paths for other in resolver.real_names(path)])
        return ReachableFiles(
            table=table,
            table_uuid=str(metadata.table_uuid),
            location=metadata.location,
            metadata_location=loaded.metadata_location,
            properties=dict(metadata.properties),
            partition_fields=frozenset(
                field.name for spec in metadata.partition_specs for field in spec.fields
            ),
            snapshot_ids=frozenset(snapshot.snapshot_id for snapshot in metadata.snapshots),
            paths=frozenset(paths),
        )


def metadata_files(loaded: Table) -> Iterator[str]:
    """Versions of the metadata file, statistics, and the hint to the version."""
    metadata = loaded.metadata
    yield loaded.metadata_location
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (item.statistics_path for item in metadata.statistics)
    yield from (item.statistics_path for item in metadata.partition_statistics)
    yield from (f"{folder}/{VERSION_HINT}" for folder in hint_folders(loaded))


def hint_folders(loaded: Table) -> set[str]:
    """Where a hint to the version may lie."""
    own = f"{loaded.metadata.location.rstrip('/')}/metadata"
    return {own, loaded.metadata_location.rpartition("/")[0]}


def manifest_lists(table: TableRef, loaded: Table) -> Iterator[str]:
    """The lists of all snapshots."""
    for snapshot in loaded.metadata.snapshots:
        if not snapshot.manifest_list:
            raise TableUnreadable(f"Snapshot {snapshot.snapshot_id} of {table} names no list.")
        yield snapshot.manifest_list


def _snapshot_files(table: TableRef, loaded: Table) -> Iterator[str]:
    """Lists, manifests and files; snapshots share most manifests, and each is read once."""
    seen: set[str] = set()
    for path in manifest_lists(table, loaded):
        yield path
        for manifest in manifests_of_list(loaded.io, path):
            if manifest not in seen:
                seen.add(manifest)
                yield manifest
                yield from files_of_manifest(loaded.io, manifest)


def manifests_of_list(io: FileIO, path: str) -> Iterator[str]:
    """The manifests that a list names."""
    with ProjectedAvroFile(io.new_input(path), _LISTED) as reader:
        for record in reader:
            yield record[0]


def files_of_manifest(io: FileIO, path: str) -> Iterator[str]:
    """Data files, delete files and deletion vectors that the manifest holds live."""
    with ProjectedAvroFile(io.new_input(path), _PATHS) as reader:
        for record in reader:
            if record[0] != STATUS_DELETED:
                yield record[1][0]
