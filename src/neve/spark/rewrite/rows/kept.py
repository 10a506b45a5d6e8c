"""Pages that a new file took as they are, compared with their sources byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from neve.model.errors import ParquetCorrupt
from neve.parquet.assembly.plan import PlannedGroup
from neve.parquet.assembly.source import SourceGroup
from neve.parquet.sources import ClosableReader, OpenSources
from neve.storage.readers import Reader

_READ_BYTES: Final = 4 * 1024 * 1024


class KeptBytes:
    """Compares row group by row group, and counts what should be there and what is."""

    def __init__(self, sources: OpenSources[ClosableReader], written: Reader) -> None:
        self._sources, self._written = sources, written
        self.planned_bytes = self.equal_bytes = 0

    def compare(self, group: PlannedGroup, ours: SourceGroup) -> None:
        """All chunks of a row group of which nothing was encoded."""
        runs: list[list[int]] = []
        for leaf, planned in enumerate(group.chunks):
            if planned.encoded:
                continue
            chunk, at = ours.chunks[leaf], ours.chunks[leaf].start
            values = 0
            for part in group.parts:
                source = part.chunks[leaf]
                if source is None or source.codec != chunk.codec:
                    raise ParquetCorrupt("A chunk of the new file is not what was planned.")
                _extend(runs, part.source, source.start, at, source.length)
                at += source.length
                values += source.values
            if (at, values) != (chunk.end, chunk.values):
                raise ParquetCorrupt("A chunk of the new file is not as long as its sources.")
        self._compare(runs)

    def _compare(self, runs: Sequence[Sequence[int]]) -> None:
        for source, start, at, length in runs:
            self.planned_bytes += length
            reader = self._sources.reader(source)
            for done in range(0, length, _READ_BYTES):
                size = min(_READ_BYTES, length - done)
                if reader.read_at(start + done, size) == self._written.read_at(at + done, size):
                    self.equal_bytes += size


def _extend(runs: list[list[int]], source: int, start: int, at: int, length: int) -> None:
    """Neighbours in the source that are neighbours in the new file are compared together."""
    if runs:
        last = runs[-1]
        if (last[0], last[1] + last[3], last[2] + last[3]) == (source, start, at):
            last[3] += length
            return
    runs.append([source, start, at, length])
