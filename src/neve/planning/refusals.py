"""Why an engine leaves a file group to the next one, as far as metadata tells.

Footers may still say no (another schema, another codec). Then the group falls down the ladder when
it is executed, and the outcome says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neve.model.exact import ExactFloat
from neve.model.facts import DataFileFacts, TableFacts
from neve.model.policy import Strategy
from neve.model.sizes import format_size

STORE_SCHEME = "s3:"
#: Stores that Arrow has clients for: Google Cloud Storage, Azure, HDFS.
ARROW_SCHEMES = ("gs:", "abfs:", "abfss:", "wasb:", "wasbs:", "hdfs:", "viewfs:")
COPYABLE_SCHEMES = ("file:", STORE_SCHEME, *ARROW_SCHEMES)
BLOOM_FILTER_PREFIX = "write.parquet.bloom-filter-enabled.column."
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
#: Types whose values nobody but Iceberg's own reader and writer is trusted with.
LEFT_TO_ICEBERG = re.compile(r"\b(variant|geometry|geography|unknown)\b")


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A file group as an engine sees it before it looks into files."""

    table: TableFacts
    files: Sequence[DataFileFacts]
    delete_files: int
    strategy: Strategy
    min_row_group_bytes: int
    #: None where nobody asks how large files become.
    target_file_size_bytes: int | None = None

    @property
    def is_through_arrow(self) -> bool:
        """Whether a task reaches the files through a client of Arrow's."""
        return self.files[0].path.startswith(ARROW_SCHEMES)

    @property
    def is_in_store(self) -> bool:
        """Whether the files are objects, or what stands for them."""
        return self.files[0].path.startswith((STORE_SCHEME, *ARROW_SCHEMES))

    @property
    def files_above_target(self) -> int:
        target = self.target_file_size_bytes
        return 0 if target is None else sum(file.size_bytes > target for file in self.files)


def refuses_nothing(group: GroupFacts) -> str | None:
    """Iceberg's action takes every group."""
    return None


def refusal_to_copy(group: GroupFacts) -> str | None:
    """Why row groups cannot be kept as they are, or None."""
    return (
        _task_refusal(group)
        or _copy_refusal(group)
        or _row_group_refusal(group.files, group.min_row_group_bytes)
    )


def refusal_to_copy_in_store(group: GroupFacts) -> str | None:
    """The same, and every file must be an object that its store can copy."""
    if not all(file.path.startswith(STORE_SCHEME) for file in group.files):
        return "only S3 objects are copied by their store"
    return refusal_to_copy(group)


def refusal_to_rewrite(group: GroupFacts) -> str | None:
    """Why rows are left to Iceberg's own reader and writer, or None."""
    return _task_refusal(group) or _rows_refusal(group)


def refusal_to_read_back(table: TableFacts) -> str | None:
    """Why rows that Iceberg wrote cannot be held against those that they replace, or None."""
    for column in table.columns:
        if (found := LEFT_TO_ICEBERG.search(column.type)) and found[0] != "unknown":
            return f"column {column.name} has the type {found[0]}, which has no fingerprints"
    return None


def wants_bloom_filters(properties: Mapping[str, str]) -> bool:
    """Whether the table asks for bloom filters, which only Iceberg's writer makes."""
    return any(
        key.startswith(BLOOM_FILTER_PREFIX) and value.lower() == "true"
        for key, value in properties.items()
    )


def _copy_refusal(group: GroupFacts) -> str | None:
    if group.table.format_version >= 3:
        return "format v3 keeps row ids, which a copy would renumber"
    if group.delete_files:
        return "deletes must be applied"
    return None


def _rows_refusal(group: GroupFacts) -> str | None:
    table = group.table
    if table.sort_order_id != 0:
        return "the table has a sort order, in which Iceberg writes rows"
    if wants_bloom_filters(table.properties):
        return "the table wants bloom filters"
    for column in table.columns:
        if found := LEFT_TO_ICEBERG.search(column.type):
            return f"column {column.name} has the type {found[0]}"
    identities = [
        field
        for field in table.specs[table.current_spec_id].fields
        if field.transform == "identity"
    ]
    names = {column.name for column in table.columns}
    for field in identities:
        if field.source_column not in names:
            return f"partition field {field.name} is made from a nested column"
    return None


def _task_refusal(group: GroupFacts) -> str | None:
    """Why no task of ours writes files for the group, whatever it does with them."""
    files, table = group.files, group.table
    if group.strategy.orders_rows:
        return f"strategy {group.strategy} changes the order of rows"
    if "write.location-provider.impl" in table.properties:
        return "the table has a location provider of its own"
    if any(file.format != "PARQUET" for file in files):
        return "only Parquet files are copied"
    if any(isinstance(v, ExactFloat) and v.is_unusual_nan for v in files[0].partition[1]):
        return "the partition's value is a NaN of unusual bits, which no text can carry"
    if any(file.encrypted for file in files):
        return "encrypted files are not copied"
    if any(file.partition[0] != group.table.current_spec_id for file in files):
        return "the files have an old partition spec, and Iceberg moves rows to the current one"
    schemes = {file.path.partition(":")[0] for file in files}
    if not all(SCHEME.match(file.path) for file in files):
        return "paths without a scheme, such as file:, mean another store for every engine"
    if len(schemes) > 1:
        return "the files lie in several kinds of stores"
    if not files[0].path.startswith(COPYABLE_SCHEMES):
        return f"files of {schemes.pop()}: are reached by Iceberg alone"
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
