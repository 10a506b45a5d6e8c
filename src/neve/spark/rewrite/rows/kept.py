"""Chunks of a new file, held against what they were made of: sources, and what was encoded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from neve.model.errors import ParquetCorrupt
from neve.parquet.assembly.plan import PlannedGroup
from neve.parquet.assembly.source import SourceChunk, SourceGroup
from neve.parquet.sources import ClosableReader, OpenSources
from neve.spark.rewrite.rows.as_read import ChunkAsRead, read_as
from neve.storage.readers import Reader

#: Larger buffers come from fresh pages of memory every time, which takes longer than comparing.
_READ_BYTES: Final = 128 * 1024


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """Pages that were encoded, as whoever read them back has described them."""

    chunk: SourceChunk
    digest: bytes
    as_read: ChunkAsRead


def digest_of(data: bytes | memoryview) -> bytes:
    """What stands for bytes that are not kept in memory."""
    return hashlib.sha256(data).digest()


class KeptBytes:
    """Compares row group by row group, and counts what should be there and what is."""

    def __init__(self, sources: OpenSources[ClosableReader], written: Reader) -> None:
        self._sources, self._written = sources, written
        self.planned_bytes = self.equal_bytes = 0

    def compare(
        self,
        group: PlannedGroup,
        ours: SourceGroup,
        encoded: Mapping[tuple[int, int], EncodedChunk],
        metadata: Any,
    ) -> set[int]:
        """All chunks of a row group; `encoded` ones by leaf and the first part of their stretch.

        `metadata` is the file's footer as pyarrow has it. Returns the leaves in which encoded pages
        stand beside others, so that nobody has read such a chunk as a whole.
        """
        runs: list[list[int]] = []
        mixed: set[int] = set()
        for leaf, planned in enumerate(group.chunks):
            chunk = ours.chunks[leaf]
            at, taken, ends = chunk.start, [], dict(planned.encoded)
            alone: EncodedChunk | None = None
            number = 0
            while number < len(group.parts):
                if number not in ends:
                    part = group.parts[number]
                    source = part.chunks[leaf]
                    if source is None:
                        raise ParquetCorrupt("A chunk of the new file is not what was planned.")
                    _extend(runs, part.source, source.start, at, source.length)
                    taken.append(source)
                    at += source.length
                    number += 1
                    continue
                if made := encoded.get((leaf, number)):
                    self._compare_digest(at, made)
                    taken.append(made.chunk)
                    at += made.chunk.length
                    alone = made
                number = ends[number]
            if at != chunk.end or not _is_made_of(chunk, taken):
                raise ParquetCorrupt("A chunk of the new file is not as its footer says.")
            if alone is None:
                continue
            if len(taken) > 1:
                mixed.add(leaf)
            elif read_as(metadata, ours.ordinal, leaf) != (chunk.start, alone.as_read):
                raise ParquetCorrupt("Readers take a chunk of the new file for another one.")
        self._compare(runs)
        return mixed

    def _compare_digest(self, at: int, made: EncodedChunk) -> None:
        length = made.chunk.length
        self.planned_bytes += length
        digest = hashlib.sha256()
        for done in range(0, length, _READ_BYTES):
            digest.update(self._written.read_at(at + done, min(_READ_BYTES, length - done)))
        if digest.digest() == made.digest:
            self.equal_bytes += length

    def _compare(self, runs: Sequence[Sequence[int]]) -> None:
        for source, start, at, length in runs:
            self.planned_bytes += length
            reader = self._sources.reader(source)
            for done in range(0, length, _READ_BYTES):
                size = min(_READ_BYTES, length - done)
                if reader.read_at(start + done, size) == self._written.read_at(at + done, size):
                    self.equal_bytes += size


def _is_made_of(chunk: SourceChunk, taken: Sequence[SourceChunk]) -> bool:
    """Whether a footer describes the same pages in the same way, wherever they lie now."""
    same = (
        all(one.codec == chunk.codec for one in taken)
        and sum(one.values for one in taken) == chunk.values
        and {number for one in taken for number in one.encodings} == set(chunk.encodings)
    )
    if len(taken) == 1:
        return same and _offsets(chunk) == _offsets(taken[0])
    return same and not any(one.has_dictionary for one in (chunk, *taken))


def _offsets(chunk: SourceChunk) -> tuple[int, int | None]:
    dictionary = chunk.dictionary_offset
    return chunk.data_offset - chunk.start, dictionary and dictionary - chunk.start


def _extend(runs: list[list[int]], source: int, start: int, at: int, length: int) -> None:
    """Neighbours in the source that are neighbours in the new file are compared together."""
    if runs:
        last = runs[-1]
        if (last[0], last[1] + last[3], last[2] + last[3]) == (source, start, at):
            last[3] += length
            return
    runs.append([source, start, at, length])
