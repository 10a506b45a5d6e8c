"""What an expert would change about a table besides its files: each with evidence and a command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from neve.model.facts import ManifestContent, TableFacts
from neve.model.health import Advice
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.policy import CompactionPolicy
from neve.planning.advised_table import TIMES, AdvisedTable
from neve.planning.partition_advice import over_partitioned, under_partitioned
from neve.planning.score import SNAPSHOT_COUNT
from neve.planning.writer_advice import frequent_commits, scattered_writes, target_size

#: Ages in days that snapshots may be let go at, the most careful first.
EXPIRY_DAYS = (7, 3, 1)
MANY_REFS = 50
MAX_REF_AGE_PROPERTY = "history.expire.max-ref-age-ms"
MAX_REF_AGE_DAYS = 90
#: From here on, manifests that each list files of many partitions cost every scan of one of them.
MIN_MANIFESTS = 10
MANIFESTS_PER_PARTITION = 4.0
FULL_OVERLAP = 0.9
#: Sorting is worth it where so many files of a partition are left once it is compacted.
MIN_FILES_TO_SKIP = 4


def advise(
    facts: TableFacts, policy: CompactionPolicy, overlaps: Mapping[str, float]
) -> Iterator[Advice]:
    """Findings about partitions, writers and metadata, the dearest first."""
    table = AdvisedTable(facts, policy, overlaps)
    for rule in RULES:
        yield from rule(table)


def _manifests(table: AdvisedTable) -> Iterator[Advice]:
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


def _snapshots(table: AdvisedTable) -> Iterator[Advice]:
    """Only where there are some of an age at which they may go."""
    facts = table.facts
    if (count := len(facts.snapshots)) < SNAPSHOT_COUNT[0]:
        return
    old = {days: _older(facts, days) for days in EXPIRY_DAYS}
    enough = [days for days in EXPIRY_DAYS if count - old[days] < SNAPSHOT_COUNT[0]]
    days = enough[0] if enough else EXPIRY_DAYS[-1]
    if not old[days]:
        return
    oldest = min(snapshot.committed_at for snapshot in facts.snapshots)
    yield Advice(
        "many_snapshots",
        "The table keeps many snapshots.",
        f"{count:,} snapshots since {oldest:%Y-%m-%d}, {old[days]:,} of them older than {days}d; "
        "every load reads them all.",
        "loads and commits get faster, and files that only old snapshots need are freed; "
        "with --apply.",
        f"neve expire {facts.table.typed} --older-than {days}d",
    )


def _older(facts: TableFacts, days: int) -> int:
    before = facts.surveyed_at - timedelta(days=days)
    return sum(1 for snapshot in facts.snapshots if snapshot.committed_at < before)


def _refs(table: AdvisedTable) -> Iterator[Advice]:
    """Refs without an end, where the table gives them none either."""
    refs = [
        ref
        for ref in table.facts.refs
        if ref.name != "main" and not ref.name.startswith(UNDO_TAG_PREFIX)
    ]
    endless = sum(1 for ref in refs if ref.max_age_ms is None)
    if len(refs) < MANY_REFS or not endless or MAX_REF_AGE_PROPERTY in table.facts.properties:
        return
    age_ms = MAX_REF_AGE_DAYS * 24 * 3600 * 1000
    yield Advice(
        "many_refs",
        "The table has many branches and tags, which keep snapshots from expiring.",
        f"{len(refs)} branches and tags, {endless} of them without an end.",
        f"the next expiry ends those whose snapshot is older than {MAX_REF_AGE_DAYS} days and "
        "that say nothing else; their snapshots can go, and their files can be freed.",
        table.set_property(MAX_REF_AGE_PROPERTY, str(age_ms)),
    )


def _sort(table: AdvisedTable) -> Iterator[Advice]:
    """Only where nothing is sorted, bounds tell files apart by no column, and enough files stay."""
    facts = table.facts
    if facts.sort_columns or not table.overlaps:
        return
    if min(table.overlaps.values()) < FULL_OVERLAP:
        return
    largest = max(table.partition_bytes)
    if largest < MIN_FILES_TO_SKIP * table.policy.target_file_size_bytes:
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


RULES: tuple[Callable[[AdvisedTable], Iterator[Advice]], ...] = (
    over_partitioned,
    under_partitioned,
    frequent_commits,
    scattered_writes,
    target_size,
    _sort,
    _manifests,
    _snapshots,
    _refs,
)
