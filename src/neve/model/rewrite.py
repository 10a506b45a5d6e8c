"""What a rewrite is told, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from neve.model.facts import DeleteKind
from neve.model.groups import JsonValue
from neve.model.policy import Engine, Verify


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
    #: Of format 3: the id of its first row, where the manifest list has assigned one.
    first_row_id: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteDetails:
    """A delete file or deletion vector as its manifest describes it, complete enough to be read."""

    path: str
    kind: DeleteKind
    #: In lower case.
    format: str
    size_bytes: int
    record_count: int
    data_sequence_number: int
    referenced_path: str | None = None
    #: Columns that equality deletes compare.
    equality_ids: tuple[int, ...] = ()
    #: Where a deletion vector lies in its Puffin file.
    content_offset: int | None = None
    content_size_bytes: int | None = None
    #: What readers go by before they open it.
    metrics: ColumnMetrics = field(default_factory=ColumnMetrics, repr=False)


@dataclass(frozen=True, slots=True)
class TableLayout:
    """What new files of the table must be like, where their rows are written anew."""

    format_version: int
    #: The current schema and the default sort order, as the metadata's JSON has them.
    schema: str
    sort_order: str
    properties: Mapping[str, str] = field(default_factory=dict)


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
    deletes: tuple[DeleteDetails, ...] = ()
    layout: TableLayout | None = None


@dataclass(frozen=True, slots=True)
class SpliceRequirements:
    """What files must be like to be copied as they are."""

    columns: tuple[LeafColumn, ...]
    #: The codec that the table asks for, if it asks for one.
    codec: str | None
    needs_bloom_filters: bool
    min_row_group_bytes: int
    #: For engines that write rows.
    layout: TableLayout | None = None
    verify: Verify = Verify.FULL


@dataclass(frozen=True, slots=True)
class TaskInput:
    """A data file that a task replaces, as its manifest has it."""

    path: str
    size_bytes: int
    record_count: int = 0
    data_sequence_number: int = 0
    first_row_id: int | None = None
    #: Values of identity partition columns by field id, as JSON has single values.
    constants: tuple[tuple[int, JsonValue], ...] = ()


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """A file group for one task: what is replaced, by how many files, and who may write them."""

    group_id: int
    inputs: tuple[TaskInput, ...]
    #: Delete files that a reader of the inputs applies.
    deletes: tuple[DeleteDetails, ...]
    #: For each output its names: one for every attempt at every engine of the ladder.
    outputs: tuple[tuple[str, ...], ...]
    #: Engines that run inside a task, best first. After the last one comes Iceberg's action.
    ladder: tuple[Engine, ...]

    def names(self, attempt: int, engine: Engine) -> tuple[str, ...]:
        """A name for each output that no other attempt and no other engine writes."""
        number = attempt * len(self.ladder) + self.ladder.index(engine)
        return tuple(names[number] for names in self.outputs)

    def names_before(self, attempt: int) -> tuple[str, ...]:
        """Names that earlier attempts may have left behind."""
        return tuple(name for names in self.outputs for name in names[: attempt * len(self.ladder)])

    def names_after(self, attempt: int) -> tuple[str, ...]:
        """Names that attempts which began later may have left behind."""
        first = (attempt + 1) * len(self.ladder)
        return tuple(name for names in self.outputs for name in names[first:])

    def has_names(self, attempt: int) -> bool:
        """Whether names were prepared for so many attempts."""
        return all((attempt + 1) * len(self.ladder) <= len(names) for names in self.outputs)


@dataclass(frozen=True, slots=True)
class BytesCompared:
    """The new file was read back: every byte of data is as in its source, or as we encoded it."""

    level: ClassVar[str] = "bytes"

    data_bytes: int
    compared_bytes: int

    @property
    def problem(self) -> str | None:
        """Why it proves nothing, or None."""
        if self.compared_bytes == self.data_bytes:
            return None
        return f"holds {self.data_bytes} bytes of data, and {self.compared_bytes} were compared"


@dataclass(frozen=True, slots=True)
class StoreDigests:
    """The store's digests of all parts are those of the whole object; sources are pinned."""

    level: ClassVar[str] = "store"

    #: CRC-32 over the digests, None where the store gave none.
    checksum: int | None

    @property
    def problem(self) -> str | None:
        """Why it proves nothing, or None."""
        return None if self.checksum is not None else "has parts without a digest of the store"


