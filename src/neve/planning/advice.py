"""What an expert would change about a table besides its files: each with evidence and a command."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from neve.model.facts import ManifestContent, PartitionField, SnapshotFacts, TableFacts
from neve.model.health import Advice
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.policy import CompactionPolicy
from neve.model.sizes import format_size
from neve.planning.score import SNAPSHOT_COUNT
from neve.planning.sql_names import full_name, sql_name

MB = 1024 * 1024
GB = 1024 * MB
#: With fewer partitions than this, none is too many.
MIN_PARTITIONS = 24
#: A partition is too small where most hold less than this share of one good file.
SMALL_PARTITION_SHARE = 1 / 8
#: A table that is worth being cut, and one partition that is.
MIN_UNPARTITIONED_BYTES = 64 * GB
#: Target sizes that readers are fine with.
GOOD_TARGET_BYTES = (32 * MB, GB)
RECENT_COMMITS = 20
MIN_COMMITS = 3
MANY_REFS = 50
#: From here on, manifests that each list files of many partitions cost every scan of one of them.
MIN_MANIFESTS = 10
MANIFESTS_PER_PARTITION = 4.0
FULL_OVERLAP = 0.9
TARGET_PROPERTY = "write.target-file-size-bytes"
DISTRIBUTION_PROPERTY = "write.distribution-mode"
FANOUT_PROPERTY = "write.spark.fanout.enabled"
#: Time transforms, each with the one that is coarser, and how many become one.
COARSER = {"hour": ("day", 24), "day": ("month", 30), "month": ("year", 12)}
TRANSFORM_SQL = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
BUCKET = re.compile(r"bucket\[(\d+)\]")
TIMES = ("timestamp", "timestamptz", "date", "timestamp_ns", "timestamptz_ns")


@dataclass(frozen=True, slots=True)
class _Table:
    facts: TableFacts
    policy: CompactionPolicy
    #: How much files of a partition overlap, by column: 0 not at all, 1 wholly.
    overlaps: Mapping[str, float]

    @property
    def name(self) -> str:
        return full_name(self.facts.table)

    @property
    def partition_bytes(self) -> list[int]:
        sizes: Counter[object] = Counter()
        for file in self.facts.data_files:
            sizes[file.partition] += file.size_bytes
        return list(sizes.values())

    def set_property(self, key: str, value: str) -> str:
        return f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{key}' = '{value}')"


def advise(
    facts: TableFacts, policy: CompactionPolicy, overlaps: Mapping[str, float]
) -> Iterator[Advice]:
    """Findings about partitions, writers and metadata, the dearest first."""
    table = _Table(facts, policy, overlaps)
    for rule in RULES:
        yield from rule(table)


def _over_partitioned(table: _Table) -> Iterator[Advice]:
    sizes = table.partition_bytes
    small = table.policy.target_file_size_bytes * SMALL_PARTITION_SHARE
    if len(sizes) < MIN_PARTITIONS or median(sizes) >= small:
        return
    spec = table.facts.specs[table.facts.current_spec_id]
    for field in reversed(spec.fields):
        if (found := _coarser(field)) is None:
            continue
        transform, times = found
        yield Advice(
            "over_partitioned",
            f"Partitions by {field.name} are too small to hold one good file.",
            f"{len(sizes):,} partitions hold {format_size(median(sizes))} each, of "
            f"{format_size(table.policy.target_file_size_bytes)} that one file should have.",
            f"about {max(1, len(sizes) // times):,} partitions and files instead of "
            f"{len(sizes):,}; old files keep their partitions until they are rewritten.",
            f"ALTER TABLE {table.name} REPLACE PARTITION FIELD {sql_name(field.name)} "
            f"WITH {transform}",
        )
        return


def _coarser(field: PartitionField) -> tuple[str, int] | None:
    """A transform that makes fewer partitions, as Spark SQL has it, and how many become one."""
    if field.source_column is None:
        return None
    column = sql_name(field.source_column)
    if field.transform in COARSER:
        wider, times = COARSER[field.transform]
        return f"{TRANSFORM_SQL[wider]}({column})", times
    if (found := BUCKET.fullmatch(field.transform)) and int(found[1]) >= 8:
        return f"bucket({int(found[1]) // 4}, {column})", 4
    if field.transform == "identity":
        if field.result_type in TIMES:
            return f"months({column})", 30
        return f"bucket(16, {column})", 16
    return None


def _under_partitioned(table: _Table) -> Iterator[Advice]:
    facts = table.facts
    if facts.total_bytes < MIN_UNPARTITIONED_BYTES:
        return
    if not facts.specs[facts.current_spec_id].is_unpartitioned:
        return
    column = next((column for column in facts.columns if column.type in TIMES), None)
    if column is None:
        return
    yield Advice(
        "under_partitioned",
        "The table is large and has no partitions.",
        f"{format_size(facts.total_bytes)} in {len(facts.data_files):,} files lie in one place.",
        f"a scan of one day of {column.name} reads that day's files alone.",
        f"ALTER TABLE {table.name} ADD PARTITION FIELD days({sql_name(column.name)})",
    )


def _target_size(table: _Table) -> Iterator[Advice]:
    said = table.facts.properties.get(TARGET_PROPERTY, "")
    least, most = GOOD_TARGET_BYTES
    if not said.isdecimal() or least <= int(said) <= most:
        return
    wanted = table.policy.target_file_size_bytes
    is_small = int(said) < least
    yield Advice(
        "target_size",
        f"Writers aim at files of {format_size(int(said))}.",
        f"{TARGET_PROPERTY} is {said}; readers are fine with {format_size(least)} to "
        f"{format_size(most)}.",
        "new files need no compaction for their size."
        if is_small
        else "scans can share large files out among tasks, and skip more of them.",
        table.set_property(TARGET_PROPERTY, str(wanted)),
    )


def _writers(table: _Table) -> Iterator[Advice]:
    """Commits that leave several small files in a partition, whose rows could be together."""
    commits = [s for s in table.facts.snapshots if s.job_id is None and s.operation == "append"]
    counted = [c for c in map(_commit, commits[-RECENT_COMMITS:]) if c is not None]
    if len(counted) < MIN_COMMITS:
        return
    files, size, places = (sum(part) for part in zip(*counted, strict=True))
    if files < 2 * places or size / files >= table.policy.target_file_size_bytes / 4:
        return
    mode = table.facts.properties.get(DISTRIBUTION_PROPERTY)
    fans_out = table.facts.properties.get(FANOUT_PROPERTY, "").lower() == "true"
    if mode == "hash" and not fans_out:
        return
    evidence = (
        f"{len(counted)} recent commits added {files:,} files of {format_size(size / files)} to "
        f"{places:,} partitions"
    )
    why = f"{DISTRIBUTION_PROPERTY} is {mode or 'not set'}{', and fan-out is on' * fans_out}."
    yield Advice(
        "write_distribution",
        "Writers leave several small files in each partition that they write to.",
        f"{evidence}; {why}",
        f"about {places:,} files instead of {files:,} from as many commits.",
        table.set_property(*((FANOUT_PROPERTY, "false") if mode == "hash" else DISTRIBUTE)),
    )


DISTRIBUTE = (DISTRIBUTION_PROPERTY, "hash")


def _commit(snapshot: SnapshotFacts) -> tuple[int, int, int] | None:
    """Files, bytes and partitions that a commit added, where its summary tells."""
    keys = ("added-data-files", "added-files-size", "changed-partition-count")
    told = [snapshot.summary.get(key, "") for key in keys]
    if not all(text.isdecimal() for text in told) or told[0] == "0":
        return None
    files, size, places = map(int, told)
    return files, size, max(1, places)


def _manifests(table: _Table) -> Iterator[Advice]:
    data = [m for m in table.facts.manifests if m.content is ManifestContent.DATA]
    counts = [m.partition_count for m in data if m.partition_count]
    places = len(table.partition_bytes)
    if len(data) < MIN_MANIFESTS or places < 2 or not counts:
        return
    each = sum(counts) / places
    if each < MANIFESTS_PER_PARTITION:
        return
    yield Advice(
        "manifests_unclustered",
        "Manifests are not clustered by partition.",
        f"files of one partition are listed in {each:.0f} of {len(data)} manifests on average.",
        f"planning a scan of one partition reads {max(1, round(each) - 1)} manifests fewer.",
        f"neve manifests {table.facts.table.typed}",
    )


def _metadata(table: _Table) -> Iterator[Advice]:
    facts = table.facts
    if len(facts.snapshots) >= SNAPSHOT_COUNT[0]:
        oldest = min(snapshot.committed_at for snapshot in facts.snapshots)
        yield Advice(
            "many_snapshots",
            "The table keeps many snapshots.",
            f"{len(facts.snapshots):,} snapshots since {oldest:%Y-%m-%d}; every load reads them.",
            "loads and commits get faster, and files that only old snapshots need are freed.",
            f"neve expire {facts.table.typed} --older-than 7d --apply",
        )
    refs = [ref for ref in facts.refs if not ref.name.startswith(UNDO_TAG_PREFIX)]
    if len(refs) >= MANY_REFS:
        endless = sum(1 for ref in refs if ref.max_age_ms is None and ref.name != "main")
        yield Advice(
            "many_refs",
            "The table has many branches and tags, which keep snapshots from expiring.",
            f"{len(refs)} refs, {endless} of them without an end.",
            "their snapshots can expire, and their files can be freed.",
            f"neve snapshots {facts.table.typed}",
        )


def _sort(table: _Table) -> Iterator[Advice]:
    """Only where nothing is sorted, and bounds tell readers nothing about any column."""
    facts = table.facts
    if facts.sort_columns or not table.overlaps:
        return
    if min(table.overlaps.values()) < FULL_OVERLAP:
        return
    kinds = {column.name: column.type for column in facts.columns}
    times = [name for name in table.overlaps if kinds.get(name) in TIMES]
    chosen = (times or list(table.overlaps))[0]
    yield Advice(
        "unsorted",
        "No column tells files apart: every filter opens all files of its partition.",
        "bounds of files overlap by "
        + ", ".join(f"{share:.0%} in {name}" for name, share in sorted(table.overlaps.items()))
        + ".",
        f"a filter on {chosen}, or on another column that you sort by, skips most files.",
        f"neve compact {facts.table.typed} --strategy sort --sort-by {shlex.quote(chosen)}",
    )


RULES: tuple[Callable[[_Table], Iterator[Advice]], ...] = (
    _over_partitioned,
    _under_partitioned,
    _writers,
    _target_size,
    _sort,
    _manifests,
    _metadata,
)
