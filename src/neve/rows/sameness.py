"""Whether rows are equal, value by value, as Iceberg's sets of rows compare them.

NULL equals NULL, every NaN equals every other, and -0.0 is not 0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neve.model.errors import RowsUnsupported
from neve.rows.arrow import arrow_type, children, stored
from neve.rows.schema import Field, Schema

FLOATING: Final = ("float", "double")
#: Files say which offsets their writer had in memory.
_PLAIN_LAYOUTS: Final = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}


def same_rows(left: Any, right: Any, schema: Schema) -> npt.NDArray[np.bool_]:
    """For each row of two tables of equal length whether it is the same in both."""
    same = np.ones(left.num_rows, dtype=np.bool_)
    for field in stored(schema.fields):
        one, other = (table.column(field.name).combine_chunks() for table in (left, right))
        same &= _same(one, other, field)
    return same


def surely_equal(left: Any, right: Any, schema: Schema) -> bool:
    """Whether two tables hold the same values in the same rows, compared as fast as memory allows.

    False means that nobody knows: they may still be equal in other layouts.
    """
    return left.num_rows == right.num_rows and all(
        _surely_equal(left.column(field.name), right.column(field.name), field)
        for field in stored(schema.fields)
    )


def _surely_equal(left: Any, right: Any, field: Field) -> bool:
    if left.type != right.type:
        # Large offsets, views and dictionaries hold the same values; other types may not.
        plain = _retyped(left.type, _plain_layout)
        if plain != _retyped(right.type, _plain_layout):
            return False
        try:
            left, right = left.cast(plain), right.cast(plain)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
    # By their bits: to Arrow 0.0 equals -0.0, and no NaN equals another.
    bits = _retyped(left.type, _bits)
    if _holds_floats(bits):
        return False
    if bits != left.type:
        left, right = (_viewed(each, bits) for each in (left, right))
    return bool(left.equals(right))


def _bits(kind: Any) -> Any:
    """Whole numbers of the same width for floating-point ones."""
    if not pa.types.is_floating(kind):
        return kind
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]


def _plain_layout(kind: Any) -> Any:
    of = kind.value_type if pa.types.is_dictionary(kind) else kind
    return _PLAIN_LAYOUTS.get(of, of)


def _retyped(kind: Any, leaf: Callable[[Any], Any]) -> Any:
    """The type with others for what has no children, at every depth of the usual layouts."""
    inside = [
        pa.field(each.name, _retyped(each.type, leaf), each.nullable) for each in children(kind)
    ]
    if pa.types.is_struct(kind):
        return pa.struct(inside)
    if pa.types.is_map(kind):
        return pa.map_(*inside)
    if pa.types.is_large_list(kind):
        return pa.large_list(inside[0])
    if pa.types.is_list(kind):
        return pa.list_(inside[0])
    # Other layouts of lists are left as they are, and what is in them stays in doubt.
    return kind if inside else leaf(kind)


def _holds_floats(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        return _holds_floats(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _holds_floats(kind.storage_type)
    inside = any(_holds_floats(each.type) for each in children(kind))
    return inside or bool(pa.types.is_floating(kind))


def _viewed(column: Any, kind: Any) -> Any:
    if not pa.types.is_nested(kind):
        return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)
    return pa.chunked_array([pa.array(_Reinterpreted(c, kind)) for c in column.chunks], kind)


class _Reinterpreted:
    """The buffers of an array, for Arrow's C interface, under a type of the same layout."""

    def __init__(self, array: Any, kind: Any) -> None:
        self._array, self._kind = array, kind

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        _, data = self._array.__arrow_c_array__()
        return self._kind.__arrow_c_schema__(), data


def plain_values(array: Any, field: Field) -> Any:
    """Values of a column without children in the one layout that is compared."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    target = arrow_type(field.type)
    if isinstance(target, pa.BaseExtensionType):
        target = target.storage_type
    return array if array.type == target else array.cast(target)


def _same(left: Any, right: Any, field: Field) -> npt.NDArray[np.bool_]:
    if field.type.is_nested:
        raise RowsUnsupported(f"Nested values, as in {field.name!r}, are not compared.")
    values = [_comparable(plain_values(array, field)) for array in (left, right)]
    equal = _numpy(pc.equal(*values).fill_null(False))
    return equal | (_numpy(left.is_null()) & _numpy(right.is_null()))


def _comparable(array: Any) -> Any:
    """Floating-point numbers as the bits of what they are, with one NaN."""
    if not pa.types.is_floating(array.type):
        return array
    size = array.type.bit_width // 8
    numbers = array.fill_null(0).to_numpy().copy()
    numbers[np.isnan(numbers)] = np.nan
    return pa.array(numbers.view(f"i{size}"), mask=_numpy(array.is_null()))


def _numpy(array: Any) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = array.to_numpy(zero_copy_only=False)
    return found
