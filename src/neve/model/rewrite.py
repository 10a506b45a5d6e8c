"""What a rewrite by copying is told, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from neve.model.groups import JsonValue


@dataclass(frozen=True, slots=True)
class ColumnMetrics:
    """Column statistics of one data file, by field id; None where the manifest has none."""

    column_sizes: dict[int, int] | None = None
    value_counts: dict[int, int] | None = None
    null_value_counts: dict[int, int] | None = None
    nan_value_counts: dict[int, int] | None = None
    lower_bounds: dict[int, bytes] | None = None
    upper_bounds: dict[int, bytes] | None = None


@dataclass(frozen=True, slots=True)
class FileDetails:
    """A data file as its manifest describes it, complete enough to be committed."""

    path: str
    spec_id: int
    partition: tuple[JsonValue, ...]
    size_bytes: int
    record_count: int
    metrics: ColumnMetrics = field(default_factory=ColumnMetrics)
    split_offsets: tuple[int, ...] | None = None
    sort_order_id: int | None = None


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A column without children, as the current schema of the table has it."""

    field_id: int
    type: str
    #: True inside a list or a map, where a row may have many values.
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class CopyInputs:
    """What the catalog knows that a rewrite by copying needs."""

    files: tuple[FileDetails, ...]
    columns: tuple[LeafColumn, ...]
    #: For each output asked about, the locations of the names asked about.
    locations: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class SpliceRequirements:
    """What files must be like to be copied as they are."""

    columns: tuple[LeafColumn, ...]
    #: The codec that the table asks for, if it asks for one.
    codec: str | None
    needs_bloom_filters: bool
    min_row_group_bytes: int


@dataclass(frozen=True, slots=True)
class SpliceOrder:
    """One output file: whose row groups it gets, and a name for each attempt to write it."""

    group_id: int
    sources: tuple[tuple[str, int], ...]
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpliceReport:
    """What a task says about an order: a written file, or why it refused."""

    group_id: int
    refused: str | None = None
    path: str = ""
    size_bytes: int = 0
    rows: int = 0
    row_groups: int = 0
    split_offsets: tuple[int, ...] = ()
    copied_bytes: int = 0
    #: Data bytes that went through the task; less than `copied_bytes` where the store copied.
    bytes_through_task: int = 0
    #: Copied bytes that were read back and found equal to their sources.
    compared_bytes: int = 0
    #: Of a store's digests of what it copied, where the bytes were not compared.
    checksum: int | None = None
    engine: str = "copy"
    requests: int = 0
    notes: tuple[str, ...] = ()
    #: Names that earlier attempts may have left behind.
    leftovers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StageOrder:
    """Files that are read together and written again; they share the fate of the commit."""

    order_id: int
    paths: tuple[str, ...]
    input_bytes: int
    #: Files that should come of it, where they stay in their partition.
    outputs: int
    target_file_size_bytes: int
    #: Whether only reading tells how many rows are live.
    counts: bool = False


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """What came of an order: new files that nothing refers to yet, or why there are none."""

    order_id: int
    paths: tuple[str, ...] = ()
    rows: int = 0
    #: Live rows of the replaced files, where they were to be counted.
    live_rows: int | None = None
    #: Files of the order that the snapshot does not hold.
    missing: tuple[str, ...] = ()
    error: str | None = None
    #: What the engine needs to commit them.
    handle: object = field(default=None, repr=False, compare=False)
