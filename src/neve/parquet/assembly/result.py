"""What an assembly has written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neve.parquet.assembly.pieces import BuiltChunk
from neve.parquet.assembly.plan import Kind
from neve.parquet.assembly.statistics import ChunkStatistics, merged


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Where the rows of a stretch of a source are in the new file."""

    path: str
    #: Position of the first row in the source, and how many there are.
    first_row: int
    rows: int
    #: The same in the new file: fewer rows where some were removed.
    first_output_row: int
    output_rows: int


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """One leaf over the whole new file; bounds are in Parquet's form."""

    field_id: int
    size_bytes: int
    values: int
    statistics: ChunkStatistics


@dataclass(frozen=True, slots=True)
class AssemblyResult:
    """A finished file."""

    size_bytes: int
    rows: int
    #: Where each row group starts.
    split_offsets: tuple[int, ...]
    #: In the order of the new file.
    ranges: tuple[SourceRange, ...]
    #: Bytes of pages by what became of them; what was left out is counted in the sources.
    bytes_by_kind: dict[Kind, int]
    columns: tuple[ColumnSummary, ...]

    @property
    def row_groups(self) -> int:
        """How many row groups there are."""
        return len(self.split_offsets)


def summarise(row_groups: Sequence[Sequence[BuiltChunk]]) -> Iterable[ColumnSummary]:
    """The columns of all row groups together."""
    for chunks in zip(*row_groups, strict=True):
        column = chunks[0].column
        values = [chunk.values for chunk in chunks]
        yield ColumnSummary(
            field_id=column.field_id or 0,
            size_bytes=sum(chunk.length for chunk in chunks),
            values=sum(values),
            statistics=merged([chunk.statistics for chunk in chunks], values, column.value),
        )
