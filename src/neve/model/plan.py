"""What Neve intends to do to a table: immutable, explained, made from one snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from neve.model.exact import exact
from neve.model.health import PartitionHealth
from neve.model.policy import Engine, Strategy
from neve.model.table import TableRef

#: A partition value as Iceberg writes single values in JSON.
JsonValue = str | int | float | bool | None


class NothingToDo(StrEnum):
    """Why a plan, or a part of the table, stays untouched."""

    NO_SNAPSHOT = "no_snapshot"
    NO_DATA_FILES = "no_data_files"
    FILTER_MATCHES_NOTHING = "filter_matches_nothing"
    ALREADY_GOOD = "already_good"
    TOO_FEW_FILES = "too_few_files"
    WOULD_NOT_CONVERGE = "would_not_converge"
    TOO_YOUNG = "too_young"
    NO_DELETES = "no_deletes"
    ALREADY_SORTED = "already_sorted"
    OVER_BUDGET = "over_budget"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for doing nothing, for the table or for one partition."""

    code: NothingToDo
    sentence: str
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the range in which the truth is expected."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What a group or a plan is expected to take."""

    bytes_read: int
    bytes_written: int
    get_requests: int
    put_requests: int
    memory_gb: float
    seconds: Interval
    usd: Interval


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One data file that a group replaces."""

    path: str
    size_bytes: int
    record_count: int


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """One field of the partition that a group lies in."""

    name: str
    transform: str
    source_column: str | None
    value: JsonValue

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", exact(self.value))


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of one partition that become `expected_output_files` new ones."""

    group_id: int
    spec_id: int
    partition: str
    partition_values: tuple[PartitionValue, ...]
    files: tuple[PlannedFile, ...]
    delete_files: int
    input_bytes: int
    records: int
    expected_output_files: int
    engine: Engine
    #: Why this engine.
    engine_reason: str
    #: Why these files.
    rule: str
    gain: float
    cost: Cost

    @property
    def files_removed(self) -> int:
        return len(self.files) - self.expected_output_files


def layout_name(strategy: Strategy, sort_columns: tuple[str, ...]) -> str:
    """How a strategy arranges rows: `binpack`, `sort(a,b)` or `zorder(a,b)`."""
    return f"{strategy}({','.join(sort_columns)})" if strategy.orders_rows else "binpack"


@dataclass(frozen=True, slots=True)
class RewriteDataFiles:
    """The step that compacts: which groups, how, and towards what size."""

    strategy: Strategy
    engine: Engine
    target_file_size_bytes: int
    min_file_size_bytes: int
    min_input_files: int
    sort_columns: tuple[str, ...]
    #: Iceberg's expression JSON that covers the groups' partitions and the user's filter.
    filter: str
    groups: tuple[FileGroup, ...]
    operation: str = "rewrite_data_files"

    @property
    def layout(self) -> str:
        """How rows are arranged in the outputs; kept on the snapshot so that a run converges."""
        return layout_name(self.strategy, self.sort_columns)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for one table. Applying it runs this, or refuses as stale."""

    plan_id: str
    table: TableRef
    table_uuid: str
    snapshot_id: int | None
    #: The newest one at that snapshot: deletes above it came later.
    sequence_number: int
    schema_id: int
    spec_id: int
    created_at: datetime
    where: str | None
    strategy: Strategy
    target_file_size_bytes: int
    #: Files below this count as small.
    small_file_bytes: int
    #: Copied files whose row groups turn out smaller are re-encoded instead.
    min_row_group_bytes: int
    undo_window_seconds: int
    steps: tuple[RewriteDataFiles, ...]
    #: Why there is nothing to do, and what was left out of the steps.
    reasons: tuple[Reason, ...]
    partitions: tuple[PartitionHealth, ...]
    cost: Cost
    gain: float

    @property
    def is_empty(self) -> bool:
        return not self.steps

    @property
    def groups(self) -> tuple[FileGroup, ...]:
        return tuple(group for step in self.steps for group in step.groups)

    @property
    def reason(self) -> str:
        """One sentence: what the plan does, or why it does nothing."""
        if self.is_empty:
            return self.reasons[0].sentence if self.reasons else "Nothing to do."
        files = sum(len(group.files) for group in self.groups)
        outputs = sum(group.expected_output_files for group in self.groups)
        partitions = len({(g.spec_id, g.partition_values) for g in self.groups})
        return (
            f"{files} files in {partitions} partition{'s' if partitions != 1 else ''} "
            f"become about {outputs}."
        )
