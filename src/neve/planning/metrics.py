"""Column statistics of a file that is made of others, merged without reading it.

Readers leave a file out by what they say, so that the merged ones may never say more than every
source did. Where one of them is in doubt, there is no statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeVar

from neve.model.rewrite import ColumnMetrics, FileDetails, LeafColumn
from neve.planning.bounds import BoundType, bound_type

Value = TypeVar("Value")
Counts = dict[int, int] | None
FLOATING = ("float", "double")


def merge_metrics(files: Sequence[FileDetails], columns: Sequence[LeafColumn]) -> ColumnMetrics:
    """What manifests may say about the rows of all files together.

    A statistic is kept for a column only where every file that has values in it tells it.
    """
    flat = {column.field_id: column.type for column in columns if not column.repeated}
    told = [_without_contradictions(file, flat) for file in files if file.record_count] or files
    bounds = {column.field_id: _bounds(told, column) for column in columns}
    return ColumnMetrics(
        column_sizes=_sum([file.metrics.column_sizes for file in told]),
        value_counts=_sum([file.metrics.value_counts for file in told]),
        null_value_counts=_sum([file.metrics.null_value_counts for file in told]),
        nan_value_counts=_sum([file.metrics.nan_value_counts for file in told]),
        lower_bounds={key: low for key, (low, _) in bounds.items() if low is not None} or None,
        upper_bounds={key: high for key, (_, high) in bounds.items() if high is not None} or None,
    )


def with_columns(own: ColumnMetrics, others: ColumnMetrics, chosen: Set[int]) -> ColumnMetrics:
    """What is known of a file, and of some columns what others say; sizes are the file's own."""
    return ColumnMetrics(
        own.column_sizes,
        _joined(own.value_counts, others.value_counts, chosen),
        _joined(own.null_value_counts, others.null_value_counts, chosen),
        _joined(own.nan_value_counts, others.nan_value_counts, chosen),
        _joined(own.lower_bounds, others.lower_bounds, chosen),
        _joined(own.upper_bounds, others.upper_bounds, chosen),
    )


def as_wide_as_sources(
    own: ColumnMetrics, files: Sequence[FileDetails], columns: Sequence[LeafColumn]
) -> ColumnMetrics:
    """What was measured, without bounds that hide NaNs which those of the sources did not hide.

    To Spark NaN lies above all numbers, and no bound speaks of it: by its upper bound a file is
    left out for `x > 5` with all of its NaNs. So no upper bound may sink below those of files with
    NaNs, and where one of them has none, both go.
    """
    flat = {column.field_id: column.type for column in columns if not column.repeated}
    told = [_without_contradictions(file, flat) for file in files if file.record_count]
    lower, upper = dict(own.lower_bounds or {}), dict(own.upper_bounds or {})
    for field_id, count in (own.nan_value_counts or {}).items():
        of = bound_type(flat.get(field_id, ""))
        if not count or of is None or field_id not in upper:
            continue
        raised = _above_nans(of, told, field_id, upper.pop(field_id))
        if raised is None:
            lower.pop(field_id, None)
        else:
            upper[field_id] = raised
    return replace(own, lower_bounds=lower or None, upper_bounds=upper or None)


def _above_nans(
    of: BoundType, files: Sequence[FileDetails], field_id: int, measured: bytes
) -> bytes | None:
    """The upper bound, no lower than that of any file with NaNs; None where one has none."""
    found = [of.decode(measured)]
    for file in files:
        values, nulls, nans = _counts(file, field_id)
        # For comparisons, readers leave out what is all null, or all NaN.
        if nans == 0 or (values is not None and values in (nulls, nans)):
            continue
        bounds = (file.metrics.lower_bounds or {}, file.metrics.upper_bounds or {})
        decoded = _decode(of, *(each.get(field_id) for each in bounds))
        if decoded is None or decoded[1] is None:
            return None
        found.append(decoded[1])
    return None if None in found else of.pick(found, max)


def _counts(file: FileDetails, field_id: int) -> tuple[int | None, int | None, int | None]:
    """Of values, nulls and NaNs."""
    told = file.metrics
    counts = (told.value_counts, told.null_value_counts, told.nan_value_counts)
    values, nulls, nans = ((count or {}).get(field_id) for count in counts)
    return values, nulls, nans


def _joined(
    own: dict[int, Value] | None, others: dict[int, Value] | None, chosen: Set[int]
) -> dict[int, Value] | None:
    more = {key: value for key, value in (others or {}).items() if key in chosen}
    return dict(sorted({**(own or {}), **more}.items())) or None


