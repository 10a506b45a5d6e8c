"""Rows in a page of a nested column: they begin where the repetition level is zero."""

from __future__ import annotations

from neve.model.errors import ParquetCorrupt
from neve.parquet import thrift


def row_starts(data: bytes, max_level: int, values: int) -> tuple[int, bool]:
    """How many of the first `values` levels are zero, and whether the very first is.

    Levels come in runs, of one level or of packed ones; a packed run is one long number here, so
    that its levels are looked at together.
    """
    width = max_level.bit_length()
    at = left = starts = 0
    begins = False
    left = values
    try:
        while left > 0:
            header, at = thrift.read_varint(data, at)
            size = (header >> 1) * width if header & 1 else (width + 7) // 8
            if size > len(data) - at or header < 2:
                raise thrift.ends_early()
            number = int.from_bytes(data[at : at + size], "little")
            at += size
            if header & 1:
                count = min(left, (header >> 1) * 8)
                zeros, first = _zeros(number, count, width)
            else:
                count = min(left, header >> 1)
                zeros, first = (0 if number else count), number == 0
            if left == values:
                begins = first
            starts += zeros
            left -= count
    except IndexError:
        raise ParquetCorrupt("The levels of a page end too early.") from None
    return starts, begins


def _zeros(number: int, count: int, width: int) -> tuple[int, bool]:
    ones = ((1 << count * width) - 1) // ((1 << width) - 1)
    set_bits = number
    for shift in range(1, width):
        set_bits |= number >> shift
    # Bit 0 of every level now says whether any of its bits is set.
    return count - (set_bits & ones).bit_count(), not set_bits & 1
