"""Advice about writers: what makes small files, and what to change so that they do not come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from neve.model.counts import many
from neve.model.health import Advice
from neve.model.sizes import format_size
from neve.planning.advised_table import (
    TIMES,
    AdvisedTable,
    Commit,
    small_partition_bytes,
)
from neve.planning.sql_names import sql_name

MB = 1024 * 1024
#: Target sizes that readers are fine with.
GOOD_TARGET_BYTES = (32 * MB, 1024 * MB)
MIN_COMMITS = 3
#: How many commits show how often a writer commits, and intervals that are easily said, in minutes.
MIN_COMMITS_OF_A_STREAM = 10
INTERVALS_MINUTES = (2, 5, 10, 15, 30, 60)
TARGET_PROPERTY = "write.target-file-size-bytes"
DISTRIBUTION_PROPERTY = "write.distribution-mode"
#: How writers say how often they commit, by a key that they leave in summaries.
INTERVAL_SETTINGS = {
    "spark.app.id": '# Spark: .trigger(processingTime="{minutes} minutes")',
    "flink.job-id": "# Flink: SET 'execution.checkpointing.interval' = '{minutes} min'",
}
ANY_WRITER = "# in the writer: one commit in {minutes} minutes"


def scattered_writes(table: AdvisedTable) -> Iterator[Advice]:
    """Commits that leave several small files in a partition, whose rows could be together.

    Spark clusters rows by partition where the mode is hash, which for partitioned tables it is by
    itself; fan-out changes nothing about it. Without partitions there is nothing to hash by, and
    an order of rows is what makes Spark gather them.
    """
    commits = table.recent_commits()
    if len(commits) < MIN_COMMITS:
        return
    files = sum(commit.files for commit in commits)
    size = sum(commit.size_bytes for commit in commits)
    places = sum(commit.partitions for commit in commits)
    if files < 2 * places or size / files >= table.policy.target_file_size_bytes / 4:
        return
    mode = table.facts.properties.get(DISTRIBUTION_PROPERTY)
    command = _gather(table, mode)
    if command is None:
        return
    yield Advice(
        "write_distribution",
        "Writers leave several small files in each partition that they write to.",
        f"{len(commits)} recent commits added {files:,} files of {format_size(size / files)} to "
        f"{many(places, 'partition')}; {DISTRIBUTION_PROPERTY} is {mode or 'not set'}.",
        f"about {places:,} files instead of {files:,} from as many commits of Spark or Flink.",
        command,
    )


def _gather(table: AdvisedTable, mode: str | None) -> str | None:
    """The statement after which Spark brings rows together; None where it does so already."""
    if not table.spec.is_unpartitioned:
        if mode == "hash":
            return None
        return table.set_property(DISTRIBUTION_PROPERTY, "hash")
    if table.facts.sort_columns:
        if mode in (None, "range"):
            return None
        return table.set_property(DISTRIBUTION_PROPERTY, "range")
    column = next((column for column in table.facts.columns if column.type in TIMES), None)
    return f"ALTER TABLE {table.name} WRITE ORDERED BY {sql_name(column.name)}" if column else None


def frequent_commits(table: AdvisedTable) -> Iterator[Advice]:
    """Writers that commit so often that no commit can make a good file."""
    commits = table.recent_commits()
    if len(commits) < MIN_COMMITS_OF_A_STREAM:
        return
    each = sum(c.size_bytes for c in commits) / sum(c.partitions for c in commits)
    seconds = _seconds_between(commits)
    wanted = seconds * small_partition_bytes(table.policy) / max(each, 1)
    longest = INTERVALS_MINUTES[-1]
    minutes = next((m for m in INTERVALS_MINUTES if m * 60 >= wanted), longest)
    if wanted < 2 * seconds or minutes * 60 < 2 * seconds:
        return
    summary = commits[-1].snapshot.summary
    setting = next((text for key, text in INTERVAL_SETTINGS.items() if key in summary), ANY_WRITER)
    rarer = round(minutes * 60 / max(seconds, 0.1))
    yield Advice(
        "frequent_commits",
        "Writers commit often, and little each time.",
        f"the last {len(commits)} commits came every {seconds:.1f} s, and each added "
        f"{format_size(each)} to a partition.",
        f"one snapshot and one file of a partition where there are {rarer:,} now; "
        f"readers see rows up to {minutes} minutes later.",
        setting.format(minutes=minutes),
    )


def _seconds_between(commits: list[Commit]) -> float:
    times = [commit.snapshot.committed_at for commit in commits]
    return median((after - before).total_seconds() for before, after in pairwise(times))


def target_size(table: AdvisedTable) -> Iterator[Advice]:
    """A target far from what readers like, where writers get that far at all."""
    said = table.facts.properties.get(TARGET_PROPERTY, "")
    least, most = GOOD_TARGET_BYTES
    if not said.isdecimal() or least <= int(said) <= most:
        return
    is_small = int(said) < least
    commits = table.recent_commits()
    written = sum(c.size_bytes for c in commits) / sum(c.files for c in commits) if commits else 0
    if is_small and commits and written < int(said) / 2:
        return
    yield Advice(
        "target_size",
        f"Writers aim at files of {format_size(int(said))}.",
        f"{TARGET_PROPERTY} is {said}; readers are fine with {format_size(least)} to "
        f"{format_size(most)}.",
        "new files need no compaction for their size."
        if is_small
        else "scans can share large files out among tasks, and skip more of them.",
        table.set_property(TARGET_PROPERTY, str(table.policy.target_file_size_bytes)),
    )
