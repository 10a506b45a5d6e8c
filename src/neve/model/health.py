"""How well a table is, with every part of the judgement visible."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from neve.model.table import TableRef


class Tier(StrEnum):
    """Three tiers first, a number second. The table's tier is its worst finding's."""

    HEALTHY = "healthy"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class PartitionHealth:
    """One partition's figures and the scores that follow from them (0 = well, 1 = ill)."""

    name: str
    data_files: int
    small_files: int
    fragments: int
    delete_files: int
    #: Rows that metadata says are deleted; equality deletes are not rows yet and not counted.
    deleted_records: int
    total_bytes: int
    records: int
    seconds_since_write: float | None
    fragment_score: float
    small_file_score: float
    time_score: float
    total_score: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the table suffers from, with the threshold that it crossed."""

    code: str
    tier: Tier
    sentence: str
    value: float
    threshold: float
    #: The command that would cure it, where there is one.
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """The judgement of one survey."""

    table: TableRef
    snapshot_id: int | None
    tier: Tier
    #: 100 is well; `score_parts` add up to it.
    score: int
    score_parts: dict[str, float]
    findings: tuple[Finding, ...]
    partitions: tuple[PartitionHealth, ...]
    data_files: int
    small_files: int
    delete_files: dict[str, int]
    total_bytes: int
    records: int
    average_file_bytes: float
    snapshots: int
    refs: int
    manifests: int
    specs: int
    commits_per_hour: float | None
    file_size_histogram: tuple[tuple[str, int], ...]
