"""Why an engine leaves a file group to the next one, as far as metadata tells.

Footers may still say no (another schema, another codec). Then the group falls down the ladder when
it is executed, and the outcome says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neve.model.exact import ExactFloat
from neve.model.facts import DataFileFacts, TableFacts
from neve.model.policy import Strategy
from neve.model.sizes import format_size

STORE_SCHEME = "s3:"
COPYABLE_SCHEMES = ("file:", STORE_SCHEME)


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A file group as an engine sees it before it looks into files."""

    table: TableFacts
    files: Sequence[DataFileFacts]
    delete_files: int
    strategy: Strategy
    min_row_group_bytes: int


def refuses_nothing(group: GroupFacts) -> str | None:
    """Iceberg's action takes every group."""
    return None


def refusal_to_copy(group: GroupFacts) -> str | None:
    """Why row groups cannot be kept as they are, or None."""
    return (
        _table_refusal(group.table, group.strategy)
        or _file_refusal(group)
        or _row_group_refusal(group.files, group.min_row_group_bytes)
    )


def refusal_to_copy_in_store(group: GroupFacts) -> str | None:
    """The same, and every file must be an object that its store can copy."""
    if not all(file.path.startswith(STORE_SCHEME) for file in group.files):
        return "only S3 objects are copied by their store"
    return refusal_to_copy(group)


def _table_refusal(table: TableFacts, strategy: Strategy) -> str | None:
    if strategy.orders_rows:
        return f"strategy {strategy} changes the order of rows"
    if table.format_version >= 3:
        return "format v3 keeps row ids, which a copy would renumber"
    if "write.location-provider.impl" in table.properties:
        return "the table has a location provider of its own"
    return None


def _file_refusal(group: GroupFacts) -> str | None:
    files = group.files
    if group.delete_files:
        return "deletes must be applied"
    if any(file.format != "PARQUET" for file in files):
        return "only Parquet files are copied"
    if any(isinstance(v, ExactFloat) and v.is_unusual_nan for v in files[0].partition[1]):
        return "the partition's value is a NaN of unusual bits, which no text can carry"
    if any(file.encrypted for file in files):
        return "encrypted files are not copied"
    if any(file.partition[0] != group.table.current_spec_id for file in files):
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
