"""Advice about partitions: too many, or none where some would help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from neve.model.counts import many
from neve.model.facts import PartitionField
from neve.model.health import Advice
from neve.model.sizes import format_size
from neve.planning.advised_table import (
    TIMES,
    AdvisedTable,
    small_partition_bytes,
    small_partitions,
)
from neve.planning.sql_names import sql_name

GB = 1024**3
#: A table that is worth being cut.
MIN_UNPARTITIONED_BYTES = 64 * GB
#: Fewer buckets than this are no use.
MIN_BUCKETS = 2
MAX_BUCKETS_OF_VALUES = 16
BUCKET = re.compile(r"bucket\[(\d+)\]")
#: Of a unit of time, what is wider, and how many become one.
WIDER = {
    "hour": (("days", 24), ("months", 720), ("years", 8760)),
    "day": (("months", 30), ("years", 365)),
    "month": (("years", 12),),
}


def over_partitioned(table: AdvisedTable) -> Iterator[Advice]:
    """Partitions that cannot hold one good file, and by what wider ones they can be replaced."""
    sizes = small_partitions(table.facts, table.policy)
    if not sizes:
        return
    each = median(sizes)
    wanted = small_partition_bytes(table.policy) / max(each, 1)
    for place, field in reversed(list(enumerate(table.spec.fields))):
        if (found := _wider(field, _values(table, place), wanted)) is None:
            continue
        change, times = found
        left = max(1, round(len(sizes) / times))
        yield Advice(
            "over_partitioned",
            f"Partitions by {field.name} are too small to hold one good file.",
            f"{len(sizes):,} partitions hold {format_size(each)} each; one good file has "
            f"{format_size(table.policy.target_file_size_bytes)}.",
            f"about {many(left, 'partition')} instead of {len(sizes):,}. It counts for new files; "
            "Neve leaves old ones in their partitions, and Iceberg's procedure moves them: "
            "rewrite_data_files with the option rewrite-all.",
            f"ALTER TABLE {table.name} {change}",
        )
        return


def _values(table: AdvisedTable, place: int) -> int:
    """How many values a field of the spec has, as far as there are files."""
    keys = {file.partition for file in table.facts.data_files}
    return len({key[1][place] for key in keys if key[0] == table.facts.current_spec_id})


def _wider(field: PartitionField, values: int, wanted: float) -> tuple[str, float] | None:
    """The change that makes partitions as many times larger as is wanted, and how many become one.

    Fields of time stay, since their tables grow; buckets go where hardly one would be left.
    """
    if field.source_column is None or field.transform == "void":
        return None
    column, name = sql_name(field.source_column), sql_name(field.name)
    is_time = field.transform == "identity" and field.result_type in TIMES
    if steps := WIDER.get("day" if is_time else field.transform):
        transform, times = next((step for step in steps if step[1] >= wanted), steps[-1])
        return f"REPLACE PARTITION FIELD {name} WITH {transform}({column})", times
    bucket = BUCKET.fullmatch(field.transform)
    if bucket is None and field.transform != "identity":
        return None
    count = int(bucket[1]) if bucket else values
    left = count if bucket else min(values, MAX_BUCKETS_OF_VALUES)
    while left >= MIN_BUCKETS and (count < wanted * left or left == count):
        left //= 2
    if left < MIN_BUCKETS:
        return f"DROP PARTITION FIELD {name}", max(values, 1)
    return f"REPLACE PARTITION FIELD {name} WITH bucket({left}, {column})", count / left


def under_partitioned(table: AdvisedTable) -> Iterator[Advice]:
    """A large table in one place, which has a column of time."""
    facts = table.facts
    if facts.total_bytes < MIN_UNPARTITIONED_BYTES or not table.spec.is_unpartitioned:
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
