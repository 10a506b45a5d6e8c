"""Everything that manifests say about chosen delete files, for reading them without an engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, ListType, LongType, NestedField, StringType, StructType

from neve.catalog.manifests import (
    BOUNDS,
    CONTENT_EQUALITY_DELETES,
    STATUS_ADDED,
    STATUS_DELETED,
    read_manifests,
    single_path,
)
from neve.catalog.whole_avro import ProjectedAvroFile
from neve.model.facts import DeleteKind
from neve.model.rewrite import DeleteDetails

#: A delete: its file, and the data file that it speaks of, where one file holds several vectors.
DeleteKey = tuple[str, str | None]

_READ_SCHEMA = Schema(
    NestedField(0, "status", IntegerType(), required=True),
    NestedField(3, "sequence_number", LongType(), required=False),
    NestedField(
        2,
        "data_file",
        StructType(
            NestedField(134, "content", IntegerType(), required=False),
            NestedField(100, "file_path", StringType(), required=True),
            NestedField(101, "file_format", StringType(), required=True),
            NestedField(103, "record_count", LongType(), required=True),
            NestedField(104, "file_size_in_bytes", LongType(), required=True),
            NestedField(
                135,
                "equality_ids",
                ListType(136, IntegerType(), element_required=True),
                required=False,
            ),
            NestedField(143, "referenced_data_file", StringType(), required=False),
            NestedField(144, "content_offset", LongType(), required=False),
            NestedField(145, "content_size_in_bytes", LongType(), required=False),
            *BOUNDS,
        ),
        required=True,
    ),
)


def read_delete_details(
    loaded: Table, snapshot_id: int, wanted: Collection[DeleteKey]
) -> list[DeleteDetails]:
    """The details of those deletes, which the snapshot holds."""
    keys = set(wanted)
    snapshot = loaded.snapshot_by_id(snapshot_id)
    if not keys or snapshot is None:
        return []
    return [
        delete
        for manifest in read_manifests(loaded.io, snapshot)
        if manifest.content == ManifestContent.DELETES
        for delete in _read_manifest(loaded, manifest)
        if (delete.path, delete.referenced_path) in keys
    ]


def _read_manifest(loaded: Table, manifest: ManifestFile) -> Iterator[DeleteDetails]:
    with ProjectedAvroFile(loaded.io.new_input(manifest.manifest_path), _READ_SCHEMA) as reader:
        for record in reader:
            status, sequence_number, file = (record[number] for number in range(3))
            if status == STATUS_DELETED:
                continue
            if sequence_number is None:
                sequence_number = manifest.sequence_number if status == STATUS_ADDED else 0
            yield _details(file, sequence_number or 0)


def _details(file: Record, sequence_number: int) -> DeleteDetails:
    file_format = str(file[2]).lower()
    kind = DeleteKind.EQUALITY if file[0] == CONTENT_EQUALITY_DELETES else DeleteKind.POSITION
    if kind is DeleteKind.POSITION and file_format == "puffin":
        kind = DeleteKind.DELETION_VECTOR
    return DeleteDetails(
        path=file[1],
        kind=kind,
        format=file_format,
        size_bytes=file[4],
        record_count=file[3],
        data_sequence_number=sequence_number,
        referenced_path=file[6] or single_path(file[0], file[9], file[10]),
        equality_ids=tuple(file[5] or ()),
        content_offset=file[7],
        content_size_bytes=file[8],
    )
