"""Iceberg tables on local disk, made without a JVM: real metadata and manifests, no data files.

pyiceberg writes neither delete files nor version 3, so manifests are written here field by field.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestContent,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate, TableUpdate
from pyiceberg.typedef import IcebergBaseModel, Record
from pyiceberg.types import StructType
from sqlalchemy import Dialect
from sqlalchemy.event import listen

from neve.model.metadata_change import UndoTag

ADDED, EXISTING, DELETED = 1, 0, 2
_NAMESPACE = """
INSERT OR IGNORE INTO iceberg_namespace_properties VALUES (?, ?, 'exists', 'true')
"""
_FIND = """
SELECT metadata_location FROM iceberg_tables
WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?
"""
_MOVE = """
UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?
WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?
"""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a manifest. Numbers that are None are inherited from the manifest."""

    path: str
    partition: tuple[object, ...] = ()
    size_bytes: int = 1000
    records: int = 100
    #: 0 is data, 1 position deletes, 2 equality deletes.
    content: int = 0
    format: str = "PARQUET"
    status: int = ADDED
    snapshot_id: int | None = None
    sequence_number: int | None = None
    #: Further fields of the data file, by the names of the specification.
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Files that lie in one manifest: data or deletes, of one partition spec."""

    entries: Sequence[FileEntry]
    spec_id: int | None = None

    @property
    def content(self) -> ManifestContent:
        holds_deletes = any(entry.content for entry in self.entries)
        return ManifestContent.DELETES if holds_deletes else ManifestContent.DATA


class _Catalog(SqlCatalog):
    """pyiceberg reads metadata of version 3 and refuses to write it; a test needs some to read.

    Hundreds are made in one process: they share statements, and start as copies of one database.
    """

    _compiled: ClassVar[dict[Any, Any]] = {}
    _dialects: ClassVar[dict[str, Dialect]] = {}
    _empty: ClassVar[list[bytes]] = []

    def __init__(self, name: str, database: Path, **properties: str) -> None:
        self._database = database
        super().__init__(name, **properties)

    def _init_catalog(self) -> None:
        listen(self.engine, "connect", _trust_the_machine)
        # Statements are compiled for a dialect, and all of these databases speak the same.
        self.engine.dialect = self._dialects.setdefault("sqlite", self.engine.dialect)
        self.engine = self.engine.execution_options(compiled_cache=self._compiled)
        if self._empty and not self._database.exists():
            self._database.write_bytes(self._empty[0])
        is_new = not self._database.exists()
        super()._init_catalog()
        if is_new:
            self._empty.append(self._database.read_bytes())

    @staticmethod
    def _write_metadata(
        metadata: TableMetadata, io: FileIO, metadata_path: str, overwrite: bool = False
    ) -> None:
        with io.new_output(metadata_path).create(overwrite=overwrite) as file:
            file.write(IcebergBaseModel.model_dump_json(metadata).encode())


def _trust_the_machine(connection: sqlite3.Connection, _: object) -> None:
    """No test outlives the machine, so nothing waits for the disk."""
    connection.execute("PRAGMA synchronous=OFF")


class LocalLake:
    """A SQLite catalog and its warehouse in one folder."""

    def __init__(self, folder: Path, name: str = "lake") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.name = name
        self.properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder / 'catalog.db'}",
            "warehouse": (folder / "warehouse").as_uri(),
        }
        self._database = folder / "catalog.db"
        self.catalog = _Catalog(name, self._database, **self.properties)
        self._numbers = itertools.count(1)
        #: What was written into each manifest list, so that the next one need not read it.
        self._lines: dict[str, list[dict[str, Any]]] = {}

    def create(
        self,
        identifier: str,
        schema: Schema,
        spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        *,
        format_version: int = 2,
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        """Make an empty table, with its namespace where that is missing."""
        namespace, _, name = identifier.rpartition(".")
        with closing(sqlite3.connect(self._database)) as database, database:
            _trust_the_machine(database, None)
            database.execute(_NAMESPACE, (self.name, namespace))
        return self.catalog.create_table(
            identifier,
            schema,
            # The catalog's own choice, for which it would ask three times.
            location=f"{self.properties['warehouse']}/{namespace}/{name}",
            partition_spec=spec,
            properties={"format-version": str(format_version), **(properties or {})},
        )

    def commit(
        self,
        table: Table,
        *manifests: Manifest,
        keeps: bool = True,
        operation: str = "append",
        summary: Mapping[str, str] | None = None,
        undo: UndoTag | None = None,
    ) -> int:
        """Make a snapshot of the manifests, beside those of its parent where it keeps them."""
        self._catch_up(table)
        snapshot_id = len(table.metadata.snapshots) + 1
        parent = table.current_snapshot()
        sequence_number = table.metadata.next_sequence_number()
        listed = self._listed(table, parent) if keeps and parent else []
        for manifest in manifests:
            written = self._write_manifest(table, manifest, snapshot_id)
            listed.append(_line(table, manifest, written, snapshot_id, sequence_number))
        snapshot = {
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": parent.snapshot_id if parent else None,
            "sequence-number": sequence_number,
            "timestamp-ms": table.metadata.last_updated_ms + 1000,
            "manifest-list": self._write_list(table, listed),
            "summary": {"operation": operation, **(summary or {})},
            "schema-id": table.metadata.current_schema_id,
            "first-row-id": getattr(table.metadata, "next_row_id", None) or 0,
            "added-rows": sum(entry.records for m in manifests for entry in m.entries),
        }
        main = {"ref-name": "main", "type": "branch", "snapshot-id": snapshot_id}
        updates: list[TableUpdate] = [
            AddSnapshotUpdate.model_validate({"snapshot": snapshot}),
            SetSnapshotRefUpdate.model_validate(main),
        ]
        if undo is not None and parent is not None and undo.name not in table.metadata.refs:
            age_ms = undo.max_age_ms(parent.timestamp_ms)
            tag = {"type": "tag", "snapshot-id": parent.snapshot_id, "max-ref-age-ms": age_ms}
            updates.append(SetSnapshotRefUpdate.model_validate({"ref-name": undo.name, **tag}))
        self._publish(table, tuple(updates))
        return snapshot_id

    def _catch_up(self, table: Table) -> None:
        """The table as others left it; most often it is the one at hand."""
        with closing(sqlite3.connect(self._database)) as database:
            found = database.execute(_FIND, self._key(table)).fetchone()
        if found != (table.metadata_location,):
            table.refresh()

    def _publish(self, table: Table, updates: tuple[TableUpdate, ...]) -> None:
        """As the catalog commits, which would load once more the table that is at hand."""
        staged = self.catalog._update_and_stage_table(table, table.name(), (), updates)
        self.catalog._write_metadata(staged.metadata, table.io, staged.metadata_location)
        locations = (staged.metadata_location, table.metadata_location)
        with closing(sqlite3.connect(self._database)) as database, database:
            _trust_the_machine(database, None)
            done = database.execute(_MOVE, (*locations, *self._key(table), locations[1]))
        if done.rowcount != 1:
            raise CommitFailedException(f"Somebody else committed to {table.name()}.")
        table.metadata, table.metadata_location = staged.metadata, staged.metadata_location

    def _key(self, table: Table) -> tuple[str, str, str]:
        *namespace, name = table.name()
        return self.name, ".".join(namespace), name

    def _listed(self, table: Table, snapshot: Snapshot) -> list[dict[str, Any]]:
        known = self._lines.get(snapshot.manifest_list)
        return list(known) if known is not None else _read_lines(table, snapshot)

    def _write_manifest(self, table: Table, manifest: Manifest, snapshot_id: int) -> str:
        spec, version = _spec(table, manifest), table.metadata.format_version
        data_file = data_file_with_partition(spec.partition_type(table.schema()), version)
        entry_schema = manifest_entry_schema_with_data_file(version, data_file)
        metadata = {
            "schema": table.schema().model_dump_json(),
            "partition-spec-id": str(spec.spec_id),
            "format-version": str(version),
            "content": "deletes" if manifest.content is ManifestContent.DELETES else "data",
        }
        path = self._metadata_path(table, "manifest")
        output = table.io.new_output(path)
        with AvroOutputFile[Record](output, entry_schema, "manifest_entry", metadata=metadata) as f:
            f.write_block(
                [_record(entry_schema, data_file, e, snapshot_id) for e in manifest.entries]
            )
        return path

    def _write_list(self, table: Table, lines: Sequence[dict[str, Any]]) -> str:
        version = table.metadata.format_version
        schema = MANIFEST_LIST_FILE_SCHEMAS[version]
        path = self._metadata_path(table, "manifests")
        output = table.io.new_output(path)
        metadata = {"format-version": str(version)}
        with AvroOutputFile[Record](output, schema, "manifest_file", metadata=metadata) as f:
            f.write_block([_by_name(schema.as_struct(), line) for line in lines])
        self._lines[path] = list(lines)
        return path

    def _metadata_path(self, table: Table, kind: str) -> str:
        return f"{table.location()}/metadata/{kind}-{next(self._numbers)}.avro"


def _spec(table: Table, manifest: Manifest) -> PartitionSpec:
    return table.spec() if manifest.spec_id is None else table.specs()[manifest.spec_id]


def _by_name(struct: StructType, values: Mapping[str, Any]) -> Record:
    return Record(*(values.get(item.name) for item in struct.fields))


def _record(schema: Schema, data_file: StructType, entry: FileEntry, snapshot_id: int) -> Record:
    file = {
        "content": entry.content,
        "file_path": entry.path,
        "file_format": entry.format,
        "partition": Record(*entry.partition),
        "record_count": entry.records,
        "file_size_in_bytes": entry.size_bytes,
        "block_size_in_bytes": 0,
        **entry.fields,
    }
    version_1_needs_it = schema.find_field("snapshot_id").required
    values = {
        "status": entry.status,
        "snapshot_id": entry.snapshot_id or (snapshot_id if version_1_needs_it else None),
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.sequence_number,
        "data_file": _by_name(data_file, file),
    }
    return _by_name(schema.as_struct(), values)


def _line(
    table: Table, manifest: Manifest, path: str, snapshot_id: int, sequence_number: int
) -> dict[str, Any]:
    def count(status: int) -> int:
        return sum(1 for entry in manifest.entries if entry.status == status)

    def rows(status: int) -> int:
        return sum(entry.records for entry in manifest.entries if entry.status == status)

    numbers = [e.sequence_number for e in manifest.entries if e.sequence_number is not None]
    return {
        "manifest_path": path,
        "manifest_length": len(table.io.new_input(path)),
        "partition_spec_id": _spec(table, manifest).spec_id,
        "content": manifest.content,
        "sequence_number": sequence_number,
        "min_sequence_number": min([*numbers, sequence_number]),
        "added_snapshot_id": snapshot_id,
        "added_files_count": count(ADDED),
        "existing_files_count": count(EXISTING),
        "deleted_files_count": count(DELETED),
        "added_rows_count": rows(ADDED),
        "existing_rows_count": rows(EXISTING),
        "deleted_rows_count": rows(DELETED),
    }


def _read_lines(table: Table, snapshot: Snapshot) -> list[dict[str, Any]]:
    names = [item.name for item in MANIFEST_LIST_FILE_SCHEMAS[2].fields]
    return [
        {name: getattr(manifest, name) for name in names}
        for manifest in snapshot.manifests(table.io)
    ]
