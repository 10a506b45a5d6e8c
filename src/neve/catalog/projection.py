"""Lists and maps of structs that are null stay null on their way through pyiceberg.

Its own projection makes them anew from their offsets, which say nothing about nulls, so that a null
becomes an empty list: in the files that it writes, and in the rows that it reads.
"""

from __future__ import annotations

from typing import Any


def keep_nulls() -> None:
    """Let pyiceberg project with this, from now on."""
    # Importing Arrow takes longer than a health check, which projects nothing.
    from pyiceberg.io import pyarrow as projecting

    if projecting.ArrowProjectionVisitor.__name__ != NAME:
        own = type(NAME, (projecting.ArrowProjectionVisitor,), {"list": _list, "map": _map})
        _BASE.append(projecting.ArrowProjectionVisitor)
        projecting.ArrowProjectionVisitor = own  # type: ignore[misc, assignment]


NAME = "NullKeepingProjection"
_BASE: list[Any] = []


def _list(self: Any, kind: Any, array: Any, values: Any) -> Any:
    return _with_nulls(array, _BASE[0].list(self, kind, array, values))


def _map(self: Any, kind: Any, array: Any, keys: Any, values: Any) -> Any:
    return _with_nulls(array, _BASE[0].map(self, kind, array, keys, values))


def _with_nulls(array: Any, projected: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    if projected is None or array.null_count == projected.null_count:
        return projected
    # Written anew, because a mask goes with offsets that begin where their buffer does.
    offsets = compute.add(projected.offsets, pa.scalar(0, projected.offsets.type))
    mask = array.is_null()
    if isinstance(projected, pa.MapArray):
        parts = (offsets, projected.keys, projected.items)
        return pa.MapArray.from_arrays(*parts, type=projected.type, mask=mask)
    make = pa.LargeListArray if isinstance(projected, pa.LargeListArray) else pa.ListArray
    return make.from_arrays(offsets, projected.values, type=projected.type, mask=mask)