@dataclass(frozen=True, slots=True)
class RowFingerprints:
    """The new file was read back: what was encoded holds the values of the sources, less deleted
    rows, each in its place; what was kept is compared byte by byte.

    Fingerprints are sums over rows, of encoded columns by field id (`rows/fingerprint.py`).
    """

    level: ClassVar[str] = "rows"

    #: Of the sources, read apart from how the file was made, and of the file.
    expected: str
    found: str
    kept_bytes: int = 0
    compared_bytes: int = 0

    @property
    def problem(self) -> str | None:
        """Why it proves nothing, or None."""
        if not self.expected or self.expected != self.found:
            return f"has rows {self.found} where its sources have {self.expected}"
        if self.kept_bytes != self.compared_bytes:
            return f"kept {self.kept_bytes} bytes, of which {self.compared_bytes} were found equal"
        return None


@dataclass(frozen=True, slots=True)
class FooterRead:
    """The new file's footer was read back: its row groups hold as many rows as were planned."""

    level: ClassVar[str] = "metadata"

    planned_rows: int
    found_rows: int

    @property
    def problem(self) -> str | None:
        """Why it proves nothing, or None."""
        if self.planned_rows == self.found_rows:
            return None
        return f"has {self.found_rows} rows by its footer, and {self.planned_rows} were planned"


@dataclass(frozen=True, slots=True)
class RowsCounted:
    """Nothing was read back: its writer's count of rows is all there is."""

    level: ClassVar[str] = "counts"

    @property
    def problem(self) -> str | None:
        return None


FileProof: TypeAlias = BytesCompared | StoreDigests | RowFingerprints | FooterRead | RowsCounted


def proof_unread(verify: Verify, planned_rows: int, found_rows: int) -> FileProof:
    """Of a file whose values were not read back, because nobody asked for it."""
    if verify is Verify.OFF:
        return RowsCounted()
    return FooterRead(planned_rows, found_rows)


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Rows of a source that follow each other, there and in the new file."""

    path: str
    #: Position of the first one in the source, and how many there are, removed ones among them.
    first_row: int
    rows: int
    #: Positions in the source, within the range, of rows that were left out: a Roaring bitmap as
    #: deletion vectors have it (`rows/roaring.py`), empty where all rows are there.
    removed: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A new file that nothing refers to yet, and why it is believed."""

    path: str
    size_bytes: int
    #: Numbers of the task's inputs whose rows it holds.
    inputs: tuple[int, ...]
    rows_in: int
    rows_deleted: int
    rows_out: int
    #: Bytes of data by the engine that laid them down; one file may have several.
    segments: dict[Engine, int]
    proof: FileProof
    split_offsets: tuple[int, ...] = ()
    #: Where its rows come from, in its order; none where nobody kept account of it.
    ranges: tuple[SourceRange, ...] = ()
    #: None where the file holds just the rows of its inputs: then theirs are merged.
    metrics: ColumnMetrics | None = None
    #: Where it has metrics, columns without, whose values are those of its inputs.
    unmeasured: frozenset[int] = frozenset()
    #: Bytes of data by what became of them: copied, joined, encoded, left out.
    bytes_by_kind: dict[str, int] = field(default_factory=dict)
    #: Data bytes that passed through the task; none of those that a store copied.
    bytes_through_task: int = 0
    requests: int = 0
    #: What the file lacks that its inputs had, how the store behaved, and which engines refused.
    notes: tuple[str, ...] = ()

    @property
    def engine(self) -> Engine:
        """The one that laid down most of it."""
        return max(self.segments, key=lambda engine: self.segments[engine])


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task says about a group: new files, or why the last engine of its ladder refused."""

    group_id: int
    files: tuple[WrittenFile, ...] = ()
    refused: str | None = None
    #: Names under which something may lie that will not be committed.
    leftovers: tuple[str, ...] = ()
    #: Which attempt at the task this is of; those before it failed or were lost.
    attempt: int = 0


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
    #: Whether the new files are read back, and their rows held against those that they replace.
    reads_back: bool = False


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """What came of an order: new files that nothing refers to yet, or why there are none."""

    order_id: int
    paths: tuple[str, ...] = ()
    rows: int = 0
    #: Live rows of the replaced files, where they were to be counted.
    live_rows: int | None = None
    #: Fingerprints of the replaced rows and of the new files' rows, where they were read back.
    proof: RowFingerprints | None = None
    #: Files of the order that the snapshot does not hold.
    missing: tuple[str, ...] = ()
    error: str | None = None
    #: What the engine needs to commit them.
    handle: object = field(default=None, repr=False, compare=False)
