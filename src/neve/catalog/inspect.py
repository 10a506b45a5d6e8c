"""Facts for a diagnosis: metadata, manifests and storage, each read as far as it can be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from pyiceberg.io import FileIO, load_file_io
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import VoidTransform

from neve.catalog.checked_avro import DAMAGE, Damaged, damage_explained, read_metadata, stored_size
from neve.catalog.connect import Catalogs, pyiceberg_properties
from neve.catalog.embedded import EmbeddedCatalog, with_escaped_path
from neve.catalog.errors import first_line, table_errors
from neve.catalog.manifest_lists import read_contents, read_list
from neve.catalog.metadata_files import read_history
from neve.catalog.timestamps import moment
from neve.model.errors import CatalogError, TableNotFound
from neve.model.facts import NAME_MAPPING_PROPERTY, RefFacts
from neve.model.integrity import (
    ManifestContents,
    ManifestLine,
    MetadataHistory,
    MetadataProblem,
    RegisteredStatistics,
    SnapshotRecord,
    Stored,
    TableIntegrity,
)
from neve.model.table import TableRef

REQUESTS_AT_ONCE = 16
#: Each takes about 400 bytes of memory.
MAX_LISTED_FILES = 1_000_000
Opened = tuple[FileIO, TableMetadata, str]


class CatalogInspector:
    """Inspects tables of the configured catalogs, whole or damaged. Nothing is written."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._opened: dict[TableRef, FileIO] = {}

    def integrity(self, table: TableRef) -> TableIntegrity | MetadataProblem:
        """What the table's metadata claims, or why there is no metadata to speak of."""
        opened = self._open(table)
        if isinstance(opened, MetadataProblem):
            return opened
        io, metadata, location = opened
        self._opened[table] = io
        try:
            with damage_explained():
                return _integrity(table, io, metadata, location)
        except Damaged as error:
            return MetadataProblem(table, f"Its parts contradict each other: {error}.", location)

    def stored(self, table: TableRef, paths: Collection[str]) -> Mapping[str, Stored]:
        """What storage says about each path, by one request for each."""
        io = self._opened[table]
        with ThreadPoolExecutor(REQUESTS_AT_ONCE, "doctor") as pool:
            return dict(zip(paths, pool.map(lambda path: _stored(io, path), paths), strict=True))

    def history(self, problem: MetadataProblem, folder: str | None) -> MetadataHistory:
        """The metadata files that lie beside the one that cannot be used."""
        table, catalog = problem.table, self._catalogs.catalog(problem.table.catalog)
        properties = pyiceberg_properties(self._catalogs.properties(table.catalog))
        previous = None
        if isinstance(catalog, EmbeddedCatalog):
            with table_errors(table):
                _, previous = catalog.metadata_locations((*table.namespace, table.name))
        return read_history(properties, problem.location, previous, folder)

    def settings(self, table: TableRef) -> dict[str, str]:
        """The settings of the table's catalog, as pyiceberg takes them; they may hold secrets."""
        return with_escaped_path(self._catalogs.properties(table.catalog))

    def _open(self, table: TableRef) -> Opened | MetadataProblem:
        catalog = self._catalogs.catalog(table.catalog)
        if isinstance(catalog, EmbeddedCatalog):
            return self._open_embedded(catalog, table)
        try:
            loaded = self._catalogs.load(table)
        except TableNotFound:
            raise
        except CatalogError as error:
            # Raises, where the catalog does not answer at all.
            self._catalogs.namespaces(table.catalog)
            return MetadataProblem(table, error.message)
        except DAMAGE as error:
            return MetadataProblem(table, f"Its metadata cannot be read: {first_line(error)}.")
        return loaded.io, loaded.metadata, loaded.metadata_location

    def _open_embedded(self, catalog: EmbeddedCatalog, table: TableRef) -> Opened | MetadataProblem:
        """The catalog names the metadata file without opening it."""
        with table_errors(table):
            location, _ = catalog.metadata_locations((*table.namespace, table.name))
        try:
            with damage_explained():
                properties = pyiceberg_properties(self._catalogs.properties(table.catalog))
                io = load_file_io(properties, location)
                return io, read_metadata(io, location), location
        except Damaged as error:
            sentence = f"The current metadata file cannot be used: {error}."
            return MetadataProblem(table, sentence, location)


