"""Where the fields of a Thrift struct lie, and how to change a few of them in place.

A footer has thousands of column chunks of which a splice changes a handful of offsets. Instead of
turning every statistic into an object and back, a struct is *opened*: the byte range of each of
its fields is noted, what nobody asked for is stepped over, and a rewrite joins slices of the old
bytes with the new values. Fields that Neve does not know thus survive by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet import thrift
from neve.parquet.thrift import BINARY, FALSE, I16, I32, I64, LIST, MAX_DEPTH, STRUCT, TRUE

#: Which fields of a struct to open in turn: a struct, or (Each) every struct of a list.
Shape: TypeAlias = "Mapping[int, Shape | Each]"
FLAT: Final[Shape] = {}

#: A note on a field takes a hundred times the room of a small field, so their number is limited;
#: a row group of 10,000 columns needs a quarter of this.
MAX_NOTED_FIELDS: Final = 1_000_000

_NUMBERS: Final = frozenset((I16, I32, I64))
#: A boolean field has no value of its own: its kind says it all.
_BOOLEANS: Final = frozenset((TRUE, FALSE))


@dataclass(frozen=True, slots=True)
class Each:
    """A list of structs, each to be opened in this shape."""

    shape: Shape


@dataclass(slots=True)
class Opened:
    """A struct whose fields have been located in `data`."""

    data: bytes
    start: int
    end: int
    #: Field id to (kind, where its header, its value and what follows start), in byte order.
    fields: dict[int, tuple[int, int, int, int]]
    #: Field id to value, of the whole numbers among the fields: to step over one is to read it.
    numbers: dict[int, int]
    #: Field id to the structs inside it, for the fields that the shape named.
    children: dict[int, list[Opened]]
    #: How many fields are noted here and in the children.
    noted: int

    def has(self, field_id: int) -> bool:
        """Whether the field is there."""
        return field_id in self.fields

    def integer(self, field_id: int) -> int | None:
        """The whole number in a field of kind i16, i32 or i64."""
        number = self.numbers.get(field_id)
        if number is None and field_id in self.fields:
            raise ParquetCorrupt(f"Field {field_id} of the metadata should be a whole number.")
        return number

    def needed_integer(self, field_id: int) -> int:
        """The whole number in a field that the format requires."""
        number = self.numbers.get(field_id)
        if number is None:
            self.integer(field_id)
            raise ParquetCorrupt(f"Field {field_id}, which the format requires, is missing.")
        return number

    def binary(self, field_id: int) -> bytes | None:
        """The byte string in a field."""
        span = self.fields.get(field_id)
        if span is None:
            return None
        if span[0] != BINARY:
            raise ParquetCorrupt(f"Field {field_id} of the metadata should be a byte string.")
        size, at = thrift.read_varint(self.data, span[2])
        return self.data[at : at + size]

    def raw(self, field_id: int) -> bytes | None:
        """The encoded value of a field, without its header."""
        span = self.fields.get(field_id)
        return None if span is None else self.data[span[2] : span[3]]

    def kind(self, field_id: int) -> int | None:
        """What kind of value the field holds."""
        span = self.fields.get(field_id)
        return None if span is None else span[0]

    def child(self, field_id: int) -> Opened | None:
        """The one struct in a field that the shape named."""
        inside = self.children.get(field_id)
        return None if inside is None else inside[0]


def open_struct(data: bytes, at: int, shape: Shape = FLAT) -> Opened:
    """Locate the fields of the struct at `at`."""
    try:
        return _open(data, at, shape, 0)
    except IndexError:
        raise thrift.ends_early() from None


def open_list(data: bytes, at: int, shape: Shape = FLAT) -> Iterator[Opened]:
    """Locate the fields of each struct of the list at `at`, one struct at a time."""
    try:
        kind, size, at = thrift.read_list_header(data, at)
        _check_structs(kind, size)
        for _ in range(size):
            opened = _open(data, at, shape, 0)
            at = opened.end
            yield opened
    except IndexError:
        raise thrift.ends_early() from None


def find_list(data: bytes, field_id: int) -> bytes:
    """The encoded list in a field of the struct at the start; nothing behind it is looked at."""
    at = found_id = 0
    try:
        while header := data[at]:
            at += 1
            if header > 15:
                found_id += header >> 4
            else:
                found_id, at = thrift.read_field_id(data, at)
            kind, value_at = header & 15, at
            if kind not in _BOOLEANS:
                at = _SKIPPERS[kind](data, at, 1)
            if found_id == field_id and kind == LIST:
                return data[value_at:at]
    except IndexError:
        raise thrift.ends_early() from None
    raise ParquetCorrupt(f"Field {field_id} of the metadata should be a list.")


def rewrite(opened: Opened, changes: Mapping[int, bytes | None]) -> list[bytes]:
    """The struct's bytes, in slices, with encoded values replaced or (None) fields taken out."""
    if None in changes.values():
        return _rewrite_headers(opened, changes)
    data, cursor, fields = opened.data, opened.start, opened.fields
    out: list[bytes] = []
    changed = [(fields[field_id], value) for field_id, value in changes.items()]
    if len(changed) > 1:
        changed.sort(key=_header_position)
    for (_, _, start, end), value in changed:
        if value is not None:
            out += (data[cursor:start], value)
            cursor = end
    out.append(data[cursor : opened.end])
    return out


