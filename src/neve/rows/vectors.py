"""Deletion vectors: the blobs `deletion-vector-v1` of Puffin files."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from neve.model.errors import RowsCorrupt
from neve.rows.roaring import Positions, read_bitmap, write_bitmap

PUFFIN_MAGIC: Final = b"PFA1"
BLOB_TYPE: Final = "deletion-vector-v1"
#: The metadata column that positions are values of.
ROW_POSITION: Final = 2147483545
_MAGIC: Final = struct.pack("<I", 1681511377)
_FRAME: Final = 12


@dataclass(frozen=True, slots=True)
class WrittenVector:
    """Where a vector lies in its Puffin file, as the manifest entry says it."""

    referenced_data_file: str
    offset: int
    length: int
    cardinality: int


def write_vector(positions: Positions) -> bytes:
    """The blob: length, magic, bitmap and checksum."""
    body = _MAGIC + write_bitmap(positions)
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def read_vector(blob: bytes, cardinality: int | None = None) -> Positions:
    """The positions in a blob, which must be as many as its manifest entry says."""
    if len(blob) < _FRAME or struct.unpack_from(">I", blob)[0] != len(blob) - 8:
        raise RowsCorrupt("A deletion vector is not as long as it says.")
    body = blob[4:-4]
    if body[:4] != _MAGIC:
        raise RowsCorrupt("A deletion vector does not begin as one.")
    if struct.unpack(">I", blob[-4:])[0] != zlib.crc32(body):
        raise RowsCorrupt("A deletion vector does not match its checksum.")
    positions = read_bitmap(body[4:])
    if cardinality is not None and len(positions) != cardinality:
        raise RowsCorrupt(
            f"A deletion vector has {len(positions)} positions, and its manifest says "
            f"{cardinality}."
        )
    return positions


def write_puffin(
    vectors: Mapping[str, Positions], created_by: str
) -> tuple[bytes, list[WrittenVector]]:
    """A Puffin file with one vector for each data file, and where each of them lies."""
    data = bytearray(PUFFIN_MAGIC)
    written, blobs = [], []
    for path, positions in vectors.items():
        blob = write_vector(positions)
        written.append(WrittenVector(path, len(data), len(blob), len(positions)))
        blobs.append(
            {
                "type": BLOB_TYPE,
                "fields": [ROW_POSITION],
                # Both are inherited from the commit.
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": len(data),
                "length": len(blob),
                "properties": {
                    "referenced-data-file": path,
                    "cardinality": str(len(positions)),
                },
            }
        )
        data += blob
    footer = {"blobs": blobs, "properties": {"created-by": created_by}}
    payload = json.dumps(footer, separators=(",", ":"), ensure_ascii=False).encode()
    data += PUFFIN_MAGIC + payload + struct.pack("<iI", len(payload), 0) + PUFFIN_MAGIC
    return bytes(data), written
