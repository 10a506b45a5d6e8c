"""Avro and metadata files that may be damaged or hostile, read within bounds.

pyiceberg's compiled decoder trusts the lengths that it reads and follows them out of its buffer,
so damaged bytes could end the process. Here every length is checked, at half the speed.
"""

from __future__ import annotations

import os
import stat
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from pydantic import ValidationError
from pyiceberg import exceptions as iceberg
from pyiceberg.avro.codecs.deflate import DeflateCodec
from pyiceberg.avro.decoder import StreamingBinaryDecoder
from pyiceberg.avro.file import MAGIC, SYNC_SIZE, Block
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, ListType, MapType, StructType, UnknownType

from neve.catalog.errors import first_line
from neve.catalog.whole_avro import ProjectedAvroFile, project

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_VARINT_BYTES = 10
#: Whatever decoding bytes that mean nothing may raise, in pyiceberg and below.
DAMAGE = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    RecursionError,
    MemoryError,
    NotImplementedError,
    struct.error,
    zlib.error,
    ValidationError,
    iceberg.ValidationError,
    iceberg.ResolveError,
)


class Damaged(Exception):
    """A file cannot be read; the message says why in a few words."""


@contextmanager
def damage_explained() -> Iterator[None]:
    """Whatever reading one file raises becomes one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise Damaged("it is not in storage") from error
    except DAMAGE as error:
        raise Damaged(_why(error)) from error


def _why(error: BaseException) -> str:
    """The first thing that is wrong; pydantic would begin with how many there are."""
    inner = error if isinstance(error, ValidationError) else error.__cause__
    if not isinstance(inner, ValidationError):
        return first_line(error)
    first = inner.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"][:6])
    return first_line(ValueError(f"{place}: {first['msg']}" if place else first["msg"]))


def read_bounded(io: FileIO, location: str) -> bytes:
    """The bytes of a file, which must be a file and not larger than metadata ever is."""
    require_file(location)
    size = stored_size(io, location)
    if size > MAX_FILE_BYTES:
        raise ValueError(f"its {size} bytes are over the limit of {MAX_FILE_BYTES}")
    with io.new_input(location).open() as stream:
        return stream.read(MAX_FILE_BYTES)


def require_file(location: str) -> None:
    """A pipe or a device of this machine would be read for ever."""
    scheme, _, path = PyArrowFileIO.parse_location(location)
    if scheme == "file" and not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is not a file")


def stored_size(io: FileIO, location: str) -> int:
    """The size that storage gives for a file, by one request."""
    # pyarrow answers None for a folder, which len() refuses with a TypeError.
    return len(io.new_input(location))


def read_metadata(io: FileIO, location: str) -> TableMetadata:
    """Table metadata, checked by its own rules."""
    return parse_metadata(read_text(io, location))


def read_text(io: FileIO, location: str) -> str:
    data = read_bounded(io, location)
    if location.endswith((".gz.metadata.json", ".metadata.json.gz")):
        data = _inflate(data, wbits=31)
    return data.decode("utf-8", errors="replace")


def parse_metadata(text: str) -> TableMetadata:
    with warnings.catch_warnings():
        # pyiceberg warns of summaries without an operation; a diagnosis has its own words.
        warnings.simplefilter("ignore")
        return TableMetadataUtil.parse_raw(text)


def _inflate(data: bytes, *, wbits: int) -> bytes:
    unpacker = zlib.decompressobj(wbits)
    unpacked = unpacker.decompress(data, MAX_FILE_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"unpacked it is over the limit of {MAX_FILE_BYTES} bytes")
    return unpacked


class CheckedDecoder(StreamingBinaryDecoder):
    """Reads Avro's primitives and believes no length."""

    __slots__ = ()

    def read_int(self) -> int:
        number = shift = 0
        for _ in range(MAX_VARINT_BYTES):
            byte = self.read(1)[0]
            number |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return (number >> 1) ^ -(number & 1)
            shift += 7
        raise ValueError("a number in it has no end")

    def skip(self, n: int) -> None:
        if n < 0:
            raise ValueError("a length in it is negative")
        super().skip(n)


class CheckedAvroFile(ProjectedAvroFile):
    """An Avro file of which nothing is believed; only the fields of the read schema are decoded."""

    __slots__ = ("_block_bytes", "_io", "_size_bytes")

    def __init__(self, io: FileIO, location: str, read_schema: Schema) -> None:
        super().__init__(io.new_input(location), read_schema)
        self._io = io
        self._block_bytes = 0

    def __enter__(self) -> Self:
        data = read_bounded(self._io, self.input_file.location)
        self._size_bytes = len(data)
        self.decoder = CheckedDecoder(data)
        self.header = self._read_header()
        if self.header.magic != MAGIC:
            raise ValueError("it is not an Avro file")
        if not data.endswith(self.header.sync):
            raise ValueError("it is cut short")
        self.schema = self.header.get_schema()
        _refuse_weightless(self.schema.as_struct())
        assert self.read_schema is not None
        # What may be hostile is not kept for others.
        self.reader = project(self.schema, self.read_schema)
        return self

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        while self.block is None or not self.block.has_next():
            self._check_block_end()
            if self.decoder.tell() + (SYNC_SIZE if self.block else 0) == self._size_bytes:
                raise StopIteration
            self._read_block()
        return next(self.block)

    def _check_block_end(self) -> None:
        if self.block and self.block.block_decoder.tell() != self._block_bytes:
            raise ValueError("a block in it holds more than its records")

    def _read_block(self) -> int:
        if self.block and self.decoder.read(SYNC_SIZE) != self.header.sync:
            raise ValueError("its blocks are out of step")
        records = self.decoder.read_int()
        data = self.decoder.read_bytes()
        codec = self.header.compression_codec()
        if codec is DeflateCodec:
            data = _inflate(data, wbits=-15)
        elif codec is not None:
            data = codec.decompress(data)
        if not 0 <= records <= len(data):
            raise ValueError(f"a block of {len(data)} bytes claims {records} records")
        self._block_bytes = len(data)
        self.block = Block(
            reader=self.reader, block_records=records, block_decoder=CheckedDecoder(data)
        )
        return records


def _refuse_weightless(of: IcebergType, *, depth: int = 0) -> None:
    """Elements without bytes could be claimed by the billion."""
    if depth > 64:
        raise ValueError("its schema is nested too deeply")
    if isinstance(of, StructType):
        for field in of.fields:
            _refuse_weightless(field.field_type, depth=depth + 1)
    elif isinstance(of, ListType):
        _require_weight(of.element_type, depth + 1)
    elif isinstance(of, MapType):
        _require_weight(of.key_type, depth + 1)
        _refuse_weightless(of.value_type, depth=depth + 1)


def _require_weight(of: IcebergType, depth: int) -> None:
    if _is_weightless(of):
        raise ValueError("its schema has lists of nothing")
    _refuse_weightless(of, depth=depth)


def _is_weightless(of: IcebergType) -> bool:
    if isinstance(of, StructType):
        return all(_is_weightless(field.field_type) for field in of.fields)
    return isinstance(of, UnknownType)
