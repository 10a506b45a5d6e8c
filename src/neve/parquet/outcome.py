"""What became of a splice: the result, and the checks of the written file against its plan."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from neve.model.errors import ParquetCorrupt
from neve.parquet.footer import read_footer
from neve.parquet.layout import MAGIC
from neve.parquet.plan import Literal as Structure
from neve.parquet.plan import SplicePlan
from neve.storage.readers import Reader

#: "size" compares lengths and the footer; "checksum" also reads all bytes of data back.
Verify: TypeAlias = Literal["size", "checksum"]

_READ_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SpliceResult:
    """A finished file."""

    path: str
    size_bytes: int
    rows: int
    row_groups: int
    split_offsets: tuple[int, ...]
    copied_bytes: int
    #: CRC-32 of all bytes of data in order, or of a store's digests of them, if there is one.
    checksum: int | None
    #: Bytes of data that were read back and found as they should be.
    compared_bytes: int = 0
    encoded_bytes: int = 0


def check_output(
    plan: SplicePlan, reader: Reader, data_checksum: int | None = None
) -> SpliceResult:
    """Hold a written file against its plan; raises where they differ."""
    if reader.size_bytes != plan.size_bytes:
        raise _differs(reader, f"{reader.size_bytes} bytes instead of {plan.size_bytes}")
    if reader.read_at(0, len(MAGIC)) != MAGIC:
        raise _differs(reader, "another beginning")
    footer = read_footer(reader)
    tail = reader.read_at(footer.footer_start, reader.size_bytes - footer.footer_start)
    if tail != plan.footer:
        raise _differs(reader, "another footer")
    split_offsets = tuple(group.split_offset for group in footer.row_groups)
    if (footer.rows, split_offsets) != (plan.rows, plan.split_offsets):
        raise _differs(reader, "other row groups")
    if data_checksum is not None:
        written = _written_checksum(plan, reader)
        if written != data_checksum:
            raise _differs(reader, "other bytes than its sources")
    return SpliceResult(
        path=reader.path,
        size_bytes=plan.size_bytes,
        rows=plan.rows,
        row_groups=plan.row_groups,
        split_offsets=plan.split_offsets,
        copied_bytes=plan.copied_bytes,
        checksum=data_checksum,
        compared_bytes=0 if data_checksum is None else plan.data_bytes,
        encoded_bytes=plan.encoded_bytes,
    )


def checksum_of(reader: Reader, offset: int, length: int, checksum: int = 0) -> int:
    """CRC-32 of a range, continued from `checksum`."""
    for start in range(offset, offset + length, _READ_BYTES):
        size = min(_READ_BYTES, offset + length - start)
        checksum = zlib.crc32(reader.read_at(start, size), checksum)
    return checksum


def _written_checksum(plan: SplicePlan, reader: Reader) -> int:
    checksum = 0
    at = 0
    for part in plan.parts:
        if not isinstance(part, Structure):
            checksum = checksum_of(reader, at, part.length, checksum)
        at += part.length
    return checksum


def _differs(reader: Reader, what: str) -> ParquetCorrupt:
    return ParquetCorrupt(f"{reader.path} was written with {what}.")
