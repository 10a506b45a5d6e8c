"""Whether rows are equal, value by value, as Iceberg's sets of rows compare them.

NULL equals NULL, every NaN equals every other, and -0.0 is not 0.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neve.model.errors import RowsUnsupported
from neve.rows.arrow import arrow_type, stored
from neve.rows.schema import Field, Schema

FLOATING: Final = ("float", "double")


def same_rows(left: Any, right: Any, schema: Schema) -> npt.NDArray[np.bool_]:
    """For each row of two tables of equal length whether it is the same in both."""
    same = np.ones(left.num_rows, dtype=np.bool_)
    for field in stored(schema.fields):
        one, other = (table.column(field.name).combine_chunks() for table in (left, right))
        same &= _same(one, other, field)
    return same


def surely_equal(left: Any, right: Any, schema: Schema) -> bool:
    """Whether two tables hold the same values in the same rows, compared as fast as memory allows.

    False means that nobody knows: other layouts, or floating-point numbers inside of others.
    """
    return left.num_rows == right.num_rows and all(
        _surely_equal(left.column(field.name), right.column(field.name), field)
        for field in stored(schema.fields)
    )


def _surely_equal(left: Any, right: Any, field: Field) -> bool:
    if left.type != right.type:
        return False
    if field.type.name in FLOATING:
        # By their bits: to Arrow 0.0 equals -0.0, and no NaN equals another.
        kind = pa.int32() if left.type.bit_width == 32 else pa.int64()
        left, right = (_viewed(each, kind) for each in (left, right))
    elif any(one.type.name in FLOATING for one in _inside(field)):
        return False
    return bool(left.equals(right))


def _viewed(column: Any, kind: Any) -> Any:
    return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)


def _inside(field: Field) -> Iterator[Field]:
    for child in field.type.children:
        yield child
        yield from _inside(child)


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