def _without_contradictions(file: FileDetails, flat: Mapping[int, str]) -> FileDetails:
    """The file without the statistics of columns whose counts cannot be."""
    metrics = file.metrics
    values, nulls, nans = (
        counts or {}
        for counts in (metrics.value_counts, metrics.null_value_counts, metrics.nan_value_counts)
    )
    wrong = {
        key
        for key in {*values, *nulls, *nans}
        if min(values.get(key, 0), nulls.get(key, 0), nans.get(key, 0)) < 0
        or (key in values and nulls.get(key, 0) + nans.get(key, 0) > values[key])
        # Every row counts as a value, a null as well.
        or (key in flat and values.get(key, file.record_count) != file.record_count)
        or (nans.get(key, 0) and flat.get(key, FLOATING[0]) not in FLOATING)
    }
    sizes = {key for key, size in (metrics.column_sizes or {}).items() if size < 0}
    if not wrong and not sizes:
        return file

    return replace(
        file,
        metrics=ColumnMetrics(
            column_sizes=_without(metrics.column_sizes, sizes),
            value_counts=_without(metrics.value_counts, wrong),
            null_value_counts=_without(metrics.null_value_counts, wrong),
            nan_value_counts=_without(metrics.nan_value_counts, wrong),
            lower_bounds=_without(metrics.lower_bounds, wrong),
            upper_bounds=_without(metrics.upper_bounds, wrong),
        ),
    )


def _without(found: dict[int, Value] | None, keys: set[int]) -> dict[int, Value] | None:
    return None if found is None else {k: v for k, v in found.items() if k not in keys}


def _sum(counts: Sequence[Counts]) -> Counts:
    known = [count for count in counts if count is not None]
    if len(known) != len(counts) or not known:
        return None
    shared = set(known[0]).intersection(*known[1:])
    return {key: sum(count[key] for count in known) for key in sorted(shared)}


def _bounds(files: Sequence[FileDetails], column: LeafColumn) -> tuple[bytes | None, bytes | None]:
    """The merged bounds of one column. Doubt about either takes both away."""
    of = bound_type(column.type)
    if of is None or column.repeated or not _counted_alike(files, column):
        return None, None
    lowers: list[object] = []
    uppers: list[object] = []
    for file in files:
        lower = (file.metrics.lower_bounds or {}).get(column.field_id)
        upper = (file.metrics.upper_bounds or {}).get(column.field_id)
        if lower is None and upper is None and _has_no_value(file, column):
            continue
        decoded = _decode(of, lower, upper)
        if decoded is None:
            return None, None
        lowers.append(decoded[0])
        uppers.append(decoded[1])
    return _both(of, lowers, uppers)


def _decode(
    of: BoundType, lower: bytes | None, upper: bytes | None
) -> tuple[object, object] | None:
    """The bounds of one file, None for a missing one; or None where they are unreliable."""
    low = None if lower is None else of.decode(lower)
    high = None if upper is None else of.decode(upper)
    if (low is None) != (lower is None) or (high is None) != (upper is None):
        return None
    if low is not None and high is not None and of.inverted(low, high):
        return None
    return low, high


def _both(
    of: BoundType, lowers: Sequence[object], uppers: Sequence[object]
) -> tuple[bytes | None, bytes | None]:
    picked: list[bytes | None] = []
    choices: tuple[tuple[Sequence[object], Callable[..., object]], ...] = (
        (lowers, min),
        (uppers, max),
    )
    for values, choose in choices:
        # A file that has values but no bound may hold anything.
        if not values or any(value is None for value in values):
            picked.append(None)
            continue
        found = of.pick(values, choose)
        if found is None:
            return None, None
        picked.append(found)
    return picked[0], picked[1]


def _counted_alike(files: Sequence[FileDetails], column: LeafColumn) -> bool:
    """False where only some files count nulls or NaNs: the sum is then unknown.

    Readers take a count that is missing beside bounds for zero, and delete whole files by that.
    """
    counts = [[file.metrics.null_value_counts for file in files]]
    if column.type in FLOATING:
        counts.append([file.metrics.nan_value_counts for file in files])
    return all(len({column.field_id in (count or {}) for count in each}) == 1 for each in counts)


def _has_no_value(file: FileDetails, column: LeafColumn) -> bool:
    """True where readers need no bound to leave the file out, and the counts prove it.

    That is where all values are null, or all NaN. With some of each a reader opens the file, and
    finds NaN where it takes it for the greatest number.
    """
    values, nulls, nans = _counts(file, column.field_id)
    if nulls is None or values != file.record_count:
        return False
    return values == nulls or (column.type in FLOATING and values == nans)
