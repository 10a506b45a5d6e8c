"""Assess: facts and policy go in, a judgement with all its parts comes out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from neve.model.counts import many
from neve.model.facts import DataFileFacts, PartitionKey, TableFacts
from neve.model.health import Finding, Health, PartitionHealth, ScanGain, Tier
from neve.model.policy import CompactionPolicy
from neve.model.sizes import format_size
from neve.planning.advised_table import small_partition_bytes, small_partitions
from neve.planning.deletes import FileDeletes
from neve.planning.gain import deletes_by_file, gain_of, live_records
from neve.planning.score import MANIFEST_COUNT, SNAPSHOT_COUNT, score_parts

MB = 1024 * 1024
HISTOGRAM_BOUNDS_MB = (1, 8, 32, 128, 512)
#: Warning and critical thresholds of the findings.
SMALL_FILE_SHARE = (0.2, 0.5)
DELETE_RATIO = (0.1, 0.25)
#: Below this many files a share says little: the table is too small to matter.
MIN_FILES_TO_JUDGE = 5
#: File opens or deletes in a scan below which nothing is critical.
CRITICAL_PER_SCAN = 50


@dataclass(frozen=True, slots=True)
class Assessment:
    """The health, and the figures per file that planning goes on with."""

    health: Health
    #: Deletes by the path of the data file, for files that have any.
    deletes: Mapping[str, FileDeletes]
    files_by_partition: Mapping[PartitionKey, list[DataFileFacts]]
    #: Partitions from the worst to the best.
    scores: Mapping[PartitionKey, PartitionHealth]


def assess(facts: TableFacts, policy: CompactionPolicy, now: datetime) -> Assessment:
    """Judge a table by its metadata alone."""
    deletes = deletes_by_file(facts)
    by_partition: dict[PartitionKey, list[DataFileFacts]] = defaultdict(list)
    for file in facts.data_files:
        by_partition[file.partition].append(file)
    written_at: dict[int | None, datetime] = {
        s.snapshot_id: s.committed_at for s in facts.snapshots if s.job_id is None
    }
    scored = [
        (key, _assess_partition(facts, key, files, deletes, written_at, policy, now))
        for key, files in by_partition.items()
    ]
    scores = dict(sorted(scored, key=lambda item: (-item[1].total_score, item[1].name)))
    gain = gain_of(facts, policy, by_partition.values(), deletes)
    health = replace(
        _health_of(facts, policy, tuple(scores.values()), gain, now),
        live_records=live_records(facts, deletes),
    )
    return Assessment(health, deletes, by_partition, scores)


def _assess_partition(
    facts: TableFacts,
    key: PartitionKey,
    files: list[DataFileFacts],
    deletes: Mapping[str, FileDeletes],
    written_at: Mapping[int | None, datetime],
    policy: CompactionPolicy,
    now: datetime,
) -> PartitionHealth:
    count = len(files)
    small = sum(1 for file in files if file.size_bytes < policy.small_file_bytes)
    fragments = sum(1 for file in files if file.size_bytes < policy.fragment_bytes)
    hit = [deletes[file.path] for file in files if file.path in deletes]
    delete_files = max((found.delete_files for found in hit), default=0)
    newest = max(
        (written_at[f.added_snapshot_id] for f in files if f.added_snapshot_id in written_at),
        default=None,
    )
    age = max(0.0, (now - newest).total_seconds()) if newest else None
    # One file alone cannot be merged with anything, however small it is.
    fragment_score = min(1.0, max(fragments / count if count > 1 else 0.0, len(hit) / count))
    small_file_score = small / count if count > 1 else 0.0
    time_score = age / (age + policy.quiet_seconds) if age else (1.0 if age is None else 0.0)
    weights = policy.weights
    total = (
        weights.fragment * fragment_score
        + weights.small_file * small_file_score
        + weights.time * time_score
    ) / weights.total
    return PartitionHealth(
        name=facts.partition_name(key),
        data_files=count,
        small_files=small,
        fragments=fragments,
        delete_files=delete_files,
        deleted_records=sum(found.vector_records for found in hit),
        total_bytes=sum(file.size_bytes for file in files),
        records=sum(file.record_count for file in files),
        seconds_since_write=age,
        fragment_score=fragment_score,
        small_file_score=small_file_score,
        time_score=time_score,
        total_score=total,
    )


def _health_of(
    facts: TableFacts,
    policy: CompactionPolicy,
    partitions: tuple[PartitionHealth, ...],
    gain: ScanGain,
    now: datetime,
) -> Health:
    files = len(facts.data_files)
    small = count_small_files(facts, policy.small_file_bytes)
    findings = tuple(_findings(facts, small, gain, policy))
    explained = score_parts(facts, gain)
    parts = {part.name: part.points for part in explained}
    return Health(
        table=facts.table,
        snapshot_id=facts.snapshot_id,
        tier=max((f.tier for f in findings), key=list(Tier).index, default=Tier.HEALTHY),
        score=round(sum(parts.values())),
        score_parts=parts,
        findings=findings,
        partitions=partitions,
        data_files=files,
        small_files=small,
        delete_files=dict(Counter(str(delete.kind) for delete in facts.delete_files)),
        total_bytes=facts.total_bytes,
        records=facts.total_records,
        average_file_bytes=facts.total_bytes / files if files else 0.0,
        snapshots=len(facts.snapshots),
        refs=len(facts.refs),
        manifests=facts.manifest_count,
        specs=len(facts.specs),
        commits_per_hour=_commits_per_hour(facts, now),
        file_size_histogram=_histogram(file.size_bytes for file in facts.data_files),
        gain=gain,
        explained=explained,
    )


def count_small_files(facts: TableFacts, small_file_bytes: int) -> int:
    """Small files that have company: one alone in its partition cannot be merged."""
    files = Counter(file.partition for file in facts.data_files)
    return sum(
        1
        for file in facts.data_files
        if file.size_bytes < small_file_bytes and files[file.partition] > 1
    )


def _findings(
    facts: TableFacts, small: int, gain: ScanGain, policy: CompactionPolicy
) -> Iterable[Finding]:
    files = len(facts.data_files)
    delete_ratio = len(facts.delete_files) / files if files else 0.0
    if files >= MIN_FILES_TO_JUDGE and (tier := _tier(small / files, SMALL_FILE_SHARE)):
        yield Finding(
            "small_files",
            _as_it_matters(tier, gain.file_opens),
            f"{small} of {files} files are smaller than {format_size(policy.small_file_bytes)} "
            "and share a partition with others: a full scan opens "
            f"{many(gain.file_opens, 'file')} more than it needs.",
            small / files,
            SMALL_FILE_SHARE[0],
            f"neve compact {facts.table.typed}",
        )
    if tier := _tier(delete_ratio, DELETE_RATIO):
        yield Finding(
            "delete_debt",
            _as_it_matters(tier, gain.deletes_applied),
            f"{many(len(facts.delete_files), 'delete file')} beside "
            f"{many(files, 'data file')}: a full scan applies deletes "
            f"{many(gain.deletes_applied, 'time')}.",
            delete_ratio,
            DELETE_RATIO[0],
            f"neve compact {facts.table.typed} --strategy delete_files",
        )
    if sizes := small_partitions(facts, policy):
        yield Finding(
            "over_partitioned",
            Tier.WARNING,
            f"{len(sizes):,} partitions hold {format_size(median(sizes))} each, too little for one "
            "good file: no rewrite brings files of different partitions together.",
            median(sizes),
            small_partition_bytes(policy),
            f"neve health {facts.table.typed} --advice",
        )
    for code, count, thresholds, what, command in (
        ("snapshots", len(facts.snapshots), SNAPSHOT_COUNT, "snapshots are kept", "expire"),
        (
            "manifests",
            facts.manifest_count,
            MANIFEST_COUNT,
            "manifests must be read to plan a scan",
            "manifests",
        ),
    ):
        if tier := _tier(count, thresholds):
            next_step = f"neve {command} {facts.table.typed}"
            yield Finding(code, tier, f"{count} {what}.", count, thresholds[0], next_step)


def _tier(value: float, thresholds: tuple[float, float]) -> Tier | None:
    warning, critical = thresholds
    if value >= critical:
        return Tier.CRITICAL
    return Tier.WARNING if value >= warning else None


def _as_it_matters(tier: Tier, per_scan: int) -> Tier:
    """A share says little about a small table: critical is what costs a scan something."""
    return tier if per_scan >= CRITICAL_PER_SCAN else Tier.WARNING


def _commits_per_hour(facts: TableFacts, now: datetime) -> float | None:
    """How often writers commit, over the last day in which they did."""
    commits = [s.committed_at for s in facts.snapshots if s.job_id is None]
    if not commits:
        return None
    window_start = max(commits) - timedelta(days=1)
    recent = sorted(moment for moment in commits if moment >= window_start)
    hours = (recent[-1] - recent[0]).total_seconds() / 3600
    return (len(recent) - 1) / hours if hours > 0 else float(len(recent))


def _histogram(sizes: Iterable[int]) -> tuple[tuple[str, int], ...]:
    labels = [f"< {HISTOGRAM_BOUNDS_MB[0]} MB"]
    labels += [f"{low}–{high} MB" for low, high in pairwise(HISTOGRAM_BOUNDS_MB)]
    labels.append(f"≥ {HISTOGRAM_BOUNDS_MB[-1]} MB")
    counts = [0] * len(labels)
    for size in sizes:
        counts[sum(1 for bound in HISTOGRAM_BOUNDS_MB if size >= bound * MB)] += 1
    return tuple(zip(labels, counts, strict=True))
