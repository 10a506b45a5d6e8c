"""Everything that manifests say about chosen delete files, for committing them again."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from neve.catalog.manifest_fields import BOUND_NAMES, COUNT_NAMES, entry_schema
from neve.catalog.manifests import STATUS_ADDED, STATUS_DELETED, read_manifests
from neve.catalog.survey import delete_kind, partition_specs
from neve.catalog.whole_avro import ProjectedAvroFile
from neve.model.facts import SpecFacts
from neve.model.rebase import DeleteEntry
from neve.model.rewrite import ColumnMetrics
from neve.planning.partition_values import to_json_value

_READ_SCHEMA = entry_schema(
    "status sequence_number",
    (
        "content",
        "file_path",
        "file_format",
        "partition",
        "record_count",
        "file_size_in_bytes",
        "key_metadata",
        "equality_ids",
        "sort_order_id",
        "referenced_data_file",
        "content_offset",
        "content_size_in_bytes",
        "column_sizes",
        *COUNT_NAMES,
        *BOUND_NAMES,
    ),
)


def read_delete_entries(
    loaded: Table, snapshot_id: int, paths: Collection[str]
) -> list[DeleteEntry]:
    """The details of all delete files and vectors at those paths that the snapshot holds."""
    snapshot = loaded.snapshot_by_id(snapshot_id)
    assert snapshot is not None
    wanted, specs = set(paths), partition_specs(loaded.metadata)
    return [
        details
        for manifest in read_manifests(loaded.io, snapshot)
        if wanted and manifest.content == ManifestContent.DELETES
        for details in _read_manifest(
            loaded.io, manifest, specs[manifest.partition_spec_id], wanted
        )
    ]


def _read_manifest(
    io: FileIO, manifest: ManifestFile, spec: SpecFacts, wanted: set[str]
) -> Iterator[DeleteEntry]:
    with ProjectedAvroFile(io.new_input(manifest.manifest_path), _READ_SCHEMA) as reader:
        for status, sequence_number, file in ((r[0], r[1], r[2]) for r in reader):
            if status != STATUS_DELETED and file[1] in wanted:
                inherited = manifest.sequence_number if status == STATUS_ADDED else 0
                own = inherited if sequence_number is None else sequence_number
                yield _details(file, spec, own or 0)


def _details(file: Record, spec: SpecFacts, sequence_number: int) -> DeleteEntry:
    file_format = str(file[2]).upper()
    return DeleteEntry(
        path=file[1],
        kind=delete_kind(file[0], file_format),
        format=file_format,
        spec_id=spec.spec_id,
        partition=tuple(
            to_json_value(field, file[3][position]) for position, field in enumerate(spec.fields)
        ),
        record_count=file[4],
        size_bytes=file[5],
        encrypted=file[6] is not None,
        equality_ids=tuple(file[7] or ()),
        sort_order_id=file[8],
        referenced_path=file[9],
        content_offset=file[10],
        content_size_bytes=file[11],
        data_sequence_number=sequence_number,
        metrics=ColumnMetrics(
            column_sizes=file[12],
            value_counts=file[13],
            null_value_counts=file[14],
            nan_value_counts=file[15],
            lower_bounds=file[16],
            upper_bounds=file[17],
        ),
    )
