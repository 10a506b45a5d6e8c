"""Equality deletes that Iceberg's readers pass over by bounds, though their keys may be there.

Readers hold the bounds of a delete's keys against those of a data file, and do not open the delete
where they lie apart. No bound speaks of NaN, and UUIDs have two orders. So a reader may show rows
that the keys name, and whoever goes by the keys alone would take them away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

from neve.model.facts import DeleteKind
from neve.model.rewrite import ColumnMetrics, DeleteDetails, FileDetails, LeafColumn
from neve.planning.bounds import BoundType, bound_type

_FLOATING: Final = ("float", "double")
_DOUBTFUL: Final = (*_FLOATING, "uuid")


def reach_in_doubt(
    deletes: Sequence[DeleteDetails], files: Sequence[FileDetails], columns: Sequence[LeafColumn]
) -> str | None:
    """Why nobody but Iceberg's reader can tell which rows the deletes take, or None."""
    types = {column.field_id: column.type for column in columns}
    odd = [
        delete
        for delete in deletes
        if delete.kind is DeleteKind.EQUALITY
        and any(types.get(id_) in _DOUBTFUL for id_ in delete.equality_ids)
    ]
    for delete, file in product(odd, files):
        if _is_in_doubt(delete, file.metrics, types):
            return (
                f"Equality delete {delete.path} may name rows of {file.path} which its bounds do "
                f"not, and Iceberg's readers go by these."
            )
    return None


def _is_in_doubt(delete: DeleteDetails, file: ColumnMetrics, types: Mapping[int, str]) -> bool:
    doubt = False
    for id_ in delete.equality_ids:
        of = bound_type(types.get(id_, ""))
        if of is None or (_may_be(id_, delete.metrics.null_value_counts, file.null_value_counts)):
            continue
        told = [_bounds(of, each, id_) for each in (delete.metrics, file)]
        if told[0] is None or told[1] is None:
            continue
        apart = {_are_apart(order, told[0], told[1]) for order in of.orders}
        if types[id_] not in _DOUBTFUL:
            if apart == {True}:
                # No key of the delete is in the file.
                return False
        elif types[id_] in _FLOATING:
            nans = (delete.metrics.nan_value_counts, file.nan_value_counts)
            doubt = doubt or (True in apart and _may_be(id_, *nans))
        else:
            doubt = doubt or len(apart) > 1
    return doubt


def _may_be(id_: int, *counts: Mapping[int, int] | None) -> bool:
    """Whether both have some; what was not counted may be there."""
    return all((count or {}).get(id_) != 0 for count in counts)


def _bounds(of: BoundType, metrics: ColumnMetrics, id_: int) -> tuple[Any, Any] | None:
    found = ((metrics.lower_bounds or {}).get(id_), (metrics.upper_bounds or {}).get(id_))
    decoded = [None if bound is None else of.decode(bound) for bound in found]
    return None if None in decoded else (decoded[0], decoded[1])


def _are_apart(order: Any, one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return bool(order(one[0]) > order(other[1]) or order(other[0]) > order(one[1]))
