"""Survey: a table's metadata becomes facts. No data file is opened, no JVM is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from pyiceberg.manifest import ManifestContent as IcebergContent
from pyiceberg.manifest import ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType

from neve.catalog.errors import table_errors
from neve.catalog.filters import FileSelector
from neve.catalog.manifest_cache import ManifestCache
from neve.catalog.manifests import (
    CONTENT_DATA,
    CONTENT_EQUALITY_DELETES,
    Entry,
)
from neve.catalog.timestamps import moment
from neve.model.errors import TableUnreadable
from neve.model.exact import exact
from neve.model.facts import (
    ColumnFacts,
    DataFileFacts,
    DeleteFileFacts,
    DeleteKind,
    ManifestContent,
    ManifestFacts,
    PartitionField,
    PartitionKey,
    RefFacts,
    SnapshotFacts,
    SpecFacts,
    StatisticsFacts,
    StatisticsKind,
    TableFacts,
)
from neve.model.predicate import Predicate
from neve.model.table import TableRef


def survey(
    table: TableRef,
    loaded: Table,
    *,
    now: datetime,
    predicate: Predicate | None = None,
    where: str | None = None,
    snapshot_id: int | None = None,
    cache: ManifestCache | None = None,
    with_files: bool = True,
) -> TableFacts:
    """All facts about a table at one snapshot, the current one unless told otherwise."""
    kept = cache or ManifestCache(0)
    with table_errors(table):
        return _survey(table, loaded, now, predicate, where, snapshot_id, kept, with_files)


def _survey(
    table: TableRef,
    loaded: Table,
    now: datetime,
    predicate: Predicate | None,
    where: str | None,
    snapshot_id: int | None,
    cache: ManifestCache,
    with_files: bool,
) -> TableFacts:
    metadata = loaded.metadata
    selector = FileSelector(predicate, metadata)
    snapshot = (
        loaded.current_snapshot()
        if snapshot_id is None
        else _snapshot_by_id(table, loaded, snapshot_id)
    )
    data_files: list[DataFileFacts] = []
    delete_files: list[DeleteFileFacts] = []
    manifests = cache.manifests(loaded.io, snapshot) if snapshot and with_files else []
    in_manifests: list[int] = []
    for manifest in manifests:
        entries = cache.entries(loaded.io, manifest, with_metrics=not selector.selects_all)
        in_manifests.append(_sort_entries(entries, selector, data_files, delete_files))
    return TableFacts(
        table=table,
        table_uuid=str(metadata.table_uuid),
        location=metadata.location,
        format_version=metadata.format_version,
        snapshot_id=snapshot.snapshot_id if snapshot else None,
        surveyed_at=now,
        current_spec_id=metadata.default_spec_id,
        schema_id=metadata.current_schema_id,
        columns=_columns(metadata.schema()),
        specs=partition_specs(metadata),
        sort_columns=_sort_columns(metadata),
        sort_order_id=metadata.default_sort_order_id,
        properties=dict(metadata.properties),
        data_files=tuple(data_files),
        delete_files=tuple(delete_files),
        manifest_count=len(manifests),
        manifests=tuple(map(_manifest, manifests, in_manifests)),
        statistics=tuple(_statistics(metadata)),
        snapshot_columns=_columns(_schema_of(metadata, snapshot)),
        snapshots=tuple(_snapshot(item) for item in metadata.snapshots),
        history=tuple(_history(metadata)),
        last_sequence_number=getattr(metadata, "last_sequence_number", 0),
        refs=tuple(
            RefFacts(
                name,
                ref.snapshot_id,
                str(ref.snapshot_ref_type.value),
                ref.max_ref_age_ms,
                ref.min_snapshots_to_keep,
                ref.max_snapshot_age_ms,
            )
            for name, ref in metadata.refs.items()
        ),
        where=where,
        filter=selector.expression_json,
    )


def _snapshot_by_id(table: TableRef, loaded: Table, snapshot_id: int) -> Snapshot:
    found = loaded.snapshot_by_id(snapshot_id)
    if found is None:
        raise TableUnreadable(
            f"Table {table} keeps no snapshot {snapshot_id}.",
            next_step="It was expired or never there; plan again.",
        )
    return found


def _sort_entries(
    entries: Iterable[Entry],
    selector: FileSelector,
    data_files: list[DataFileFacts],
    delete_files: list[DeleteFileFacts],
) -> int:
    """Sort them by what they are; returns in how many partitions they lie."""
    partitions: dict[tuple[object, ...], PartitionKey] = {}
    for entry in entries:
        # Entries of one partition share one key object: memory for many files stays small.
        values = partition_values(entry.partition)
        key = partitions.setdefault(values, (entry.spec_id, values))
        if entry.content == CONTENT_DATA:
            data_files.append(_data_file(entry, key, selected=selector.selects(entry)))
        else:
            delete_files.append(_delete_file(entry, key))
    return len(partitions)


def partition_values(partition: Record) -> tuple[object, ...]:
    return tuple([exact(partition[position]) for position in range(len(partition))])


def _data_file(entry: Entry, key: PartitionKey, *, selected: bool) -> DataFileFacts:
    return DataFileFacts(
        path=entry.path,
        format=entry.format,
        partition=key,
        size_bytes=entry.size_bytes,
        record_count=entry.record_count,
        data_sequence_number=entry.data_sequence_number,
        added_snapshot_id=entry.snapshot_id,
        row_groups=entry.row_groups,
        sort_order_id=entry.sort_order_id,
        encrypted=entry.encrypted,
        selected=selected,
    )


def delete_kind(content: int, file_format: str) -> DeleteKind:
    if content == CONTENT_EQUALITY_DELETES:
        return DeleteKind.EQUALITY
    return DeleteKind.DELETION_VECTOR if file_format == "PUFFIN" else DeleteKind.POSITION


def _delete_file(entry: Entry, key: PartitionKey) -> DeleteFileFacts:
    return DeleteFileFacts(
        path=entry.path,
        kind=delete_kind(entry.content, entry.format),
        partition=key,
        size_bytes=entry.size_bytes,
        record_count=entry.record_count,
        data_sequence_number=entry.data_sequence_number,
        referenced_path=entry.referenced_path,
        added_snapshot_id=entry.snapshot_id,
    )


def _manifest(manifest: ManifestFile, partition_count: int) -> ManifestFacts:
    counts = (manifest.added_files_count, manifest.existing_files_count)
    holds_data = manifest.content == IcebergContent.DATA
    return ManifestFacts(
        path=manifest.manifest_path,
        content=ManifestContent.DATA if holds_data else ManifestContent.DELETES,
        spec_id=manifest.partition_spec_id,
        size_bytes=manifest.manifest_length,
        added_snapshot_id=manifest.added_snapshot_id,
        file_count=None if None in counts else sum(count or 0 for count in counts),
        partition_count=partition_count,
    )


def _statistics(metadata: TableMetadata) -> Iterable[StatisticsFacts]:
    for file in metadata.statistics:
        fields = frozenset(field for blob in file.blob_metadata for field in blob.fields)
        yield StatisticsFacts(
            StatisticsKind.TABLE,
            file.snapshot_id,
            file.statistics_path,
            file.file_size_in_bytes,
            fields,
        )
    for part in metadata.partition_statistics:
        yield StatisticsFacts(
            StatisticsKind.PARTITION,
            part.snapshot_id,
            part.statistics_path,
            part.file_size_in_bytes,
        )


def _columns(schema: Schema) -> tuple[ColumnFacts, ...]:
    return tuple(
        ColumnFacts(field.field_id, field.name, str(field.field_type), field.required)
        for field in schema.fields
    )


def _schema_of(metadata: TableMetadata, snapshot: Snapshot | None) -> Schema:
    written = snapshot.schema_id if snapshot else None
    return next((s for s in metadata.schemas if s.schema_id == written), metadata.schema())


def partition_specs(metadata: TableMetadata) -> dict[int, SpecFacts]:
    """Every spec of the table; the column of a field may be gone from the current schema."""
    specs: dict[int, SpecFacts] = {}
    for spec in metadata.partition_specs:
        fields = []
        for field in spec.fields:
            source = _source_type(metadata, field.source_id)
            fields.append(
                PartitionField(
                    name=field.name,
                    transform=str(field.transform),
                    source_column=metadata.schema().find_column_name(field.source_id),
                    result_type=str(field.transform.result_type(source)) if source else "unknown",
                )
            )
        specs[spec.spec_id] = SpecFacts(spec.spec_id, tuple(fields))
    return specs


def _source_type(metadata: TableMetadata, field_id: int) -> IcebergType | None:
    for schema in (metadata.schema(), *reversed(metadata.schemas)):
        if schema.find_column_name(field_id) is not None:
            return schema.find_type(field_id)
    return None


def _sort_columns(metadata: TableMetadata) -> tuple[str, ...]:
    order = metadata.sort_order_by_id(metadata.default_sort_order_id)
    names = (
        metadata.schema().find_column_name(field.source_id)
        for field in (order.fields if order else ())
    )
    return tuple(name for name in names if name is not None)


def _history(metadata: TableMetadata) -> Iterator[tuple[datetime, int]]:
    for entry in metadata.snapshot_log:
        if (since := moment(entry.timestamp_ms)) is not None:
            yield since, entry.snapshot_id


def _snapshot(snapshot: Snapshot) -> SnapshotFacts:
    summary = snapshot.summary
    return SnapshotFacts(
        snapshot_id=snapshot.snapshot_id,
        parent_id=snapshot.parent_snapshot_id,
        committed_at=datetime.fromtimestamp(snapshot.timestamp_ms / 1000, tz=UTC),
        operation=summary.operation.value if summary else "unknown",
        summary=dict(summary.additional_properties) if summary else {},
        first_row_id=snapshot.first_row_id,
    )