def _header_position(change: tuple[tuple[int, int, int, int], bytes | None]) -> int:
    return change[0][1]


def _rewrite_headers(opened: Opened, changes: Mapping[int, bytes | None]) -> list[bytes]:
    # A header says how far its id is from the one before, so taking a field out moves the next.
    out: list[bytes] = []
    previous_id = 0
    for field_id, (kind, _, start, end) in opened.fields.items():
        value = changes.get(field_id, opened.data[start:end])
        if value is not None:
            out += (thrift.encode_field_header(previous_id, field_id, kind), value)
            previous_id = field_id
    out.append(b"\0")
    return out


def _open(data: bytes, at: int, shape: Shape, depth: int) -> Opened:
    if depth > MAX_DEPTH:
        raise thrift.too_deep()
    start = at
    fields: dict[int, tuple[int, int, int, int]] = {}
    numbers: dict[int, int] = {}
    children: dict[int, list[Opened]] = {}
    field_id = 0
    while header := data[at]:
        header_at = at
        at += 1
        if header > 15:
            field_id += header >> 4
        else:
            field_id, at = thrift.read_field_id(data, at)
        if field_id in fields:
            raise ParquetCorrupt(f"The metadata has field {field_id} of a struct twice.")
        kind = header & 15
        value_at = at
        if kind in _NUMBERS:
            number = data[at]
            at += 1
            if number > 127:
                number, at = thrift.read_varint(data, value_at)
            numbers[field_id] = (number >> 1) ^ -(number & 1)
        elif field_id in shape:
            children[field_id], at = _open_inside(data, at, kind, shape[field_id], depth)
        elif kind not in _BOOLEANS:
            at = _SKIPPERS[kind](data, at, depth + 1)
        fields[field_id] = (kind, header_at, value_at, at)
    thrift.checked_field_id(field_id)
    noted = len(fields)
    if shape:
        noted += _noted_inside(shape, fields, children)
    return Opened(data, start, at + 1, fields, numbers, children, noted)


def _noted_inside(
    shape: Shape, fields: Mapping[int, object], children: Mapping[int, list[Opened]]
) -> int:
    noted = 0
    for field_id in shape:
        if field_id in children:
            for child in children[field_id]:
                noted += child.noted
        elif field_id in fields:
            raise ParquetCorrupt("The metadata has a number where a struct or a list should be.")
    return noted


