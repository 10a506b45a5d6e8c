"""An assembly as data: which chunk of the new file comes from where, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from neve.parquet.assembly.columns import Column
from neve.parquet.assembly.source import AssemblySource, SourceChunk, SourceGroup
from neve.parquet.assembly.wanted import WantedSchema
from neve.parquet.plan import SourceFile

#: Below this many bytes a page of a joined chunk costs its readers more than joining saves;
#: see docs/decisions/0020-assembled-row-groups.md for the measurement.
MIN_PAGE_BYTES: Final = 8 * 1024
#: Of a number, or of a text's place.
_VALUE_BYTES: Final = 8
#: Of a decoded chunk, however few values it has: its arrays and their buffers.
_CHUNK_BYTES: Final = 1024


class Kind(Enum):
    """What becomes of a column chunk."""

    COPIED = "copied"
    JOINED = "joined"
    ENCODED = "encoded"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class AssemblyLimits:
    """What the new file is to be like."""

    target_row_group_bytes: int = 128 * 1024 * 1024
    #: Row groups of this size are copied one by one; smaller ones become large ones together.
    keep_row_group_bytes: int = 4 * 1024 * 1024
    max_row_group_rows: int = 20_000_000
    min_page_bytes: int = MIN_PAGE_BYTES
    #: Of the rows of a joined chunk, this share may lose its dictionary.
    max_plain_share: float = 0.125
    #: The one codec that the file may have, or None where chunks keep theirs.
    only_codec: str | None = None
    #: A reason to refuse: filters are made of values, and nothing is decoded here.
    needs_bloom_filters: bool = False
    #: Whether a provider reads whatever is encoded, also where it is simply what a source has.
    values_are_provided: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A row group of a source, as a stretch of an output row group."""

    source: int
    group: SourceGroup = field(repr=False)
    #: Whether rows are removed or changed, so that every column is encoded.
    changed: bool
    #: For every wanted leaf the chunk with its values, where the source has them as wanted.
    chunks: tuple[SourceChunk | None, ...] = field(repr=False)
    #: Bytes of columns that the wanted schema does not have.
    left_out_bytes: int

    @property
    def rows(self) -> int:
        """Rows of the source's row group, before any are removed."""
        return self.group.rows


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """One column of one output row group."""

    kind: Kind
    reason: str
    #: Stretches of parts that are encoded; the pages of the other parts are copied.
    encoded: tuple[tuple[int, int], ...] = ()
    #: What the encoded stretches are written with: a codec by number, None for the caller's.
    codec: int | None = None
    dictionary: bool = False


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """One output row group."""

    parts: tuple[Part, ...]
    #: One for every leaf of the wanted schema.
    chunks: tuple[PlannedChunk, ...]
    #: For every top-level column the parts whose values come from a provider.
    provided: tuple[frozenset[int], ...]

    @property
    def source_rows(self) -> int:
        """Rows before any are removed."""
        return sum(part.rows for part in self.parts)


@dataclass(frozen=True, slots=True)
class AssemblyPlan:
    """A new file, row group by row group."""

    wanted: WantedSchema
    inputs: tuple[AssemblySource, ...] = field(repr=False)
    groups: tuple[PlannedGroup, ...]

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files to take from, as they were when the plan was made."""
        return tuple(SourceFile(one.path, one.size_bytes) for one in self.inputs)

    @property
    def rows(self) -> int:
        """Rows of all sources, before any are removed."""
        return sum(group.source_rows for group in self.groups)


def decoded_bytes(part: Part, column: Column) -> int:
    """About the memory that the values of a column of one part take."""
    chunk = part.chunks[column.index]
    if chunk is None:
        return _CHUNK_BYTES + part.rows * _VALUE_BYTES
    # A dictionary's few bytes stand for many values.
    return _CHUNK_BYTES + max(chunk.uncompressed_bytes, chunk.values * _VALUE_BYTES)
