"""Which engine rewrites a file group, and why: as far as metadata tells.

Footers may still say no (another schema, another codec). Then the group goes to Spark when it is
executed, and the outcome says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neve.model.exact import ExactFloat
from neve.model.facts import DataFileFacts, TableFacts
from neve.model.policy import CompactionPolicy, Engine, Strategy
from neve.model.sizes import format_size

COPYABLE_SCHEMES = ("file:", "s3:")
BLOOM_FILTER_PREFIX = "write.parquet.bloom-filter-enabled.column."
CODEC_PROPERTY = "write.parquet.compression-codec"


@dataclass(frozen=True, slots=True)
class Route:
    """The engine for a group, and the reason."""

    engine: Engine
    reason: str


def route(
    facts: TableFacts,
    files: Sequence[DataFileFacts],
    *,
    delete_files: int,
    strategy: Strategy,
    policy: CompactionPolicy,
    asked: Engine,
) -> Route:
    """Copy where the bytes allow it, else Iceberg's own action."""
    if asked is Engine.SPARK:
        return Route(Engine.SPARK, "asked for")
    if refusal := _refusal(facts, files, delete_files, strategy, policy):
        return Route(Engine.SPARK, refusal)
    if all(file.path.startswith("s3:") for file in files):
        return Route(
            Engine.REMOTE_COPY,
            "row groups are copied by the store itself, or through Spark where it has no such call",
        )
    return Route(Engine.COPY, "row groups are copied as they are")


def _refusal(
    facts: TableFacts,
    files: Sequence[DataFileFacts],
    delete_files: int,
    strategy: Strategy,
    policy: CompactionPolicy,
) -> str | None:
    """Why a group cannot be copied, or None."""
    return (
        _table_refusal(facts, strategy)
        or _file_refusal(facts, files, delete_files)
        or _row_group_refusal(files, policy.min_row_group_bytes)
    )


def _table_refusal(facts: TableFacts, strategy: Strategy) -> str | None:
    if strategy.orders_rows:
        return f"strategy {strategy} changes the order of rows"
    if facts.format_version >= 3:
        return "format v3 keeps row ids, which a copy would renumber"
    if facts.sort_order_id != 0:
        return "the table is sorted, and a copy would not be"
    if "write.location-provider.impl" in facts.properties:
        return "the table has a location provider of its own"
    return None


def _file_refusal(
    facts: TableFacts, files: Sequence[DataFileFacts], delete_files: int
) -> str | None:
    if delete_files:
        return "deletes must be applied"
    if any(file.format != "PARQUET" for file in files):
        return "only Parquet files are copied"
    if any(isinstance(v, ExactFloat) and v.is_unusual_nan for v in files[0].partition[1]):
        return "the partition's value is a NaN of unusual bits, which no text can carry"
    if any(file.encrypted for file in files):
        return "encrypted files are not copied"
    if any(file.partition[0] != facts.current_spec_id for file in files):
        return "the files have an old partition spec"
    if len({file.path.partition(":")[0] for file in files}) > 1 or not files[0].path.startswith(
        COPYABLE_SCHEMES
    ):
        return "only local files and S3 objects are copied"
    return None


def _row_group_refusal(files: Sequence[DataFileFacts], min_row_group_bytes: int) -> str | None:
    """Copying leaves row groups as they are, so they must be worth keeping."""
    row_groups = sum(file.row_groups or 1 for file in files)
    average = sum(file.size_bytes for file in files) / row_groups
    if average >= min_row_group_bytes:
        return None
    return (
        f"row groups of {format_size(average)} on average are too small to keep "
        f"(below {format_size(min_row_group_bytes)})"
    )