def _open_inside(
    data: bytes, at: int, kind: int, shape: Shape | Each, depth: int
) -> tuple[list[Opened], int]:
    if not isinstance(shape, Each):
        if kind != STRUCT:
            raise ParquetCorrupt("The metadata has another value where a struct should be.")
        opened = _open(data, at, shape, depth + 1)
        return [opened], opened.end
    if kind != LIST:
        raise ParquetCorrupt("The metadata has another value where a list should be.")
    element_kind, size, at = thrift.read_list_header(data, at)
    _check_structs(element_kind, size)
    inside = []
    noted = size
    for _ in range(size):
        opened = _open(data, at, shape.shape, depth + 2)
        at = opened.end
        noted += opened.noted
        if noted > MAX_NOTED_FIELDS:
            raise ParquetUnsupported(f"A list in its metadata has over {MAX_NOTED_FIELDS} fields.")
        inside.append(opened)
    return inside, at


def _check_structs(kind: int, size: int) -> None:
    if kind != STRUCT and size:
        raise ParquetCorrupt("The metadata has a list of plain values where structs should be.")


def _skip_struct(data: bytes, at: int, depth: int) -> int:
    # The hot path of reading a footer, so the commonest kinds are handled in line.
    if depth > MAX_DEPTH:
        raise thrift.too_deep()
    while header := data[at]:
        at += 1
        if header < 16:
            _, at = thrift.read_field_id(data, at)
        kind = header & 15
        if kind in _NUMBERS:
            at = at + 1 if data[at] < 128 else _skip_long_number(data, at)
        elif kind == BINARY:
            size = data[at]
            at = at + 1 + size if size < 128 else _skip_binary(data, at, depth)
        elif kind not in _BOOLEANS:
            at = _SKIPPERS[kind](data, at, depth + 1)
    return at + 1


def _skip_long_number(data: bytes, at: int) -> int:
    last = at + 9
    while data[at] > 127:
        if at == last:
            raise ParquetCorrupt("A number in the metadata is longer than 64 bits.")
        at += 1
    return at + 1


def _skip_byte(_data: bytes, at: int, _depth: int) -> int:
    return at + 1


def _skip_number(data: bytes, at: int, _depth: int) -> int:
    return _skip_long_number(data, at)


def _skip_double(_data: bytes, at: int, _depth: int) -> int:
    return at + 8


def _skip_binary(data: bytes, at: int, _depth: int) -> int:
    size, at = thrift.read_varint(data, at)
    if size > len(data) - at:
        raise thrift.ends_early()
    return at + size


def _skip_list(data: bytes, at: int, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise thrift.too_deep()
    kind, size, at = thrift.read_list_header(data, at)
    if kind in _NUMBERS:
        for _ in range(size):
            at = at + 1 if data[at] < 128 else _skip_long_number(data, at)
        return at
    skip = _SKIPPERS[kind]
    for _ in range(size):
        at = skip(data, at, depth + 1)
    return at


def _skip_map(data: bytes, at: int, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise thrift.too_deep()
    key_kind, value_kind, size, at = thrift.read_map_header(data, at)
    for _ in range(size):
        at = _SKIPPERS[key_kind](data, at, depth + 1)
        at = _SKIPPERS[value_kind](data, at, depth + 1)
    return at


def _skip_uuid(_data: bytes, at: int, _depth: int) -> int:
    return at + 16


def _refuse_kind(data: bytes, at: int, depth: int) -> int:
    return thrift.refuse_kind(data, at, depth)[1]


_SKIPPERS: Final[tuple[Callable[[bytes, int, int], int], ...]] = (
    _refuse_kind,
    _skip_byte,
    _skip_byte,
    _skip_byte,
    _skip_number,
    _skip_number,
    _skip_number,
    _skip_double,
    _skip_binary,
    _skip_list,
    _skip_list,
    _skip_map,
    _skip_struct,
    _skip_uuid,
    _refuse_kind,
    _refuse_kind,
)
