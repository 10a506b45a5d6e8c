"""What a table should look like, and how hard to work for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from neve.model.errors import InputError
from neve.model.sizes import format_size

MB = 1024 * 1024
DEFAULT_TARGET_FILE_SIZE_BYTES = 128 * MB


class Strategy(StrEnum):
    """Which problem a compaction is after."""

    AUTO = "auto"
    SMALL_FILES = "small_files"
    DELETE_FILES = "delete_files"
    TIME_SERIES = "time_series"
    SORT = "sort"
    ZORDER = "zorder"

    @property
    def orders_rows(self) -> bool:
        """True for strategies that change the order of rows, not only the size of files."""
        return self in (Strategy.SORT, Strategy.ZORDER)


class RewriteMode(StrEnum):
    """Which engine is asked for: the best that can, or this one and what it falls back to."""

    AUTO = "auto"
    SPARK = "spark"
    REWRITE = "rewrite"
    COPY = "copy"
    REMOTE_COPY = "remote_copy"


class Verify(StrEnum):
    """What new files are held against before they are committed; rows are counted anyway."""

    #: What was written is read back: bytes that were copied, and rows that were decoded.
    FULL = "full"
    #: New files' footers, and what manifests say of them.
    METADATA = "metadata"
    OFF = "off"

    @property
    def reads_values(self) -> bool:
        return self is Verify.FULL


def stricter(one: Verify | None, other: Verify | None) -> Verify | None:
    """The stricter of two wishes; nothing was said where both are None."""
    said = [each for each in (one, other) if each is not None]
    return min(said, key=list(Verify).index, default=None)


class Engine(StrEnum):
    """Who rewrites a file group; `planning/engines.py` says what each one can."""

    SPARK = "spark"
    REWRITE = "rewrite"
    COPY = "copy"
    REMOTE_COPY = "remote_copy"


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """How much each part counts in a partition's total score."""

    fragment: float = 0.4
    small_file: float = 0.4
    time: float = 0.2

    def __post_init__(self) -> None:
        if min(self.fragment, self.small_file, self.time) < 0 or self.total <= 0:
            raise InputError("Score weights must not be negative, and one must be above zero.")

    @property
    def total(self) -> float:
        return self.fragment + self.small_file + self.time


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """Targets and thresholds for one table."""

    target_file_size_bytes: int = DEFAULT_TARGET_FILE_SIZE_BYTES
    #: A file below this share of the target is small.
    min_file_size_ratio: float = 0.75
    #: A file below this share of the target is a fragment.
    fragment_size_ratio: float = 0.125
    #: Fewer small files than this in a partition are left alone.
    min_input_files: int = 2
    #: Delete files per data file above which `delete_files` acts.
    delete_file_ratio: float = 0.1
    #: Deleted records per record above which `delete_files` acts.
    delete_record_ratio: float = 0.1
    #: Smaller row groups are re-encoded into larger ones, larger ones are copied.
    min_row_group_bytes: int = 4 * MB
    #: `time_series` leaves a partition alone until it was quiet for so long.
    quiet_seconds: int = 3600
    #: Every strategy leaves a partition alone that was written less long ago than this.
    hot_partition_seconds: int = 0
    undo_window_seconds: int = 7 * 86400
    weights: ScoreWeights = field(default_factory=ScoreWeights)

    def __post_init__(self) -> None:
        if self.target_file_size_bytes <= 0:
            raise InputError(
                f"A target file size of {self.target_file_size_bytes} bytes is not possible.",
                next_step="Give a size above zero, for example 128MB.",
            )
        if not 0 < self.min_file_size_ratio <= 1 or not 0 <= self.fragment_size_ratio <= 1:
            raise InputError("File size ratios must lie between 0 and 1.")
        if self.min_input_files < 2:
            raise InputError("min_input_files must be 2 at least: one file alone is not compacted.")

    @property
    def small_file_bytes(self) -> int:
        """Files below this many bytes are small."""
        return max(1, int(self.target_file_size_bytes * self.min_file_size_ratio))

    @property
    def fragment_bytes(self) -> int:
        """Files below this many bytes are fragments."""
        return int(self.target_file_size_bytes * self.fragment_size_ratio)

    def describe_target(self) -> str:
        return format_size(self.target_file_size_bytes)
