"""Thrift's compact protocol, read and written without knowing the structs.

Parquet keeps its metadata in this encoding. A struct is decoded into its fields in the order of
the bytes, each with id, kind and value, so that fields which Parquet adds later come back out
as they went in. Input is hostile until proven otherwise: whatever the bytes are, the answer is a
value or ParquetCorrupt, in time and memory linear in their number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from neve.model.errors import ParquetCorrupt

TRUE: Final = 1
FALSE: Final = 2
I8: Final = 3
I16: Final = 4
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
SET: Final = 10
MAP: Final = 11
STRUCT: Final = 12
UUID: Final = 13

MAX_DEPTH: Final = 48
_MAX_VARINT_BYTES: Final = 10
_INT_BITS: Final = {I16: 16, I32: 32, I64: 64}

Value: TypeAlias = "bool | int | float | bytes | Struct | Items | Pairs"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct; a boolean's kind is TRUE or FALSE, as on the wire."""

    id: int
    kind: int
    value: Value


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of a struct in the order in which they were written."""

    fields: tuple[Field, ...]

    def get(self, field_id: int) -> Value | None:
        """The value of the field with this id, if it is there."""
        return next((field.value for field in self.fields if field.id == field_id), None)


@dataclass(frozen=True, slots=True)
class Items:
    """The elements of a list or a set."""

    kind: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The entries of a map; an empty map does not say what its keys and values are."""

    key_kind: int
    value_kind: int
    entries: tuple[tuple[Value, Value], ...]


def decode_struct(data: bytes, at: int = 0) -> tuple[Struct, int]:
    """The struct that starts at `at`, and the position after it."""
    try:
        return _read_struct(data, at, 0)
    except IndexError:
        raise ends_early() from None


def encode_struct(value: Struct) -> bytes:
    """The bytes of a struct, in the shortest form of every header and number."""
    out = bytearray()
    _write_struct(out, value)
    return bytes(out)


def ends_early() -> ParquetCorrupt:
    """The error for bytes that stop inside a value."""
    return ParquetCorrupt("The metadata ends in the middle of a value.")


def encode_varint(number: int) -> bytes:
    """An unsigned number, seven bits a byte, least significant first."""
    if number < 128:
        return _ONE_BYTE[number]
    out = []
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def encode_int(number: int) -> bytes:
    """A signed number, small magnitudes short (zigzag)."""
    return encode_varint(number << 1 if number >= 0 else (-number << 1) - 1)


def encode_binary(value: bytes) -> bytes:
    """A byte string behind its length."""
    return encode_varint(len(value)) + value


def encode_field_header(previous_id: int, field_id: int, kind: int) -> bytes:
    """The header of a field that follows the field `previous_id` (0 at the start of a struct)."""
    step = field_id - previous_id
    if 0 < step < 16:
        return _ONE_BYTE[step << 4 | kind]
    return _ONE_BYTE[kind] + encode_int(field_id)


def encode_fields(fields: Iterable[tuple[int, int, bytes]]) -> bytes:
    """A struct of fields by id, each with its kind and its encoded value, in the order of ids."""
    out: list[bytes] = []
    previous_id = 0
    for field_id, kind, value in fields:
        out += (encode_field_header(previous_id, field_id, kind), value)
        previous_id = field_id
    out.append(b"\0")
    return b"".join(out)


def encode_list_header(kind: int, size: int) -> bytes:
    """The header of a list of `size` elements."""
    if size < 15:
        return _ONE_BYTE[size << 4 | kind]
    return _ONE_BYTE[0xF0 | kind] + encode_varint(size)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned number at `at`, and the position after it."""
    byte = data[at]
    at += 1
    if byte < 128:
        return byte, at
    number = byte & 127
    shift = 7
    while shift < 7 * _MAX_VARINT_BYTES:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            if number >> 64:
                break
            return number, at
        shift += 7
    raise ParquetCorrupt("A number in the metadata is longer than 64 bits.")


def read_int(data: bytes, at: int) -> tuple[int, int]:
    """The signed number at `at`, and the position after it."""
    number, at = read_varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def read_field_id(data: bytes, at: int) -> tuple[int, int]:
    """The id that follows a field header without a step."""
    field_id, at = read_int(data, at)
    return checked_field_id(field_id), at


def checked_field_id(field_id: int) -> int:
    """The same id, once it is known to fit Thrift's 16 bits."""
    if -0x8000 <= field_id <= 0x7FFF:
        return field_id
    raise ParquetCorrupt(f"The metadata has a field with the impossible id {field_id}.")


def read_list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """Element kind and number of elements of the list at `at`, and where the first one starts."""
    header = data[at]
    size = header >> 4
    at += 1
    if size == 15:
        size, at = read_varint(data, at)
    # Every element takes at least one byte, so a longer list cannot be in what is left.
    if size > len(data) - at:
        raise ParquetCorrupt(f"A list in the metadata claims {size} elements, more than fit.")
    return header & 15, size, at


