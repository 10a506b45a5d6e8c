"""Files that are rewritten together, and what that is expected to take."""

from __future__ import annotations

from dataclasses import dataclass

from neve.model.exact import exact
from neve.model.policy import Engine, Strategy

#: A partition value as Iceberg writes single values in JSON.
JsonValue = str | int | float | bool | None


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
