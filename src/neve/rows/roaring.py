"""Sets of positions in the portable format of 64-bit Roaring bitmaps.

A bitmap for every 2^32 positions, in which every 2^16 of them have a container: a sorted array, a
bitmap of 8 KiB, or runs, whichever is smallest.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from neve.model.errors import RowsCorrupt

Positions = npt.NDArray[np.int64]

MAX_POSITION: Final = (2**31 - 2) << 32 | 2**31
_COOKIE_WITHOUT_RUNS: Final = 12346
_COOKIE: Final = 12347
_OFFSETS_FROM: Final = 4
_MAX_ARRAY: Final = 4096
_BITMAP_BYTES: Final = 8192


def write_bitmap(positions: Positions) -> bytes:
    """The set as bytes; `positions` ascend and are each there once."""
    if not len(positions):
        return struct.pack("<q", 0)
    if np.any(np.diff(positions) <= 0) or positions[0] < 0 or positions[-1] > MAX_POSITION:
        raise RowsCorrupt("Positions to be written do not ascend, or are none.")
    keys = positions >> 32
    # Java writes a bitmap for every key up to the last one, empty ones too.
    parts = [struct.pack("<q", int(keys[-1]) + 1)]
    for key in range(int(keys[-1]) + 1):
        start, end = np.searchsorted(keys, [key, key + 1])
        low = (positions[start:end] & 0xFFFFFFFF).astype(np.uint32)
        parts += [struct.pack("<i", key), _write_32(low)]
    return b"".join(parts)


def _write_32(values: npt.NDArray[np.uint32]) -> bytes:
    high = (values >> np.uint32(16)).astype(np.uint16)
    keys, starts = np.unique(high, return_index=True)
    groups = np.split(values.astype(np.uint16), starts[1:]) if len(keys) else []
    containers = [_container(group) for group in groups]
    has_runs = any(is_run for is_run, _ in containers)
    descriptions = b"".join(
        struct.pack("<HH", key, len(group) - 1) for key, group in zip(keys, groups, strict=True)
    )
    if has_runs:
        flags = np.packbits([is_run for is_run, _ in containers], bitorder="little").tobytes()
        header = struct.pack("<I", _COOKIE | (len(keys) - 1) << 16) + flags + descriptions
    else:
        header = struct.pack("<II", _COOKIE_WITHOUT_RUNS, len(keys)) + descriptions
    bodies = [body for _, body in containers]
    if not has_runs or len(keys) >= _OFFSETS_FROM:
        sizes = [len(body) for body in bodies]
        first = len(header) + 4 * len(keys)
        offsets = first + np.concatenate([[0], np.cumsum(sizes[:-1])])[: len(keys)]
        header += offsets.astype("<u4").tobytes()
    return header + b"".join(bodies)


def _container(group: npt.NDArray[np.uint16]) -> tuple[bool, bytes]:
    """Whether it is of runs, and its bytes."""
    breaks = np.flatnonzero(np.diff(group) != 1) + 1
    starts = np.concatenate([[0], breaks])
    plain_bytes = 2 * len(group) if len(group) <= _MAX_ARRAY else _BITMAP_BYTES
    if 2 + 4 * len(starts) < plain_bytes:
        ends = np.concatenate([breaks, [len(group)]]) - 1
        runs = np.stack([group[starts], group[ends] - group[starts]], axis=1)
        return True, struct.pack("<H", len(starts)) + runs.astype("<u2").tobytes()
    if len(group) <= _MAX_ARRAY:
        return False, group.astype("<u2").tobytes()
    bits = np.zeros(2**16, dtype=np.uint8)
    bits[group] = 1
    return False, np.packbits(bits, bitorder="little").tobytes()


def read_bitmap(data: bytes) -> Positions:
    """The positions in ascending order. Bytes that are no such set are refused."""
    try:
        positions, end = _read_64(data)
    except (struct.error, ValueError, IndexError):
        raise RowsCorrupt("A deletion vector's bitmap ends too early.") from None
    if end != len(data):
        raise RowsCorrupt("A deletion vector's bitmap has bytes after its end.")
    return positions


def _read_64(data: bytes) -> tuple[Positions, int]:
    (count,) = struct.unpack_from("<q", data)
    if not 0 <= count <= len(data) // 4:
        raise RowsCorrupt(f"A deletion vector claims to have {count} bitmaps.")
    at, last, parts = 8, -1, [np.empty(0, dtype=np.int64)]
    for _ in range(count):
        (key,) = struct.unpack_from("<i", data, at)
        if not last < key < 2**31 - 1:
            raise RowsCorrupt("The keys of a deletion vector do not ascend.")
        values, at = _read_32(data, at + 4)
        parts.append(values + (key << 32))
        last = key
    return np.concatenate(parts), at


def _read_32(data: bytes, at: int) -> tuple[Positions, int]:
    (cookie,) = struct.unpack_from("<I", data, at)
    start, at = at, at + 4
    if cookie & 0xFFFF == _COOKIE:
        count = (cookie >> 16) + 1
        is_run = np.unpackbits(_array(data, at, (count + 7) // 8, "u1"), bitorder="little")
        at += (count + 7) // 8
        has_offsets = count >= _OFFSETS_FROM
    elif cookie == _COOKIE_WITHOUT_RUNS:
        (count,) = struct.unpack_from("<I", data, at)
        if count > 2**16:
            raise RowsCorrupt(f"A deletion vector claims to have {count} containers.")
        is_run = np.zeros(count, dtype=np.uint8)
        at, has_offsets = at + 4, True
    else:
        raise RowsCorrupt("A deletion vector is no Roaring bitmap.")
    described = _array(data, at, 2 * count, "<u2").reshape(-1, 2).astype(np.int64)
    at += 4 * count
    offsets = _array(data, at, count, "<u4") if has_offsets else None
    at += 4 * count if has_offsets else 0
    if np.any(np.diff(described[:, 0]) <= 0):
        raise RowsCorrupt("The containers of a deletion vector do not ascend.")
    parts = [np.empty(0, dtype=np.int64)]
    for number, (key, less_one) in enumerate(described):
        if offsets is not None and start + int(offsets[number]) != at:
            raise RowsCorrupt("A container of a deletion vector lies elsewhere than it should.")
        values, at = _read_container(data, at, int(less_one) + 1, bool(is_run[number]))
        parts.append(values + (key << 16))
    return np.concatenate(parts), at


def _read_container(data: bytes, at: int, count: int, is_run: bool) -> tuple[Positions, int]:
    if is_run:
        (runs,) = struct.unpack_from("<H", data, at)
        pairs = _array(data, at + 2, 2 * runs, "<u2").reshape(-1, 2).astype(np.int64)
        lengths = pairs[:, 1] + 1
        begins = np.repeat(pairs[:, 0] - np.cumsum(lengths) + lengths, lengths)
        values, at = begins + np.arange(len(begins)), at + 2 + 4 * runs
    elif count <= _MAX_ARRAY:
        values, at = _array(data, at, count, "<u2").astype(np.int64), at + 2 * count
    else:
        bits = np.unpackbits(_array(data, at, _BITMAP_BYTES, "u1"), bitorder="little")
        values, at = np.flatnonzero(bits).astype(np.int64), at + _BITMAP_BYTES
    if len(values) != count or np.any(np.diff(values) <= 0) or (count and values[-1] >= 2**16):
        raise RowsCorrupt("A container of a deletion vector contradicts its own count.")
    return values, at


def _array(data: bytes, at: int, count: int, of: str) -> npt.NDArray[Any]:
    return np.frombuffer(data, dtype=of, count=count, offset=at) if count else np.empty(0, of)
