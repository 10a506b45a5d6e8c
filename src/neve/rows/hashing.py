"""A 128-bit hash for each row, vectorised: equal rows have equal hashes, however they are laid out.

A value is hashed with its field id, so that names and the order of columns do not matter. NULL is
a value of its own at every level. Every NaN is one value, and -0.0 is not 0.0, as Iceberg's own
sets of rows have it. Entries of lists and maps count in the order in which they are stored.

Every hash is a pair of 64-bit lanes. Hashes of columns are added up, and the sums are mixed once
more for each row: without that the values of a row could change places with those of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neve.model.errors import RowsUnsupported
from neve.rows.arrow import arrow_type, is_list, stored
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema

Words = npt.NDArray[np.uint64]
Lanes = tuple[Words, Words]
Offsets = npt.NDArray[np.int64]

#: So many rows at a time, to stay within a core's cache.
BLOCK_ROWS: Final = 16 * 1024
_MASK: Final = 2**64 - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_C1, _C2 = np.uint64(0xD6E8FEB86659FD93), np.uint64(0xA3AAACAADB0F5E4D)
_PLACE: Final = np.uint64(_GOLDEN)
_LENGTH: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_S29, _S32, _ONE = np.uint64(29), np.uint64(32), np.uint64(1)
_CANONICAL_NAN: Final = np.uint64(0x7FF8000000000000)
_TAILS: Final = np.array([_MASK >> 8 * (8 - size) for size in range(9)], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class _Salt:
    """What makes the hashes of one field its own."""

    key: np.uint64
    second_key: np.uint64
    factor: np.uint64
    null: tuple[np.uint64, np.uint64]


@lru_cache(maxsize=4096)
def _salt(field_id: int) -> _Salt:
    def draw(number: int) -> int:
        x = (field_id * 8 + number + 1) * _GOLDEN & _MASK
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
        return x ^ x >> 31

    drawn = [np.uint64(draw(number)) for number in range(5)]
    return _Salt(drawn[0], drawn[1], drawn[2] | _ONE, (drawn[3], drawn[4]))


def hash_rows(table: Any, schema: Schema) -> Lanes:
    """The hash of every row; the table has the columns of the schema, by name."""
    rows = table.num_rows
    first, second = np.zeros(rows, dtype=np.uint64), np.zeros(rows, dtype=np.uint64)
    for field in stored(schema.fields):
        start = 0
        for chunk in table.column(field.name).chunks:
            _add_chunk(chunk, field, first[start:], second[start:])
            start += len(chunk)
    for start in range(0, rows, BLOCK_ROWS):
        _mixed(first[start : start + BLOCK_ROWS], second[start : start + BLOCK_ROWS])
    return first, second


def _add_chunk(chunk: Any, field: Field, first: Words, second: Words) -> None:
    if pa.types.is_dictionary(chunk.type):
        chunk, known = chunk.indices, _lanes(chunk.dictionary, field)
    else:
        known = None
    for start in range(0, len(chunk), BLOCK_ROWS):
        block = chunk.slice(start, BLOCK_ROWS)
        one, other = _taken(block, known, field) if known else _lanes(block, field)
        first[start : start + len(block)] += one
        second[start : start + len(block)] += other


def _mixed(first: Words, second: Words) -> Lanes:
    """Both lanes of a sum, each made to depend on every bit of the other; in place."""
    first += (second ^ (second >> _S32)) * _LENGTH
    _mix(first)
    second ^= first
    _mix(second)
    return first, second


def _mix(words: Words) -> Words:
    """A bijection in which every bit changes half of the others; in place."""
    shifted = words >> _S32
    words ^= shifted
    words *= _C1
    np.right_shift(words, _S29, out=shifted)
    words ^= shifted
    words *= _C2
    np.right_shift(words, _S32, out=shifted)
    words ^= shifted
    return words


def _lanes(array: Any, field: Field) -> Lanes:
    if isinstance(array.type, pa.BaseExtensionType):
        return _lanes(array.storage, field)
    if pa.types.is_run_end_encoded(array.type):
        return _lanes(pc.run_end_decode(array), field)
    if pa.types.is_dictionary(array.type):
        return _taken(array.indices, _lanes(array.dictionary, field), field)
    if field.type.name == "uuid" and pa.types.is_string(array.type):
        salt = _salt(field.id)
        return _with_nulls(array, _pairs(_uuids(array), salt), salt)
    if pa.types.is_null(array.type):
        return tuple(np.full(len(array), lane) for lane in _salt(field.id).null)  # type: ignore[return-value]
    _check(array.type, field)
    match field.type.name:
        case name if name == STRUCT:
            lanes = _struct(array, field)
        case name if name in (LIST, MAP):
            lanes = _many(array, field)
        case "string" | "binary" | "fixed":
            lanes = _bytes(array, _salt(field.id))
        case "decimal" | "uuid":
            lanes = _pairs(array, _salt(field.id))
        case _:
            lanes = _numbers(array, _salt(field.id))
    return _with_nulls(array, lanes, _salt(field.id))


def _check(kind: Any, field: Field) -> None:
    """Only values of the column's own type can be compared: 1 as seconds is not 1 as days."""
    wanted = arrow_type(field.type)
    if isinstance(wanted, pa.BaseExtensionType):
        wanted = wanted.storage_type
    alike = {
        STRUCT: pa.types.is_struct,
        LIST: is_list,
        MAP: pa.types.is_map,
        "string": lambda _: kind in (pa.string(), pa.large_string(), pa.string_view()),
        "binary": lambda _: kind in (pa.binary(), pa.large_binary(), pa.binary_view()),
        # Spark knows no length of bytes.
        "fixed": lambda _: kind in (wanted, pa.binary()),
        "decimal": lambda _: pa.types.is_decimal(kind) and kind.scale == field.type.scale,
    }.get(field.type.name, lambda _: kind == wanted)
    if not alike(kind):
        raise RowsUnsupported(
            f"Column {field.name!r} has values of type {kind}, not {field.type}: no fingerprint."
        )