def _stored(io: FileIO, path: str) -> Stored:
    try:
        with damage_explained():
            return Stored(stored_size(io, path))
    except Damaged as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return Stored()
        return Stored(problem=str(error))


def _integrity(
    table: TableRef, io: FileIO, metadata: TableMetadata, location: str
) -> TableIntegrity:
    snapshots = _snapshots(io, metadata)
    refs = tuple(
        RefFacts(name, ref.snapshot_id, str(ref.snapshot_ref_type.value), ref.max_ref_age_ms)
        for name, ref in metadata.refs.items()
    )
    heads = [metadata.current_snapshot_id, *(ref.snapshot_id for ref in refs)]
    lines = _lines(snapshots, heads)
    manifests = _manifests(io, lines)
    return TableIntegrity(
        table=table,
        metadata_location=location,
        format_version=metadata.format_version,
        last_sequence_number=getattr(metadata, "last_sequence_number", 0),
        current_snapshot_id=metadata.current_snapshot_id,
        specs={spec.spec_id: _divides(spec) for spec in metadata.partition_specs},
        field_ids=frozenset(
            field_id for schema in metadata.schemas for field_id in schema.field_ids
        ),
        has_name_mapping=NAME_MAPPING_PROPERTY in metadata.properties,
        snapshots=snapshots,
        refs=refs,
        manifests=manifests,
        unread_manifests=len(lines) - len(manifests),
        statistics=tuple(
            RegisteredStatistics(item.statistics_path, item.file_size_in_bytes, item.snapshot_id)
            for item in (*metadata.statistics, *metadata.partition_statistics)
        ),
    )


def _divides(spec: PartitionSpec) -> bool:
    """A field that version 1 dropped stays in the spec as void, and divides nothing."""
    return any(not isinstance(field.transform, VoidTransform) for field in spec.fields)


def _snapshots(io: FileIO, metadata: TableMetadata) -> tuple[SnapshotRecord, ...]:
    with ThreadPoolExecutor(REQUESTS_AT_ONCE, "doctor") as pool:
        return tuple(pool.map(lambda snapshot: _snapshot(io, snapshot), metadata.snapshots))


def _snapshot(io: FileIO, snapshot: Snapshot) -> SnapshotRecord:
    manifests: tuple[ManifestLine, ...] = ()
    problem = None
    try:
        with damage_explained():
            manifests = read_list(io, snapshot.manifest_list)
    except Damaged as error:
        problem = str(error)
    return SnapshotRecord(
        snapshot_id=snapshot.snapshot_id,
        parent_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number or 0,
        committed_at=moment(snapshot.timestamp_ms),
        manifest_list=snapshot.manifest_list,
        summary=dict(snapshot.summary.additional_properties) if snapshot.summary else {},
        manifests=manifests,
        problem=problem,
    )


def _lines(
    snapshots: Iterable[SnapshotRecord], heads: Collection[int | None]
) -> list[ManifestLine]:
    """Every manifest once: those of current snapshots first, then from the newest backwards."""
    ordered = sorted(
        snapshots, key=lambda s: (s.snapshot_id not in heads, -s.sequence_number, -s.snapshot_id)
    )
    return list(dict.fromkeys(line for snapshot in ordered for line in snapshot.manifests))


def _manifests(io: FileIO, lines: Iterable[ManifestLine]) -> dict[ManifestLine, ManifestContents]:
    found: dict[ManifestLine, ManifestContents] = {}
    listed = 0
    with ThreadPoolExecutor(REQUESTS_AT_ONCE, "doctor") as pool:
        left = iter(lines)
        while listed <= MAX_LISTED_FILES and (some := list(islice(left, REQUESTS_AT_ONCE))):
            for line, contents in zip(
                some, pool.map(lambda x: _contents(io, x), some), strict=True
            ):
                found[line] = contents
                listed += len(contents.files)
    return found


def _contents(io: FileIO, line: ManifestLine) -> ManifestContents:
    try:
        with damage_explained():
            return read_contents(io, line)
    except Damaged as error:
        return ManifestContents(problem=str(error))
