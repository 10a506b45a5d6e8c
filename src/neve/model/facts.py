"""What one survey of a table read, at one snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from neve.model.table import TableRef

#: Properties that Neve sets on the snapshots it commits.
JOB_ID_PROPERTY = "neve.job-id"
#: Of a count: Java writes longs, and Python refuses to read thousands of digits.
MAX_DIGITS = 19
PLAN_PROPERTY = "neve.plan"
EPOCH_PROPERTY = "neve.epoch"
TARGET_SIZE_PROPERTY = "neve.target-file-size-bytes"
LAYOUT_PROPERTY = "neve.layout"
ENGINE_PROPERTY = "neve.engine"
#: Iceberg's: which column a name means in files without field ids.
NAME_MAPPING_PROPERTY = "schema.name-mapping.default"
PROOF_PROPERTY = "neve.proof"
STEP_PROPERTY = "neve.step"
OPERATION_PROPERTY = "neve.operation"
#: From this format version on rows have ids.
FIRST_WITH_ROW_IDS = 3
#: The snapshot that was rewritten, where it is not the one that was committed on.
REBASED_FROM_PROPERTY = "neve.rebased-from"

#: One partition: the id of its spec, and its values in the order of the spec's fields. Floats are
#: `ExactFloat`s, so that keys are equal where the bytes of their values are.
PartitionKey = tuple[int, tuple[object, ...]]


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DeleteKind(StrEnum):
    """How a delete file says which rows are gone."""

    POSITION = "position"
    EQUALITY = "equality"
    DELETION_VECTOR = "deletion_vector"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One top-level column of the current schema."""

    field_id: int
    name: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One field of a partition spec, with the column that it is made from."""

    name: str
    transform: str
    source_column: str | None
    result_type: str


@dataclass(frozen=True, slots=True)
class SpecFacts:
    """One partition spec, current or past."""

    spec_id: int
    fields: tuple[PartitionField, ...]

    @property
    def is_unpartitioned(self) -> bool:
        """As Iceberg has it: a field that version 1 dropped stays in the spec as void."""
        return all(field.transform == "void" for field in self.fields)


@dataclass(frozen=True, slots=True)
class DataFileFacts:
    """One live data file."""

    path: str
    format: str
    partition: PartitionKey
    size_bytes: int
    record_count: int
    data_sequence_number: int
    added_snapshot_id: int | None
    row_groups: int | None = None
    sort_order_id: int | None = None
    encrypted: bool = False
    #: False where a filter of the survey excludes the file.
    selected: bool = True


@dataclass(frozen=True, slots=True)
class DeleteFileFacts:
    """One live delete file or deletion vector."""

    path: str
    kind: DeleteKind
    partition: PartitionKey
    size_bytes: int
    record_count: int
    data_sequence_number: int
    #: The one data file that it speaks of, where metadata tells.
    referenced_path: str | None = None
    added_snapshot_id: int | None = None


class ManifestContent(StrEnum):
    """What the entries of a manifest are."""

    DATA = "data"
    DELETES = "deletes"


@dataclass(frozen=True, slots=True)
class ManifestFacts:
    """One manifest, as the manifest list tells of it."""

    path: str
    content: ManifestContent
    spec_id: int
    size_bytes: int
    added_snapshot_id: int | None
    #: Live entries; None where an old writer did not count them.
    file_count: int | None
    #: Partitions in which its live entries lie; None where they were not read.
    partition_count: int | None = None


class StatisticsKind(StrEnum):
    """What a statistics file tells."""

    #: Puffin sketches of columns, from which planners take distinct values.
    TABLE = "table"
    #: Files and records of every partition.
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class StatisticsFacts:
    """One statistics file that the table's metadata names."""

    kind: StatisticsKind
    snapshot_id: int
    path: str
    size_bytes: int
    #: Columns with statistics, for those of a table.
    field_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """One snapshot in the table's log."""

    snapshot_id: int
    parent_id: int | None
    committed_at: datetime
    operation: str
    summary: Mapping[str, str] = field(default_factory=dict)
    #: Of the rows that it gave ids to; None for one of a format version that has none.
    first_row_id: int | None = None

    @property
    def job_id(self) -> str | None:
        """The job that made this snapshot, if it was one of ours."""
        return self.summary.get(JOB_ID_PROPERTY)

    def figure(self, key: str) -> int | None:
        """A count of the summary, into which writers may put anything."""
        text = self.summary.get(key, "")
        return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