def read_map_header(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Key kind, value kind and number of entries of the map at `at`, and where they start."""
    size, at = read_varint(data, at)
    if size == 0:
        return 0, 0, 0, at
    if 2 * size > len(data) - at:
        raise ParquetCorrupt(f"A map in the metadata claims {size} entries, more than fit.")
    return data[at] >> 4, data[at] & 15, size, at + 1


def too_deep() -> ParquetCorrupt:
    """The error for metadata that is nested beyond reason; the stack is finite."""
    return ParquetCorrupt(f"The metadata is nested more than {MAX_DEPTH} levels deep.")


def check_depth(depth: int) -> None:
    """Refuse a level that is too deep."""
    if depth > MAX_DEPTH:
        raise too_deep()


def _read_struct(data: bytes, at: int, depth: int) -> tuple[Struct, int]:
    check_depth(depth)
    fields = []
    field_id = 0
    while header := data[at]:
        at += 1
        kind = header & 15
        if header > 15:
            field_id = checked_field_id(field_id + (header >> 4))
        else:
            field_id, at = read_field_id(data, at)
        value: Value
        if kind in (TRUE, FALSE):
            value = kind == TRUE
        else:
            value, at = _READERS[kind](data, at, depth + 1)
        fields.append(Field(field_id, kind, value))
    return Struct(tuple(fields)), at + 1


def _read_items(data: bytes, at: int, depth: int) -> tuple[Items, int]:
    check_depth(depth)
    kind, size, at = read_list_header(data, at)
    read = _READERS[kind]
    values = []
    for _ in range(size):
        value, at = read(data, at, depth + 1)
        values.append(value)
    return Items(kind, tuple(values)), at


def _read_pairs(data: bytes, at: int, depth: int) -> tuple[Pairs, int]:
    check_depth(depth)
    key_kind, value_kind, size, at = read_map_header(data, at)
    entries = []
    for _ in range(size):
        key, at = _READERS[key_kind](data, at, depth + 1)
        value, at = _READERS[value_kind](data, at, depth + 1)
        entries.append((key, value))
    return Pairs(key_kind, value_kind, tuple(entries)), at


def _read_bool(data: bytes, at: int, _depth: int) -> tuple[bool, int]:
    # Inside a list a boolean has a byte of its own; some writers say 0 for false, others 2.
    if data[at] > 2:
        raise ParquetCorrupt("A boolean in the metadata is neither true nor false.")
    return data[at] == TRUE, at + 1


def _read_i8(data: bytes, at: int, _depth: int) -> tuple[int, int]:
    return (data[at] ^ 128) - 128, at + 1


def _read_number(kind: int) -> Callable[[bytes, int, int], tuple[int, int]]:
    bits = _INT_BITS[kind]
    bound = 1 << (bits - 1)

    def read(data: bytes, at: int, _depth: int) -> tuple[int, int]:
        number, at = read_int(data, at)
        if not -bound <= number < bound:
            raise ParquetCorrupt(f"A number in the metadata does not fit {bits} bits.")
        return number, at

    return read


def _read_double(data: bytes, at: int, _depth: int) -> tuple[float, int]:
    return float(struct.unpack("<d", _slice(data, at, 8))[0]), at + 8


def _read_binary(data: bytes, at: int, _depth: int) -> tuple[bytes, int]:
    size, at = read_varint(data, at)
    return _slice(data, at, size), at + size


def _read_uuid(data: bytes, at: int, _depth: int) -> tuple[bytes, int]:
    return _slice(data, at, 16), at + 16


def _slice(data: bytes, at: int, size: int) -> bytes:
    if size > len(data) - at:
        raise ends_early()
    return data[at : at + size]


def refuse_kind(_data: bytes, _at: int, _depth: int) -> tuple[Value, int]:
    """Stand in for the reader of a kind that Thrift does not have."""
    raise ParquetCorrupt("The metadata has a value of a kind that Thrift does not know.")


_READERS: Final[tuple[Callable[[bytes, int, int], tuple[Value, int]], ...]] = (
    refuse_kind,
    _read_bool,
    _read_bool,
    _read_i8,
    _read_number(I16),
    _read_number(I32),
    _read_number(I64),
    _read_double,
    _read_binary,
    _read_items,
    _read_items,
    _read_pairs,
    _read_struct,
    _read_uuid,
    refuse_kind,
    refuse_kind,
)


def _write_struct(out: bytearray, value: Struct) -> None:
    previous_id = 0
    for field in value.fields:
        out += encode_field_header(previous_id, field.id, field.kind)
        previous_id = field.id
        if field.kind > FALSE:
            _write_value(out, field.kind, field.value)
    out.append(0)


def _write_value(out: bytearray, kind: int, value: Value) -> None:
    match value:
        case bool():
            out.append(TRUE if value else FALSE)
        case int():
            out += _ONE_BYTE[value & 255] if kind == I8 else encode_int(value)
        case float():
            out += struct.pack("<d", value)
        case bytes():
            out += value if kind == UUID else encode_binary(value)
        case Struct():
            _write_struct(out, value)
        case Items():
            out += encode_list_header(value.kind, len(value.values))
            for item in value.values:
                _write_value(out, value.kind, item)
        case Pairs():
            _write_pairs(out, value)


def _write_pairs(out: bytearray, value: Pairs) -> None:
    out += encode_varint(len(value.entries))
    if value.entries:
        out.append(value.key_kind << 4 | value.value_kind)
    for key, entry in value.entries:
        _write_value(out, value.key_kind, key)
        _write_value(out, value.value_kind, entry)


_ONE_BYTE: Final = tuple(bytes((number,)) for number in range(256))
