"""What a cure would gain: file opens, deletes and bytes that every full scan does without."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from neve.model.facts import DataFileFacts, TableFacts
from neve.model.health import ScanGain
from neve.model.policy import CompactionPolicy
from neve.planning.deletes import DeleteIndex, FileDeletes

#: What a scan spends on an object store before the first byte of a file, roughly.
SECONDS_PER_OPEN = 0.03
DELETE_BYTES_PER_SECOND = 50 * 1024 * 1024


def deletes_by_file(facts: TableFacts) -> dict[str, FileDeletes]:
    """Deletes by the path of the data file, for files that have any."""
    if not facts.delete_files:
        return {}
    index = DeleteIndex(facts.delete_files, dict(facts.specs))
    found = ((file.path, index.applying_to(file)) for file in facts.data_files)
    return {path: deletes for path, deletes in found if deletes.delete_files}


def live_records(facts: TableFacts, deletes: Mapping[str, FileDeletes] | None = None) -> int | None:
    """Rows that a reader sees; None where only reading delete files would tell."""
    found = deletes_by_file(facts) if deletes is None else deletes
    if any(item.needs_scan for item in found.values()):
        return None
    return facts.total_records - sum(item.vector_records for item in found.values())


def gain_of(
    facts: TableFacts,
    policy: CompactionPolicy,
    partitions: Iterable[Sequence[DataFileFacts]],
    deletes: Mapping[str, FileDeletes],
) -> ScanGain:
    """By metadata alone: small files become as few as their bytes need, and deletes are applied."""
    opens = sum(_opens_saved(files, policy) for files in partitions)
    applied = sum(found.delete_files for found in deletes.values())
    size = sum(file.size_bytes for file in facts.delete_files)
    seconds = SECONDS_PER_OPEN * (opens + applied) + size / DELETE_BYTES_PER_SECOND
    return ScanGain(opens, applied, size, round(seconds, 3))


def _opens_saved(files: Sequence[DataFileFacts], policy: CompactionPolicy) -> int:
    small = [file.size_bytes for file in files if file.size_bytes < policy.small_file_bytes]
    needed = max(1, math.ceil(sum(small) / policy.target_file_size_bytes))
    return max(0, len(small) - needed)