@dataclass(frozen=True, slots=True)
class RefFacts:
    """One branch or tag."""

    name: str
    snapshot_id: int
    kind: str
    max_age_ms: int | None = None
    #: What a branch asks expiry to keep of it.
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TableFacts:
    """All that one survey read. Nothing in it comes from data files."""

    table: TableRef
    table_uuid: str
    location: str
    format_version: int
    #: None for a table that was never written.
    snapshot_id: int | None
    surveyed_at: datetime
    current_spec_id: int
    schema_id: int
    columns: tuple[ColumnFacts, ...]
    specs: Mapping[int, SpecFacts]
    sort_columns: tuple[str, ...]
    sort_order_id: int
    properties: Mapping[str, str]
    data_files: tuple[DataFileFacts, ...] = ()
    delete_files: tuple[DeleteFileFacts, ...] = ()
    manifest_count: int = 0
    manifests: tuple[ManifestFacts, ...] = ()
    #: Of all snapshots, not only of the one surveyed.
    statistics: tuple[StatisticsFacts, ...] = ()
    #: Columns of the schema that the snapshot was written with: the table's own may be newer.
    snapshot_columns: tuple[ColumnFacts, ...] = ()
    snapshots: tuple[SnapshotFacts, ...] = ()
    #: Since when main was at which snapshot, oldest first, those that it was rolled back from
    #: among them: by this readers travel in time.
    history: tuple[tuple[datetime, int], ...] = ()
    #: How many commits of snapshots the table has had; 0 in format version 1, which does not count.
    last_sequence_number: int = 0
    refs: tuple[RefFacts, ...] = ()
    #: The filter that `DataFileFacts.selected` answers, as the user wrote it.
    where: str | None = None
    #: The same filter as Iceberg's expression JSON, with columns and types resolved.
    filter: str | None = None

    @property
    def total_bytes(self) -> int:
        return sum(file.size_bytes for file in self.data_files)

    @property
    def name_mapping(self) -> str:
        """Which columns names in files mean, as the table has it; empty where it says nothing."""
        return self.properties.get(NAME_MAPPING_PROPERTY, "")

    @property
    def total_records(self) -> int:
        return sum(file.record_count for file in self.data_files)

    def snapshot(self, snapshot_id: int | None) -> SnapshotFacts | None:
        """The snapshot of that id, if the log still holds it."""
        return next((s for s in self.snapshots if s.snapshot_id == snapshot_id), None)

    def ancestry(self) -> list[SnapshotFacts]:
        """The snapshots from the current one back to the oldest that is kept."""
        by_id = {snapshot.snapshot_id: snapshot for snapshot in self.snapshots}
        chain: list[SnapshotFacts] = []
        current = self.snapshot_id
        while current is not None and (snapshot := by_id.pop(current, None)) is not None:
            chain.append(snapshot)
            current = snapshot.parent_id
        return chain

    def partition_name(self, key: PartitionKey) -> str:
        """A partition as people write it: `event_type=click/day=2025-01-17`."""
        spec = self.specs[key[0]]
        if not spec.fields:
            return "(unpartitioned)"
        values = (
            f"{field.name}={display_value(field, value)}"
            for field, value in zip(spec.fields, key[1], strict=True)
        )
        return "/".join(values)


def display_value(field: PartitionField, value: object) -> str:
    """A partition value for people: epoch numbers become dates."""
    if value is None:
        return "null"
    if isinstance(value, int) and not isinstance(value, bool):
        return _display_number(field, value)
    return str(value)


def _display_number(field: PartitionField, value: int) -> str:
    if field.transform == "year":
        return str(1970 + value)
    if field.transform == "month":
        return f"{1970 + value // 12}-{value % 12 + 1:02d}"
    seconds_per_unit = {"day": 86400, "hour": 3600}.get(field.transform)
    if field.result_type == "date":
        seconds_per_unit = 86400
    if seconds_per_unit is None:
        return str(value)
    try:
        moment = EPOCH + timedelta(seconds=value * seconds_per_unit)
    except OverflowError:
        return str(value)
    return f"{moment:%Y-%m-%d-%H}" if seconds_per_unit == 3600 else f"{moment:%Y-%m-%d}"
