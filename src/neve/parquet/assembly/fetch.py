"""The bytes of a source that a row group needs, read once and in few requests."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from neve.storage.readers import Reader

#: Smaller files are read whole: one request more costs more than their other bytes.
WHOLE_FILE_BYTES: Final = 2 * 1024 * 1024
_GAP_BYTES: Final = 64 * 1024


class Fetched:
    """Ranges of one file."""

    def __init__(self, reader: Reader, ranges: Iterable[tuple[int, int]]) -> None:
        runs = list(_runs(sorted(ranges)))
        self.is_whole = bool(runs) and reader.size_bytes <= WHOLE_FILE_BYTES
        if self.is_whole:
            runs = [(0, reader.size_bytes)]
        self._starts = [start for start, _ in runs]
        self._data = [reader.read_at(start, end - start) for start, end in runs]

    def find(self, offset: int) -> tuple[bytes, int]:
        """The bytes that hold `offset`, and where in them it is."""
        number = bisect_right(self._starts, offset) - 1
        return self._data[number], offset - self._starts[number]

    def cut(self, offset: int, length: int) -> bytes:
        """A copy of a range."""
        data, at = self.find(offset)
        return data[at : at + length]


def _runs(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Neighbours together, with small gaps between them."""
    pending: tuple[int, int] | None = None
    for start, end in ranges:
        if pending is not None and start - pending[1] <= _GAP_BYTES:
            pending = (pending[0], max(end, pending[1]))
            continue
        if pending is not None:
            yield pending
        pending = (start, end)
    if pending is not None:
        yield pending
