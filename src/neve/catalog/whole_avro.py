"""Avro files that are read whole or not at all, and of which only some fields are decoded.

pyiceberg takes the end of the data, and a block without records, for the end of the file, so that
half a manifest would look like a table with fewer files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from pyiceberg.avro import STRUCT_DOUBLE
from pyiceberg.avro.decoder import BinaryDecoder, new_decoder
from pyiceberg.avro.file import _SCHEMA_KEY as SCHEMA_KEY
from pyiceberg.avro.file import MAGIC, SYNC_SIZE, AvroFile, AvroFileHeader, D
from pyiceberg.avro.reader import DecimalReader, DoubleReader, ListReader, MapReader, Reader
from pyiceberg.avro.resolver import (
    ReadSchemaResolver,
    SchemaPartnerAccessor,
    resolve_reader,
)
from pyiceberg.schema import Schema, visit_with_partner
from pyiceberg.typedef import Record
from pyiceberg.types import DecimalType, DoubleType, IcebergType, ListType, MapType

#: Of one map or list: columns or row groups of a file.
MAX_ENTRIES = 10_000_000


class _SkippingAccessor(SchemaPartnerAccessor):
    """Lets a read schema leave out structs, maps and lists; pyiceberg's own accessor does not."""

    def field_partner(self, partner: Any, field_id: int, field_name: str) -> Any:
        # An empty struct is not the absence of one.
        return None if partner is None else super().field_partner(partner, field_id, field_name)

    def list_element_partner(self, partner_list: Any) -> Any:
        return partner_list and super().list_element_partner(partner_list)

    def map_key_partner(self, partner_map: Any) -> Any:
        return partner_map and super().map_key_partner(partner_map)

    def map_value_partner(self, partner_map: Any) -> Any:
        return partner_map and super().map_value_partner(partner_map)


class _ExactDoubleReader(DoubleReader):
    """Reads all 64 bits; pyiceberg 0.12's compiled decoder hands out 32 (iceberg-python#3808)."""

    def read(self, decoder: BinaryDecoder) -> float:
        value: float = STRUCT_DOUBLE.unpack(decoder.read(8))[0]
        return value


class _ExactDecimalReader(DecimalReader):
    """Skips as many bytes as it reads; pyiceberg 0.12 takes the first ones for a length."""

    def skip(self, decoder: BinaryDecoder) -> None:
        decoder.skip(self._length)


class _QuickMapReader(MapReader):
    """Skips by reading all at once: the decoder is compiled, and skipping one by one is not."""

    def skip(self, decoder: BinaryDecoder) -> None:
        if not (self._is_int_int or self._is_int_bytes):
            super().skip(decoder)
            return
        while count := _entries_to_read(decoder):
            if self._is_int_int:
                decoder.read_ints(2 * count)
            else:
                decoder.read_int_bytes_dict(count, {})


class _QuickListReader(ListReader):
    def skip(self, decoder: BinaryDecoder) -> None:
        if not self._is_int_list:
            super().skip(decoder)
            return
        while count := _entries_to_read(decoder):
            decoder.read_ints(count)


def _entries_to_read(decoder: BinaryDecoder) -> int:
    """How many come next; those of which the bytes are counted are skipped here."""
    while (count := decoder.read_int()) < 0:
        decoder.skip(decoder.read_int())
    if count > MAX_ENTRIES:
        raise ValueError(f"it claims a list of {count} entries")
    return count


class _Resolver(ReadSchemaResolver):
    def visit_double(self, double_type: DoubleType, partner: IcebergType | None) -> Reader:
        return _ExactDoubleReader()  # type: ignore[no-untyped-call]

    def visit_decimal(self, decimal_type: DecimalType, partner: IcebergType | None) -> Reader:
        return _ExactDecimalReader(decimal_type.precision, decimal_type.scale)

    def list(
        self, list_type: ListType, expected_list: IcebergType | None, element_reader: Reader
    ) -> Reader:
        made = super().list(list_type, expected_list, element_reader)
        return _QuickListReader(made.element) if type(made) is ListReader else made

    def map(
        self,
        map_type: MapType,
        expected_map: IcebergType | None,
        key_reader: Reader,
        value_reader: Reader,
    ) -> Reader:
        made = super().map(map_type, expected_map, key_reader, value_reader)
        return _QuickMapReader(made.key, made.value) if type(made) is MapReader else made


