"""Iceberg's bucket hash, 32-bit Murmur3 without a seed, over many values at once."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint32]

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_FIVE, _ADDED = np.uint32(5), np.uint32(0xE6546B64)
_TAIL_MASKS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)


def hash_longs(values: npt.NDArray[np.int64]) -> Hashes:
    """Of numbers as eight bytes, little-endian."""
    halves = np.ascontiguousarray(values, dtype="<i8").view("<u4").reshape(-1, 2)
    hashes = np.zeros(len(halves), dtype=np.uint32)
    for at in range(2):
        hashes = _block(hashes, halves[:, at])
    return _finished(hashes, np.full(len(halves), 8, dtype=np.uint32))


def hash_bytes(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> Hashes:
    """Of bytes of any length; `data` has at least four bytes to spare at its end."""
    hashes = np.zeros(len(starts), dtype=np.uint32)
    words = np.ndarray((len(data) - 3,), "<u4", data, strides=(1,))
    blocks = lengths >> 2
    # The longest first: those that still have a block are always the first ones.
    order = np.argsort(-blocks, kind="stable")
    ascending = blocks[order][::-1]
    for number in range(int(blocks.max(initial=0))):
        active = order[: len(order) - int(np.searchsorted(ascending, number, side="right"))]
        hashes[active] = _block(hashes[active], words[starts[active] + 4 * number])
    tails = lengths & 3
    some = np.flatnonzero(tails)
    rest = words[starts[some] + 4 * blocks[some]] & _TAIL_MASKS[tails[some]]
    hashes[some] ^= _scrambled(rest)
    return _finished(hashes, lengths.astype(np.uint32))


def _scrambled(block: Hashes) -> Hashes:
    return _rotated(block * _C1, 15) * _C2


def _block(hashes: Hashes, block: Hashes) -> Hashes:
    return _rotated(hashes ^ _scrambled(block), 13) * _FIVE + _ADDED


def _rotated(values: Hashes, bits: int) -> Hashes:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))


def _finished(hashes: Hashes, lengths: Hashes) -> Hashes:
    hashes = hashes ^ lengths
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    hashes *= np.uint32(0xC2B2AE35)
    hashes ^= hashes >> np.uint32(16)
    return hashes
