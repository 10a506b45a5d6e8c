"""When position delete files are rewritten: several say what fewer could."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from neve.model.counts import many
from neve.model.facts import (
    DataFileFacts,
    DeleteFileFacts,
    DeleteKind,
    PartitionKey,
    TableFacts,
)
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policies import RewritePositionDeleteFilesArguments
from neve.model.steps import RewritePositionDeleteFiles
from neve.planning.deletes import dangling_deletes
from neve.planning.expressions import combine, from_json, from_partitions, to_json
from neve.planning.operations.intent import operation_plan, size_property, snapshots_made_by
from neve.planning.partition_values import partition_values

OPERATION = Operation.REWRITE_POSITION_DELETE_FILES
TARGET_SIZE = "write.delete.target-file-size-bytes"
DEFAULT_TARGET_BYTES = 64 * 1024 * 1024
GRANULARITY = "write.delete.granularity"
#: Iceberg's own share of the target below which a delete file is small.
MIN_SIZE_RATIO = 0.75
MIN_INPUT_FILES = 2
JAVA_LONG_MAX = 2**63 - 1


def plan_rewrite_position_delete_files(
    facts: TableFacts, arguments: RewritePositionDeleteFilesArguments, now: datetime
) -> Plan[RewritePositionDeleteFiles]:
    """Choose the partitions whose position delete files are to be merged."""
    by_partition = _by_partition(facts)
    if facts.format_version >= 3:
        return _to_vectors(facts, by_partition, now)
    target_bytes = arguments.target_file_size_bytes or size_property(
        facts, TARGET_SIZE, DEFAULT_TARGET_BYTES
    )
    min_files = max(2, arguments.min_input_files or MIN_INPUT_FILES)
    inputs, outputs, chosen = 0, 0, []
    settled = snapshots_made_by(OPERATION, facts)
    for key, deletes in by_partition.items():
        small = [d for d in deletes if d.size_bytes < int(target_bytes * MIN_SIZE_RATIO)]
        # What an earlier run wrote is not merged again for itself.
        is_fresh = any(delete.added_snapshot_id not in settled for delete in small)
        if len(small) >= min_files and is_fresh:
            expected = _expected_files(facts, key, small, target_bytes)
            if expected < len(small):
                inputs, outputs = inputs + len(small), outputs + expected
                chosen.append(key)
    if not chosen:
        return operation_plan(OPERATION, facts, now, (), _why_not(by_partition, min_files))
    options = {
        "target-file-size-bytes": str(target_bytes),
        "min-input-files": str(min_files),
        # A large file is no problem; without this it would be split.
        "max-file-size-bytes": str(JAVA_LONG_MAX),
        # One commit or none: partial progress hides commits that failed.
        "partial-progress.enabled": "false",
    }
    places = many(len(chosen), "partition")
    reason = f"{inputs:,} position delete files in {places} become at most {outputs:,}."
    return _act(facts, chosen, options, reason, now)


def _by_partition(facts: TableFacts) -> dict[PartitionKey, list[DeleteFileFacts]]:
    """Position delete files that still apply, where the survey's filter selects anything."""
    positions = [d for d in facts.delete_files if d.kind is DeleteKind.POSITION]
    selected = {file.partition for file in facts.data_files if file.selected}
    dangling = set(dangling_deletes(positions, facts.data_files, facts.specs))
    found: dict[PartitionKey, list[DeleteFileFacts]] = defaultdict(list)
    for delete in positions:
        if delete not in dangling and delete.partition in selected:
            found[delete.partition].append(delete)
    return found


def _to_vectors(
    facts: TableFacts, by_partition: dict[PartitionKey, list[DeleteFileFacts]], now: datetime
) -> Plan[RewritePositionDeleteFiles]:
    if not by_partition:
        reason = "Format version 3 keeps one deletion vector a data file: none can be merged."
        return operation_plan(OPERATION, facts, now, (), reason)
    count = sum(len(deletes) for deletes in by_partition.values())
    options = {"rewrite-all": "true", "partial-progress.enabled": "false"}
    reason = f"{count} position delete files of format version 2 become deletion vectors."
    return _act(facts, list(by_partition), options, reason, now)


def _expected_files(
    facts: TableFacts, key: PartitionKey, small: Sequence[DeleteFileFacts], target_bytes: int
) -> int:
    """How many files come out at most: one a data file, unless the table has them merged."""
    if facts.properties.get(GRANULARITY, "file").lower() == "partition":
        return max(1, math.ceil(sum(delete.size_bytes for delete in small) / target_bytes))
    named = {d.referenced_path for d in small if d.referenced_path is not None}
    newest = max((d.data_sequence_number for d in small if d.referenced_path is None), default=None)
    if newest is not None:
        named |= _paths_up_to(newest, (f for f in facts.data_files if f.partition == key))
    return len(named)


def _paths_up_to(sequence_number: int, files: Iterable[DataFileFacts]) -> set[str]:
    """Files that a delete which names none of them may speak of."""
    return {file.path for file in files if file.data_sequence_number <= sequence_number}


def _why_not(by_partition: dict[PartitionKey, list[DeleteFileFacts]], min_files: int) -> str:
    if not by_partition:
        return "No position delete file applies to the table."
    count = sum(len(deletes) for deletes in by_partition.values())
    return (
        f"{many(count, 'position delete file')} in {many(len(by_partition), 'partition')} "
        "cannot be merged into "
        f"fewer ({min_files} small ones in a partition are needed)."
    )


def _act(
    facts: TableFacts,
    chosen: Sequence[PartitionKey],
    options: dict[str, str],
    reason: str,
    now: datetime,
) -> Plan[RewritePositionDeleteFiles]:
    where = from_json(facts.filter) if facts.filter else True
    partitions = from_partitions(partition_values(facts, key) for key in chosen)
    step = RewritePositionDeleteFiles(to_json(combine("and", [where, partitions])), options)
    return operation_plan(OPERATION, facts, now, [step], reason)
