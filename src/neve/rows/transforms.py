"""Partition values of rows, exactly as Iceberg's transforms give them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neve.model.errors import RowsUnsupported
from neve.rows.hashing import byte_spans
from neve.rows.murmur import hash_bytes, hash_longs
from neve.rows.sameness import plain_values
from neve.rows.schema import Field

_WITH_NUMBER: Final = re.compile(r"(bucket|truncate)\[(\d+)\]")
_PER_DAY: Final = {"us": 86_400_000_000, "ns": 86_400_000_000_000}
_PERIODS: Final = {"year": "Y", "month": "M", "day": "D", "hour": "h"}


def transformed(array: Any, field: Field, transform: str) -> Any:
    """The partition value of each row; years to hours and buckets as int32.

    `field` is the column that the array holds in the current schema, `transform` as the metadata
    spells it. What Iceberg would not do is refused.
    """
    if field.type.is_nested:
        raise RowsUnsupported(f"The column {field.name!r} is nested, and no partition source.")
    values = plain_values(_one(array), field)
    if transform == "identity":
        return values
    if transform == "void":
        return pa.nulls(len(values), values.type)
    if transform in _PERIODS:
        return _period(values, field, transform)
    if found := _WITH_NUMBER.fullmatch(transform):
        number = int(found[2])
        if not 0 < number < 2**31:
            raise RowsUnsupported(f"The transform {transform} has no possible number.")
        by_number = _bucket if found[1] == "bucket" else _cut
        return by_number(values, field, number)
    raise RowsUnsupported(f"Rows are not partitioned by {transform!r} natively.")


def _one(array: Any) -> Any:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _no(field: Field, transform: str) -> RowsUnsupported:
    return RowsUnsupported(f"Columns of type {field.type} have no transform {transform}.")


def _with_nulls(numbers: npt.NDArray[Any], like: Any, kind: Any) -> Any:
    return pa.array(numbers, kind, mask=like.is_null().to_numpy(zero_copy_only=False))


def _integers(values: Any) -> npt.NDArray[np.int64]:
    """The numbers in a column of fixed width, those of nulls as zero."""
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    found: npt.NDArray[np.int64] = values.fill_null(0).to_numpy().astype(np.int64)
    return found


def _period(values: Any, field: Field, transform: str) -> Any:
    is_date = field.type.name == "date"
    has_hours = field.type.name.startswith("timestamp")
    if not has_hours and not (is_date and transform != "hour"):
        raise _no(field, transform)
    numbers = _integers(values)
    per_day = 1 if is_date else _PER_DAY[values.type.unit]
    if transform == "hour":
        found = numbers // (per_day // 24)
    else:
        days = (numbers // per_day).view("datetime64[D]")
        found = days.astype(f"datetime64[{_PERIODS[transform]}]").view(np.int64)
    return _with_nulls(found.astype(np.int32), values, pa.int32())


def _bucket(values: Any, field: Field, number: int) -> Any:
    hashing = _HASHES.get(field.type.name)
    if hashing is None:
        raise _no(field, f"bucket[{number}]")
    hashes = hashing(values) & np.uint32(0x7FFFFFFF)
    return _with_nulls((hashes % np.uint32(number)).astype(np.int32), values, pa.int32())


def _hash_numbers(values: Any) -> npt.NDArray[np.uint32]:
    return hash_longs(_integers(values))


def _hash_nanos(values: Any) -> npt.NDArray[np.uint32]:
    # As microseconds, so that a column may be widened.
    return hash_longs(_integers(values) // 1000)


def _hash_bytes(values: Any) -> npt.NDArray[np.uint32]:
    starts, lengths, data = byte_spans(values)
    return hash_bytes(data, starts, lengths)


def _hash_decimals(values: Any) -> npt.NDArray[np.uint32]:
    """Of the unscaled number in as few bytes as it takes, the highest first."""
    high, low = _decimal_words(values)
    big = np.empty((len(values), 16), dtype=np.uint8)
    big[:, :8] = high.astype(">i8").view(np.uint8).reshape(-1, 8)
    big[:, 8:] = low.astype(">u8").view(np.uint8).reshape(-1, 8)
    sign = (high >> 63).astype(np.uint8)
    differs = big != sign[:, None]
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), 15)
    # A byte more where the first one would be taken for the other sign.
    other_sign = (big[np.arange(len(big)), first] >> 7) != (sign & 1)
    first = first - other_sign
    data = np.concatenate([big.ravel(), np.zeros(4, dtype=np.uint8)])
    starts = np.arange(len(big), dtype=np.int64) * 16 + first
    return hash_bytes(data, starts, 16 - first)


def _decimal_words(values: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    values = values.cast(pa.decimal128(38, values.type.scale))
    raw = values.buffers()[1][16 * values.offset :][: 16 * len(values)] if len(values) else b""
    words = np.frombuffer(raw, dtype=np.uint64).reshape(-1, 2)
    return words[:, 1].copy().view(np.int64), words[:, 0].copy()


_HASHES: Final[dict[str, Callable[[Any], npt.NDArray[np.uint32]]]] = {
    **dict.fromkeys(("int", "long", "date", "time", "timestamp", "timestamptz"), _hash_numbers),
    **dict.fromkeys(("timestamp_ns", "timestamptz_ns"), _hash_nanos),
    **dict.fromkeys(("string", "binary", "fixed", "uuid"), _hash_bytes),
    "decimal": _hash_decimals,
}


def _cut(values: Any, field: Field, width: int) -> Any:
    match field.type.name:
        case "int" | "long":
            numbers = _integers(values)
            cut = numbers - numbers % width
            # Java's ints wrap around below the least one.
            return _with_nulls(cut.astype(f"i{values.type.bit_width // 8}"), values, values.type)
        case "decimal":
            return _cut_decimals(values, width)
        case "string":
            return pc.utf8_slice_codeunits(values, 0, width)
        case "binary":
            return pc.binary_slice(values, 0, width)
    raise _no(field, f"truncate[{width}]")


def _cut_decimals(values: Any, width: int) -> Any:
    """By whole numbers of Python: few tables are partitioned so, and not by many values."""
    scale = values.type.scale
    distinct = values.unique()
    high, low = _decimal_words(distinct)
    whole = [(int(upper) << 64) + int(lower) for upper, lower in zip(high, low, strict=True)]
    limit = 10**values.type.precision
    cut = [number - number % width for number in whole]
    valid = distinct.is_valid().to_pylist()
    if any(is_valid and abs(number) >= limit for number, is_valid in zip(cut, valid, strict=True)):
        raise RowsUnsupported("A truncated decimal does not fit its own type.")
    raw = b"".join(
        (number if is_valid else 0).to_bytes(16, "little", signed=True)
        for number, is_valid in zip(cut, valid, strict=True)
    )
    plain = pa.Array.from_buffers(
        pa.decimal128(values.type.precision, scale), len(cut), [None, pa.py_buffer(raw)]
    )
    known = pc.if_else(distinct.is_valid(), plain, pa.scalar(None, plain.type))
    return known.take(pc.index_in(values, distinct))
