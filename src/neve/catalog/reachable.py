"""Everything that a table's metadata reaches: all snapshots, whatever ref they are of, or none.

A file that this walk misses may be deleted, so a list or manifest that cannot be read whole is an
error, never a smaller set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, NestedField, StringType, StructType

from neve.catalog.errors import table_errors
from neve.catalog.manifests import STATUS_DELETED, ProjectedAvroFile, read_manifests
from neve.model.errors import TableUnreadable
from neve.model.orphans import ReachableFiles
from neve.model.table import TableRef

#: Only what the walk needs: a manifest of many columns is read several times faster.
_PATHS = Schema(
    NestedField(0, "status", IntegerType(), required=True),
    NestedField(
        2,
        "data_file",
        StructType(NestedField(100, "file_path", StringType(), required=True)),
        required=True,
    ),
)
#: Written beside metadata files by catalogs that live in the file system alone.
VERSION_HINT = "version-hint.text"


def reachable(table: TableRef, loaded: Table) -> ReachableFiles:
    """Walk the metadata as it was loaded."""
    _real_folder.cache_clear()
    with table_errors(table):
        metadata = loaded.metadata
        paths = set(_metadata_files(loaded))
        paths.update(_snapshot_files(table, loaded))
        paths.update([other for path in paths if (other := _behind_links(path)) is not None])
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


def _metadata_files(loaded: Table) -> Iterator[str]:
    metadata = loaded.metadata
    yield loaded.metadata_location
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (item.statistics_path for item in metadata.statistics)
    yield from (item.statistics_path for item in metadata.partition_statistics)
    folders = {f"{metadata.location.rstrip('/')}/metadata"}
    folders.add(loaded.metadata_location.rpartition("/")[0])
    yield from (f"{folder}/{VERSION_HINT}" for folder in folders)


def _snapshot_files(table: TableRef, loaded: Table) -> Iterator[str]:
    """Lists, manifests and files; snapshots share most manifests, and each is read once."""
    seen: set[str] = set()
    for snapshot in loaded.metadata.snapshots:
        if not snapshot.manifest_list:
            raise TableUnreadable(f"Snapshot {snapshot.snapshot_id} of {table} names no list.")
        yield snapshot.manifest_list
        for manifest in read_manifests(loaded.io, snapshot):
            if manifest.manifest_path not in seen:
                seen.add(manifest.manifest_path)
                yield manifest.manifest_path
                yield from _files(loaded.io, manifest)


def _files(io: FileIO, manifest: ManifestFile) -> Iterator[str]:
    """Data files, delete files and deletion vectors that the manifest holds live."""
    with ProjectedAvroFile(io.new_input(manifest.manifest_path), _PATHS) as reader:
        for record in reader:
            if record[0] != STATUS_DELETED:
                yield record[1][0]


def _behind_links(path: str) -> str | None:
    """The same local file by the name that a listing of its real folder gives."""
    scheme, colon, rest = path.partition(":")
    if colon and scheme != "file":
        return None
    folder, _, name = "/".join(("", (rest if colon else path).lstrip("/"))).rpartition("/")
    real = _real_folder(folder)
    return None if real == folder else f"file:{real}/{name}"


@lru_cache(maxsize=100_000)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)
