"""Manifest lists and manifests as they are, with every entry counted and nothing believed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
)

from neve.catalog.checked_avro import CheckedAvroFile
from neve.catalog.manifest_fields import BOUNDS
from neve.catalog.manifests import (
    CONTENT_DATA,
    CONTENT_EQUALITY_DELETES,
    CONTENT_POSITION_DELETES,
    STATUS_ADDED,
    STATUS_DELETED,
    single_path,
)
from neve.catalog.survey import partition_values
from neve.model.facts import PartitionKey
from neve.model.integrity import FileKind, LiveFile, ManifestContents, ManifestLine

#: Several times what a manifest of Iceberg's default size holds.
MAX_ENTRIES_PER_MANIFEST = 250_000
MAX_LINES_PER_LIST = 250_000
STATUS_EXISTING = 0


def _optional(field_id: int, name: str, of: Any) -> NestedField:
    return NestedField(field_id, name, of, required=False)


_LINE = Schema(
    _optional(500, "manifest_path", StringType()),
    _optional(501, "manifest_length", LongType()),
    _optional(517, "content", IntegerType()),
    _optional(502, "partition_spec_id", IntegerType()),
    _optional(515, "sequence_number", LongType()),
    _optional(516, "min_sequence_number", LongType()),
    _optional(504, "added_files_count", IntegerType()),
    _optional(505, "existing_files_count", IntegerType()),
    _optional(506, "deleted_files_count", IntegerType()),
    _optional(512, "added_rows_count", LongType()),
    _optional(513, "existing_rows_count", LongType()),
    _optional(514, "deleted_rows_count", LongType()),
)
_FILE = (
    _optional(134, "content", IntegerType()),
    _optional(100, "file_path", StringType()),
    _optional(101, "file_format", StringType()),
    # An empty struct stands for the fields that the manifest's own spec has.
    NestedField(102, "partition", StructType(), required=True),
    _optional(103, "record_count", LongType()),
    _optional(104, "file_size_in_bytes", LongType()),
    _optional(131, "key_metadata", BinaryType()),
    _optional(143, "referenced_data_file", StringType()),
    _optional(144, "content_offset", LongType()),
    _optional(145, "content_size_in_bytes", LongType()),
)


def _entry_schema(*extra: NestedField) -> Schema:
    return Schema(
        _optional(0, "status", IntegerType()),
        _optional(3, "sequence_number", LongType()),
        NestedField(2, "data_file", StructType(*_FILE, *extra), required=True),
    )


_ENTRY = _entry_schema()
_DELETE_ENTRY = _entry_schema(*BOUNDS)


def read_list(io: FileIO, location: str) -> tuple[ManifestLine, ...]:
    """The lines of a manifest list."""
    lines: list[ManifestLine] = []
    with CheckedAvroFile(io, location, _LINE) as reader:
        for record in reader:
            if len(lines) == MAX_LINES_PER_LIST:
                raise ValueError(f"it lists more than {MAX_LINES_PER_LIST} manifests")
            lines.append(_line(record))
    return tuple(lines)


def _line(record: Record) -> ManifestLine:
    path, length, content, spec_id, sequence, least = (record[i] for i in range(6))
    if not path:
        raise ValueError("a line of it names no manifest")
    return ManifestLine(
        path=path,
        length_bytes=length or 0,
        holds_deletes=content == 1,
        spec_id=spec_id or 0,
        # Version 1 has no sequence numbers: all files count as equally old.
        sequence_number=sequence or 0,
        min_sequence_number=least or 0,
        added_files=record[6],
        existing_files=record[7],
        deleted_files=record[8],
        added_rows=record[9],
        existing_rows=record[10],
        deleted_rows=record[11],
    )


def read_contents(io: FileIO, line: ManifestLine) -> ManifestContents:
    """The live files of a manifest, and how many entries and rows of each status it holds."""
    files: list[LiveFile] = []
    entries: Counter[int] = Counter()
    rows: Counter[int] = Counter()
    partitions: dict[tuple[object, ...], PartitionKey] = {}
    schema = _DELETE_ENTRY if line.holds_deletes else _ENTRY
    with CheckedAvroFile(io, line.path, schema) as reader:
        for record in reader:
            status, file = record[0], record[2]
            if status not in (STATUS_EXISTING, STATUS_ADDED, STATUS_DELETED):
                raise ValueError(f"an entry of it has the unknown status {status}")
            entries[status] += 1
            rows[status] += file[4] or 0
            if entries.total() > MAX_ENTRIES_PER_MANIFEST:
                raise ValueError(f"it has more than {MAX_ENTRIES_PER_MANIFEST} entries")
            if status != STATUS_DELETED:
                # Files of one partition share one key object: memory for many files stays small.
                values = partition_values(file[3])
                key = partitions.setdefault(values, (line.spec_id, values))
                files.append(_file(record, line, key))
    return ManifestContents(
        files=tuple(files),
        added_files=entries[STATUS_ADDED],
        existing_files=entries[STATUS_EXISTING],
        deleted_files=entries[STATUS_DELETED],
        added_rows=rows[STATUS_ADDED],
        existing_rows=rows[STATUS_EXISTING],
        deleted_rows=rows[STATUS_DELETED],
    )


def _file(record: Record, line: ManifestLine, partition: PartitionKey) -> LiveFile:
    status, sequence_number, file = (record[i] for i in range(3))
    if sequence_number is None:
        sequence_number = line.sequence_number if status == STATUS_ADDED else 0
    if not file[1]:
        raise ValueError("an entry of it names no file")
    bounds = (file[10], file[11]) if len(file) > 10 else (None, None)
    format = str(file[2]).upper()
    return LiveFile(
        path=file[1],
        kind=_kind(file[0] or CONTENT_DATA, format),
        format=format,
        partition=partition,
        record_count=file[4] or 0,
        size_bytes=file[5] or 0,
        sequence_number=sequence_number,
        referenced_path=file[7] or single_path(file[0], *bounds),
        content_offset=file[8],
        content_bytes=file[9],
        encrypted=file[6] is not None,
    )


def _kind(content: int, format: str) -> FileKind:
    if content == CONTENT_POSITION_DELETES:
        return FileKind.DELETION_VECTOR if format == "PUFFIN" else FileKind.POSITION_DELETES
    if content not in (CONTENT_DATA, CONTENT_EQUALITY_DELETES):
        raise ValueError(f"an entry of it has the unknown content {content}")
    return FileKind.EQUALITY_DELETES if content else FileKind.DATA
