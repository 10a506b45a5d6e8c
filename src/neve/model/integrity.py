"""What a table's metadata claims and what its storage holds, read for a diagnosis.

Everything here is as it was found: a part that could not be read carries its problem instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from neve.model.facts import PartitionKey, RefFacts
from neve.model.table import TableRef

#: The format of a claim about a file that only the table's own keys open.
ENCRYPTED = "ENCRYPTED"


class FileKind(StrEnum):
    """What a file is to the table."""

    DATA = "data file"
    POSITION_DELETES = "position delete file"
    EQUALITY_DELETES = "equality delete file"
    DELETION_VECTOR = "deletion vector"
    STATISTICS = "statistics file"

    @property
    def is_delete(self) -> bool:
        return self not in (FileKind.DATA, FileKind.STATISTICS)


@dataclass(frozen=True, slots=True)
class LiveFile:
    """One live file of a manifest."""

    path: str
    kind: FileKind
    format: str
    partition: PartitionKey
    size_bytes: int
    record_count: int
    sequence_number: int
    #: The one data file that it deletes rows of, where metadata tells.
    referenced_path: str | None = None
    #: Where a deletion vector lies in its file.
    content_offset: int | None = None
    content_bytes: int | None = None
    encrypted: bool = False


@dataclass(frozen=True, slots=True)
class ManifestLine:
    """One line of a manifest list: a manifest, and how many files and rows it is said to hold."""

    path: str
    length_bytes: int
    holds_deletes: bool
    spec_id: int
    sequence_number: int
    min_sequence_number: int
    added_files: int | None = None
    existing_files: int | None = None
    deleted_files: int | None = None
    added_rows: int | None = None
    existing_rows: int | None = None
    deleted_rows: int | None = None


@dataclass(frozen=True, slots=True)
class ManifestContents:
    """What a manifest holds, or why it cannot be read."""

    files: tuple[LiveFile, ...] = ()
    added_files: int = 0
    existing_files: int = 0
    deleted_files: int = 0
    added_rows: int = 0
    existing_rows: int = 0
    deleted_rows: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """One snapshot of the table's log with its manifest list, or why that cannot be read."""

    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    committed_at: datetime | None
    manifest_list: str
    summary: Mapping[str, str] = field(default_factory=dict)
    manifests: tuple[ManifestLine, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RegisteredStatistics:
    """A statistics file that table metadata names."""

    path: str
    size_bytes: int
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class TableIntegrity:
    """All that one table's metadata claims."""

    table: TableRef
    metadata_location: str
    format_version: int
    last_sequence_number: int
    current_snapshot_id: int | None
    #: Ids of partition specs, and whether each divides the table at all.
    specs: Mapping[int, bool]
    #: Every field id of every schema that the table ever had and still knows.
    field_ids: frozenset[int]
    has_name_mapping: bool
    snapshots: tuple[SnapshotRecord, ...] = ()
    refs: tuple[RefFacts, ...] = ()
    manifests: Mapping[ManifestLine, ManifestContents] = field(default_factory=dict)
    #: Manifests that were not read, because those before them held enough files.
    unread_manifests: int = 0
    statistics: tuple[RegisteredStatistics, ...] = ()

    def snapshot(self, snapshot_id: int | None) -> SnapshotRecord | None:
        return next((s for s in self.snapshots if s.snapshot_id == snapshot_id), None)

    def files_of(self, snapshot: SnapshotRecord) -> list[LiveFile]:
        """The live files of a snapshot, as far as its manifests could be read."""
        return [
            file
            for line in snapshot.manifests
            if line in self.manifests
            for file in self.manifests[line].files
        ]


@dataclass(frozen=True, slots=True)
class MetadataProblem:
    """A table whose current metadata file cannot be had, and what is known about it."""

    table: TableRef
    sentence: str
    #: Where the catalog says that it is, where the catalog says it.
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """What storage says about one path: its size, or nothing for a file that is not there."""

    size_bytes: int | None = None
    #: Set where storage did not answer, so that nothing is known.
    problem: str | None = None

    @property
    def is_missing(self) -> bool:
        return self.size_bytes is None and self.problem is None


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """One metadata file in the table's metadata folder."""

    location: str
    #: Why it cannot be used, or None.
    problem: str | None = None
    table_uuid: str | None = None
    updated_at: datetime | None = None
    snapshot_id: int | None = None
    snapshot_at: datetime | None = None
    records: int | None = None
    #: What says that this file was the table's metadata once; a failed commit leaves files, too.
    confirmed_by: str | None = None
    #: True where it is known that the current metadata followed from this file.
    is_predecessor: bool = False


@dataclass(frozen=True, slots=True)
class MetadataHistory:
    """The metadata files beside the current one, newest first."""

    folder: str | None
    files: tuple[MetadataFile, ...] = ()
    #: Files that were found and not opened, because there are too many.
    unopened: int = 0
    #: The table's id, where something readable still says it.
    table_uuid: str | None = None
    #: Why the folder could not be listed.
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class FileClaim:
    """What manifests say about one file, for a task that opens it."""

    path: str
    kind: FileKind
    format: str
    size_bytes: int
    record_count: int
    content_offset: int | None = None
    content_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class FooterProblem:
    """One file that is not what manifests say."""

    code: str
    path: str
    sentence: str


@dataclass(frozen=True, slots=True)
class FooterReport:
    """What opening files came to: counts, and the first problems of each kind."""

    opened: int = 0
    #: How many files could not be judged, by the reason.
    unopened: Mapping[str, int] = field(default_factory=dict)
    #: How many problems there are of each code, those beyond the first ones included.
    counts: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[FooterProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """What columns of data files are measured by."""

    field_ids: frozenset[int]
    has_name_mapping: bool
