"""Everything that manifests say about chosen data files, for committing their replacement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.partitioning import PartitionKey as NamedPartition
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.locations import load_location_provider
from pyiceberg.typedef import Record
from pyiceberg.types import (
    IcebergType,
    ListType,
    MapType,
    StructType,
)

from neve.catalog.careful_tables import plain_properties
from neve.catalog.manifest_fields import BOUND_NAMES, COUNT_NAMES, entry_schema
from neve.catalog.manifests import STATUS_DELETED, read_manifests
from neve.catalog.row_ids import RowIds, read_first_row_ids
from neve.catalog.survey import partition_specs
from neve.catalog.whole_avro import ProjectedAvroFile
from neve.model.facts import PartitionKey, SpecFacts
from neve.model.rewrite import ColumnMetrics, FileDetails, LeafColumn, TableLayout
from neve.planning.partition_values import to_json_value

_READ_SCHEMA = entry_schema(
    "status",
    (
        "file_path",
        "partition",
        "record_count",
        "file_size_in_bytes",
        "split_offsets",
        "sort_order_id",
        "first_row_id",
        "column_sizes",
        *COUNT_NAMES,
        *BOUND_NAMES,
    ),
)


def read_details(loaded: Table, snapshot_id: int, paths: Collection[str]) -> list[FileDetails]:
    """The details of the data files at those paths, which the snapshot holds."""
    snapshot = loaded.snapshot_by_id(snapshot_id)
    assert snapshot is not None
    wanted = set(paths)
    specs = partition_specs(loaded.metadata)
    first_row_ids = read_first_row_ids(loaded, snapshot)
    found: list[FileDetails] = []
    for manifest in read_manifests(loaded.io, snapshot):
        if len(found) == len(wanted):
            break
        if manifest.content == ManifestContent.DATA:
            spec = specs[manifest.partition_spec_id]
            first = first_row_ids.get(manifest.manifest_path)
            found += _read_manifest(loaded.io, manifest, spec, first, wanted)
    return found


def _read_manifest(
    io: FileIO, manifest: ManifestFile, spec: SpecFacts, first: int | None, wanted: set[str]
) -> Iterator[FileDetails]:
    assigned = RowIds(first)
    with ProjectedAvroFile(io.new_input(manifest.manifest_path), _READ_SCHEMA) as reader:
        for record in reader:
            if record[0] == STATUS_DELETED:
                continue
            file = record[1]
            first_row_id = assigned.next(file[6], file[2])
            if file[0] in wanted:
                yield _details(file, spec, first_row_id)


def _details(file: Record, spec: SpecFacts, first_row_id: int | None) -> FileDetails:
    return FileDetails(
        path=file[0],
        spec_id=spec.spec_id,
        partition=tuple(
            to_json_value(field, file[1][position]) for position, field in enumerate(spec.fields)
        ),
        record_count=file[2],
        size_bytes=file[3],
        split_offsets=tuple(file[4]) if file[4] else None,
        sort_order_id=file[5],
        first_row_id=first_row_id,
        metrics=ColumnMetrics(
            column_sizes=file[7],
            value_counts=file[8],
            null_value_counts=file[9],
            nan_value_counts=file[10],
            lower_bounds=file[11],
            upper_bounds=file[12],
        ),
    )


def leaf_columns(schema: Schema) -> tuple[LeafColumn, ...]:
    """The columns that hold values, at every level of the current schema."""
    found: list[LeafColumn] = []

    def visit(field_id: int, of: IcebergType, *, repeated: bool) -> None:
        if isinstance(of, StructType):
            for field in of.fields:
                visit(field.field_id, field.field_type, repeated=repeated)
        elif isinstance(of, ListType):
            visit(of.element_id, of.element_type, repeated=True)
        elif isinstance(of, MapType):
            visit(of.key_id, of.key_type, repeated=True)
            visit(of.value_id, of.value_type, repeated=True)
        else:
            found.append(LeafColumn(field_id, str(of), repeated))

    for field in schema.fields:
        visit(field.field_id, field.field_type, repeated=False)
    return tuple(found)


def table_layout(loaded: Table) -> TableLayout:
    """What new files must be like, in the words of the metadata."""
    return TableLayout(
        loaded.metadata.format_version,
        loaded.schema().model_dump_json(),
        loaded.sort_order().model_dump_json(),
        dict(loaded.properties),
    )


def data_locations(
    loaded: Table, requests: Sequence[tuple[PartitionKey, Sequence[str]]]
) -> list[tuple[str, ...]]:
    """Where new data files of those names belong in their partitions, by the table's rules."""
    provider = load_location_provider(loaded.location(), plain_properties(loaded))
    specs, schema = loaded.specs(), loaded.schema()
    found: list[tuple[str, ...]] = []
    for (spec_id, values), names in requests:
        named = _named(specs[spec_id], schema, values)
        found.append(tuple(provider.new_data_location(name, named) for name in names))
    return found


def _named(
    spec: PartitionSpec, schema: Schema, values: tuple[object, ...]
) -> NamedPartition | None:
    if not spec.fields:
        return None
    named = NamedPartition([], spec, schema)
    # The values are transformed already; as a cached property they are taken as they are.
    named.__dict__["partition"] = Record(*values)
    return named