def _with_nulls(array: Any, lanes: Lanes, salt: _Salt) -> Lanes:
    if array.null_count:
        is_null = array.is_null().to_numpy(zero_copy_only=False)
        for lane, null in zip(lanes, salt.null, strict=True):
            lane[is_null] = null
    return lanes


def _taken(indices: Any, known: Lanes, field: Field) -> Lanes:
    """The hashes of a dictionary's values, for each row."""
    if not len(known[0]):
        return _lanes(pa.nulls(len(indices)), field)
    at = indices.fill_null(0).to_numpy()
    return _with_nulls(indices, (known[0][at], known[1][at]), _salt(field.id))


def _plain(array: Any, of: Any) -> npt.NDArray[Any]:
    """The values of a buffer of fixed width; those of nulls are any."""
    size = np.dtype(of).itemsize
    values: npt.NDArray[Any] = (
        np.frombuffer(array.buffers()[1], dtype=of, count=len(array), offset=array.offset * size)
        if len(array)
        else np.empty(0, of)
    )
    return values


def _numbers(array: Any, salt: _Salt) -> Lanes:
    kind = array.type
    if pa.types.is_boolean(kind):
        words = array.cast(pa.uint8()).fill_null(0).to_numpy().astype(np.uint64)
    elif pa.types.is_floating(kind):
        numbers = _plain(array, f"f{kind.bit_width // 8}").astype(np.float64)
        words = numbers.view(np.uint64)
        words[np.isnan(numbers)] = _CANONICAL_NAN
    else:
        signed = _plain(array, f"i{kind.bit_width // 8}")
        words = signed.astype(np.int64).view(np.uint64)
    words ^= salt.key
    _mix(words)
    return words, words * salt.factor


def _pairs(array: Any, salt: _Salt) -> Lanes:
    """Values of sixteen bytes."""
    if pa.types.is_decimal(array.type) and not pa.types.is_decimal128(array.type):
        array = array.cast(pa.decimal128(38, array.type.scale))
    size = 16 * len(array)
    raw = array.buffers()[1][16 * array.offset :][:size] if size else b""
    words = np.frombuffer(raw, dtype=np.uint64).reshape(-1, 2)
    return _keyed(words[:, 0].copy(), words[:, 1].copy(), salt)


def _uuids(array: Any) -> Any:
    """UUIDs as bytes, of the texts that Spark has of them."""
    digits = pc.replace_substring(array.fill_null("0" * 32), "-", "")
    try:
        raw = bytes.fromhex("".join(digits.to_pylist()))
    except ValueError:
        raw = b""
    if len(raw) != 16 * len(array):
        raise RowsUnsupported("A text is no UUID: no fingerprint.")
    return pa.Array.from_buffers(pa.binary(16), len(array), [None, pa.py_buffer(raw)])


