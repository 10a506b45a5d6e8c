"""Identity partition values, which readers take from metadata, whatever a file holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from uuid import UUID

from neve.model.facts import DataFileFacts, PartitionField, TableFacts
from neve.model.groups import JsonValue
from neve.model.rewrite import ColumnMetrics, FileDetails
from neve.planning.bounds import BoundType, bound_type
from neve.planning.partition_values import to_json_value

#: Values by field id, as JSON has single values.
Constants = tuple[tuple[int, JsonValue], ...]


class IdentityValues:
    """The identity partition values of a table's files."""

    def __init__(self, facts: TableFacts) -> None:
        self._specs = facts.specs
        self._column_ids = {column.name: column.field_id for column in facts.columns}

    def of(self, file: DataFileFacts) -> Constants:
        """Those of a file, by the spec that it was written with."""
        return tuple((id_, to_json_value(field, value)) for id_, field, value in self._each(file))

    def in_doubt(
        self, files: Sequence[DataFileFacts], details: Iterable[FileDetails]
    ) -> dict[str, Constants]:
        """Of the files, those of which manifests do not say that they hold just these values."""
        metrics = {each.path: each.metrics for each in details}
        found = {file.path: tuple(self._doubts(file, metrics[file.path])) for file in files}
        return {path: doubts for path, doubts in found.items() if doubts}

    def _doubts(
        self, file: DataFileFacts, metrics: ColumnMetrics
    ) -> Iterator[tuple[int, JsonValue]]:
        for id_, field, value in self._each(file):
            if not _is_told(id_, field, value, file.record_count, metrics):
                yield id_, to_json_value(field, value)

    def _each(self, file: DataFileFacts) -> Iterator[tuple[int, PartitionField, object]]:
        spec_id, values = file.partition
        for field, value in zip(self._specs[spec_id].fields, values, strict=True):
            if field.transform == "identity" and field.source_column in self._column_ids:
                yield self._column_ids[field.source_column], field, value


def _is_told(
    id_: int, field: PartitionField, value: object, rows: int, metrics: ColumnMetrics
) -> bool:
    """Whether every row has the value by what the manifest says of its column."""
    nulls = (metrics.null_value_counts or {}).get(id_)
    if value is None:
        return nulls == rows
    # No bound speaks of NaN, nor of nulls.
    of = bound_type(field.result_type)
    is_floating = field.result_type in ("float", "double")
    if of is None or nulls != 0 or (is_floating and (metrics.nan_value_counts or {}).get(id_) != 0):
        return False
    bounds = ((metrics.lower_bounds or {}).get(id_), (metrics.upper_bounds or {}).get(id_))
    wanted = of.encode(_as_bound(value))
    return all(bound is not None and _encoded(of, bound) == wanted for bound in bounds)


def _encoded(of: BoundType, bound: bytes) -> bytes | None:
    """The bound as it is written today: one from before its column was widened is shorter."""
    value = of.decode(bound)
    return None if value is None else of.encode(value)


def _as_bound(value: object) -> object:
    """The value as bounds have it: decimals as a number of units, UUIDs as their bytes."""
    if isinstance(value, Decimal):
        _, digits, _ = value.as_tuple()
        return int(Decimal((value.is_signed(), digits, 0)))
    return value.bytes if isinstance(value, UUID) else value