class WholeAvroFile(AvroFile[D]):
    """An Avro file that must not be cut short, and whose blocks hold exactly their records."""

    __slots__ = ("_blocks_at", "_data")

    def __enter__(self) -> Self:
        with self.input_file.open() as stream:
            self._data = stream.read()
        self.header, self._blocks_at = self._framed(_read_header, 0)
        if not self._data.endswith(self.header.sync):
            raise ValueError(f"{self.input_file.location} is cut short")
        self.reader = self._make_reader()
        return self

    def _make_reader(self) -> Reader:
        assert self.read_schema is not None
        self.schema = self.header.get_schema()
        return resolve_reader(self.schema, self.read_schema, self.read_types, self.read_enums)

    def __iter__(self) -> Iterator[D]:  # type: ignore[override]
        read, codec, at = self.reader.read, self.header.compression_codec(), self._blocks_at
        while at < len(self._data):
            (records, block), at = self._framed(_read_block, at, self.header.sync)
            if codec is not None:
                block = codec.decompress(block)
            decoder = new_decoder(block)
            for _ in range(records):
                yield read(decoder)
            if decoder.tell() != len(block):
                raise ValueError(f"A block of {self.input_file.location} is not its records")

    def _framed(self, read: Any, at: int, *rest: bytes) -> Any:
        try:
            return read(self._data, at, *rest)
        except (IndexError, ValueError) as error:
            place = self.input_file.location
            raise ValueError(f"{place} is cut short or damaged: {error}") from error


def _read_header(data: bytes, at: int) -> tuple[AvroFileHeader, int]:
    if not data.startswith(MAGIC):
        raise ValueError("it is not an Avro file")
    at, meta = len(MAGIC), dict[str, str]()
    while True:
        count, at = _read_number(data, at)
        if count < 0:
            # Followed by the size of the entries in bytes.
            count, (_, at) = -count, _read_number(data, at)
        if count == 0:
            break
        for _ in range(count):
            key, at = _read_bytes(data, at)
            value, at = _read_bytes(data, at)
            meta[key.decode()] = value.decode()
    sync = data[at : at + SYNC_SIZE]
    if len(sync) != SYNC_SIZE:
        raise ValueError("it has no marker")
    return AvroFileHeader(MAGIC, meta, sync), at + SYNC_SIZE


def _read_block(data: bytes, at: int, sync: bytes) -> tuple[tuple[int, bytes], int]:
    """How many records, and their bytes."""
    records, at = _read_number(data, at)
    block, at = _read_bytes(data, at)
    if records < 0 or data[at : at + SYNC_SIZE] != sync:
        raise ValueError("its blocks are out of step")
    return (records, block), at + SYNC_SIZE


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _read_number(data, at)
    if not 0 <= length <= len(data) - at:
        raise ValueError("a length in it leads beyond its end")
    return data[at : at + length], at + length


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
        if shift > 63:
            raise ValueError("a number in it has no end")


class ProjectedAvroFile(WholeAvroFile[Record]):
    """An Avro file of which only the fields of the read schema are decoded."""

    __slots__ = ()

    def _make_reader(self) -> Reader:
        assert self.read_schema is not None
        written = self.header.meta.get(SCHEMA_KEY, "")
        # The schema is part of what is kept, so that nothing else gets its number.
        key = (written, id(self.read_schema))
        found = _readers.get(key)
        if found is None:
            if len(_readers) >= MAX_READERS:
                _readers.clear()
            reader = project(self.header.get_schema(), self.read_schema)
            _readers[key] = (self.read_schema, reader)
            return reader
        return found[1]


#: Manifests of a table have one schema, and understanding it takes longer than reading a few.
_readers: dict[tuple[str, int], tuple[Schema, Reader]] = {}
MAX_READERS = 256


def project(written: Schema, wanted: Schema) -> Reader:
    """What reads only the wanted fields of records that were written with a schema."""
    # Its types say that a schema has no partner schema.
    visit: Any = visit_with_partner
    reader: Reader = visit(written, wanted, _Resolver(), _SkippingAccessor())
    return reader