def _keyed(first: Words, second: Words, salt: _Salt) -> Lanes:
    first ^= salt.key
    second += salt.second_key
    return _mixed(first, second)


def _struct(array: Any, field: Field) -> Lanes:
    rows = len(array)
    first, second = np.zeros(rows, dtype=np.uint64), np.zeros(rows, dtype=np.uint64)
    for child in stored(field.type.children):
        position = array.type.get_field_index(child.name)
        if position < 0:
            raise RowsUnsupported(f"The struct {field.name!r} lacks {child.name!r}.")
        one, other = _lanes(array.field(position), child)
        first += one
        second += other
    return _keyed(first, second, _salt(field.id))


def _many(array: Any, field: Field) -> Lanes:
    """Lists and maps: of each entry its hash and its place."""
    if not pa.types.is_map(array.type) and not pa.types.is_list(array.type):
        array = array.cast(pa.list_(array.type.value_field))
    offsets = np.asarray(array.offsets).astype(np.int64)
    inside = slice(int(offsets[0]), int(offsets[-1]))
    size = inside.stop - inside.start
    parts = [array.keys, array.items] if pa.types.is_map(array.type) else [array.values]
    first, second = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.uint64)
    for part, child in zip(parts, field.type.children, strict=True):
        one, other = _lanes(part.slice(inside.start, size), child)
        first += one
        second += other
    offsets -= offsets[0]
    places = _places(offsets)
    first ^= places * _PLACE
    _mixed(first, second)
    return _summed(first, second, offsets, np.diff(offsets), _salt(field.id))


def _places(offsets: Offsets) -> Words:
    """Of each entry its place in its own list, counted from 1."""
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    return (np.arange(1, len(starts) + 1) - starts).view(np.uint64)


def _summed(
    first: Words,
    second: Words,
    offsets: Offsets,
    lengths: Offsets,
    salt: _Salt,
) -> Lanes:
    """The sums of what lies between two offsets, with the length of each."""
    sized = lengths.view(np.uint64)
    sums = [_between(lane, offsets) for lane in (first, second)]
    return _keyed(sums[0] + sized * _LENGTH, sums[1] ^ sized, salt)


def _between(words: Words, offsets: Offsets) -> Words:
    running = np.zeros(len(words) + 1, dtype=np.uint64)
    np.cumsum(words, out=running[1:])
    return running[offsets[1:]] - running[offsets[:-1]]


def _bytes(array: Any, salt: _Salt) -> Lanes:
    """Bytes of any length, in words of eight."""
    starts, lengths, data = byte_spans(array)
    counts = (lengths + 7) >> 3
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places = _places(offsets)
    at = np.repeat(starts - 8, counts) + (places << np.uint64(3)).view(np.int64)
    # Words at any byte: numpy reads them where they lie.
    words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))[at]
    some = np.flatnonzero(counts)
    words[offsets[1:][some] - 1] &= _TAILS[(lengths[some] - 1 & 7) + 1]
    words ^= places * _PLACE
    _mix(words)
    # Odd factors, another for each place: equal words elsewhere do not add up to the same.
    return _summed(words, words * ((places << _ONE) * _LENGTH + _ONE), offsets, lengths, salt)


def byte_spans(array: Any) -> tuple[Offsets, Offsets, npt.NDArray[np.uint8]]:
    """Where each value starts in the bytes, how long it is, and the bytes with some to spare."""
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.large_binary())
    buffer, offsets = array.buffers()[-1], _offsets(array)
    begin, end = int(offsets[0]), int(offsets[-1])
    data = np.zeros(end - begin + 8, dtype=np.uint8)
    if end > begin:
        data[:-8] = np.frombuffer(buffer, np.uint8, end - begin, begin)
    offsets -= begin
    lengths = np.diff(offsets)
    if array.null_count:
        lengths[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return offsets[:-1], lengths, data


def _offsets(array: Any) -> Offsets:
    kind, rows = array.type, len(array)
    if pa.types.is_fixed_size_binary(kind):
        return np.arange(array.offset, array.offset + rows + 1, dtype=np.int64) * int(
            kind.byte_width
        )
    is_large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    size, index = 8 if is_large else 4, array.buffers()[1]
    if not rows or index is None:
        return np.zeros(rows + 1, dtype=np.int64)
    return np.frombuffer(index, f"i{size}", rows + 1, array.offset * size).astype(np.int64)
