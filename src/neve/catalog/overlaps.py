"""How much the files of a partition overlap, column by column: by the bounds in manifests."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.types import (
    DateType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from neve.catalog.connect import Catalogs
from neve.catalog.errors import table_errors
from neve.catalog.manifests import CONTENT_DATA, read_entries, read_manifests
from neve.catalog.survey import partition_values
from neve.model.facts import TableFacts

#: Bounds of other types say little, or are not in the order that readers go by.
ORDERED = (DateType, IntegerType, LongType, StringType, TimestampType, TimestamptzType)
MAX_COLUMNS = 8
MAX_FILES = 5_000
MIN_FILES = 4

Bounds = tuple[Any, Any]


def column_overlaps(catalogs: Catalogs, facts: TableFacts) -> dict[str, float]:
    """By column: of the other files of a partition, the share that a value of one file may be in.

    0 means that files are apart, 1 that each reaches over all. Partitions of few files, and tables
    of more files than are read here, have nothing to tell.
    """
    if facts.snapshot_id is None or len(facts.data_files) > MAX_FILES:
        return {}
    with table_errors(facts.table):
        loaded = catalogs.load_with(facts.table, facts.snapshot_id)
        snapshot = loaded.snapshot_by_id(facts.snapshot_id)
        columns = [f for f in loaded.schema().fields if isinstance(f.field_type, ORDERED)]
        found: dict[tuple[int, object], list[Bounds]] = defaultdict(list)
        for manifest in read_manifests(loaded.io, snapshot) if snapshot else []:
            for entry in read_entries(loaded.io, manifest, with_metrics=True):
                if entry.content != CONTENT_DATA or entry.metrics is None:
                    continue
                place = (entry.spec_id, partition_values(entry.partition))
                for field in columns[:MAX_COLUMNS]:
                    low = entry.metrics.lower_bounds.get(field.field_id)
                    high = entry.metrics.upper_bounds.get(field.field_id)
                    if low is not None and high is not None:
                        kind: Any = field.field_type
                        bounds = (from_bytes(kind, low), from_bytes(kind, high))
                        found[field.field_id, place].append(bounds)
    shares: dict[str, list[float]] = defaultdict(list)
    names = {field.field_id: field.name for field in columns}
    for (field_id, _), ranges in found.items():
        if len(ranges) >= MIN_FILES:
            shares[names[field_id]].append(overlap(ranges))
    return {name: fmean(values) for name, values in shares.items()}


def overlap(ranges: Sequence[Bounds]) -> float:
    """The share of other ranges that the middle of a range lies in, on average.

    The middle is that among all ends of ranges: of texts there is no other. At its lower end a
    range of rows in no order is inside of half of the others only.
    """
    others = len(ranges) - 1
    if others < 1:
        return 0.0
    lows, highs = sorted(low for low, _ in ranges), sorted(high for _, high in ranges)
    ends = sorted([*lows, *highs])
    inside = 0
    for low, high in ranges:
        point = ends[(bisect_left(ends, low) + bisect_right(ends, high) - 1) // 2]
        # Ranges that begin before it, without those that end before it, and without its own.
        inside += bisect_right(lows, point) - bisect_left(highs, point) - 1
    return inside / (len(ranges) * others)
