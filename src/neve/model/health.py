"""How well a table is, with every part of the judgement visible."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from neve.model.counts import many
from neve.model.sizes import format_size
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
class ScanGain:
    """What every full scan would do without after a cure."""

    file_opens: int = 0
    #: Pairs of a data file and a delete file that readers apply to it.
    deletes_applied: int = 0
    delete_bytes: int = 0
    #: The same as time on an object store, roughly: what tables are ranked by.
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """In words; empty where there is nothing to gain."""
        parts = []
        if self.file_opens:
            parts.append(f"open {many(self.file_opens, 'file')} fewer")
        if self.deletes_applied:
            size = format_size(self.delete_bytes)
            parts.append(f"apply {many(self.deletes_applied, 'delete')} fewer ({size})")
        return f"A full scan would {' and '.join(parts)} after a cure." if parts else ""


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of the score: its points, of how many, and what takes them away."""

    name: str
    points: float
    of: float
    sentence: str


@dataclass(frozen=True, slots=True)
class Advice:
    """Something to change about a table or its writers, which no rewrite of files would cure."""

    code: str
    sentence: str
    #: What it is concluded from.
    evidence: str
    #: What it would bring.
    gain: str
    #: What to run: Spark SQL with Iceberg's extensions, or a command of Neve's own.
    command: str


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
    #: Rows in data files, deleted ones among them.
    records: int
    average_file_bytes: float
    snapshots: int
    refs: int
    manifests: int
    specs: int
    commits_per_hour: float | None
    file_size_histogram: tuple[tuple[str, int], ...]
    #: Rows that readers see; None where only reading delete files would tell.
    live_records: int | None = None
    gain: ScanGain = ScanGain()
    #: `score_parts` again, each with what it means.
    explained: tuple[ScorePart, ...] = ()
