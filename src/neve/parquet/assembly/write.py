"""Carry out an assembly: row group by row group, then the indexes, then the footer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet.assembly.encode import EncodeOptions
from neve.parquet.assembly.metadata import encode_chunk, encode_footer, encode_row_group
from neve.parquet.assembly.output import Output, RangeSink, Sink
from neve.parquet.assembly.pieces import BuiltChunk, Piece, joined, single
from neve.parquet.assembly.plan import AssemblyPlan, Kind, PlannedGroup
from neve.parquet.assembly.provide import ColumnProvider, NullColumns
from neve.parquet.assembly.result import AssemblyResult, SourceRange, summarise
from neve.parquet.assembly.row_group import GroupPieces, RowGroupBuilder, Watch
from neve.parquet.layout import MAGIC
from neve.parquet.sources import ClosableReader, OpenSources
from neve.parquet.writers import own_name
from neve.storage.readers import Reader

KeyValues = Sequence[tuple[bytes, bytes | None]]


def write_assembly(
    plan: AssemblyPlan,
    open_reader: Callable[[str], ClosableReader],
    sink: Sink | RangeSink,
    *,
    provider: ColumnProvider | None = None,
    options: EncodeOptions | None = None,
    key_values: KeyValues = (),
    watch: Watch | None = None,
) -> AssemblyResult:
    """Write the planned file; one row group at a time is in memory.

    `key_values` go into the footer as they are, `iceberg.schema` among them. `watch` is shown what
    was encoded before it is written.
    """
    writing = _Writing(plan, Output(sink))
    with OpenSources(plan, open_reader) as sources:
        builder = RowGroupBuilder(
            plan, sources, provider or NullColumns(plan.wanted), options or EncodeOptions(), watch
        )
        for number, group in enumerate(plan.groups):
            writing.add(group, builder.build(number), sources)
    return writing.finish(key_values)


class _Writing:
    def __init__(self, plan: AssemblyPlan, output: Output) -> None:
        self._plan, self._output = plan, output
        self._rows = 0
        self._row_groups: list[tuple[int, list[BuiltChunk]]] = []
        self._ranges: list[SourceRange] = []
        self._bytes = dict.fromkeys(Kind, 0)
        output.write(MAGIC)

    def add(
        self, group: PlannedGroup, pieces: GroupPieces, sources: OpenSources[ClosableReader]
    ) -> None:
        """Append a row group."""
        self._note_ranges(group, pieces)
        rows = sum(pieces.rows)
        if not rows:
            return
        chunks = []
        for column, of_leaf in zip(self._plan.wanted.columns, pieces.leaves, strict=True):
            reader = sources.reader(group.parts[0].source) if of_leaf[0][1].data is None else None
            start = self._output.position
            only = [piece for _, piece in of_leaf]
            if sum(piece.rows for piece in only) != rows:
                raise ParquetCorrupt(f"Column {column.name} would not have {rows} rows.")
            build = single(only[0], column, start) if len(only) == 1 else None
            chunks.append(build or joined(only, column, start))
            for kind, piece in of_leaf:
                self._append(piece, reader)
                self._bytes[kind] += piece.chunk.length
        # Pending copies still need their reader, which the next row group may close.
        self._output.flush()
        self._row_groups.append((rows, chunks))
        self._rows += rows

    def finish(self, key_values: KeyValues) -> AssemblyResult:
        """Append indexes and footer."""
        if not self._row_groups:
            raise ParquetUnsupported("No rows are left, and a file without rows is not written.")
        row_groups = [self._row_group(rows, chunks) for rows, chunks in self._row_groups]
        wanted = self._plan.wanted
        footer = encode_footer(
            wanted.raw, len(wanted.columns), self._rows, row_groups, key_values, own_name()
        )
        self._output.write(footer)
        return AssemblyResult(
            size_bytes=self._output.position,
            rows=self._rows,
            split_offsets=tuple(chunks[0].start for _, chunks in self._row_groups),
            ranges=tuple(self._ranges),
            bytes_by_kind=self._bytes,
            columns=tuple(summarise([chunks for _, chunks in self._row_groups])),
        )

    def _append(self, piece: Piece, reader: Reader | None) -> None:
        chunk = piece.chunk
        if piece.data is not None:
            self._output.write(memoryview(piece.data)[piece.at : piece.at + chunk.length])
        elif reader is not None:
            self._output.copy(reader, chunk.start, chunk.length)

    def _note_ranges(self, group: PlannedGroup, pieces: GroupPieces) -> None:
        at = self._rows
        for part, rows in zip(group.parts, pieces.rows, strict=True):
            path = self._plan.inputs[part.source].path
            self._ranges.append(SourceRange(path, part.group.first_row, part.rows, at, rows))
            at += rows
            self._bytes[Kind.LEFT_OUT] += part.left_out_bytes

    def _row_group(self, rows: int, chunks: Sequence[BuiltChunk]) -> bytes:
        column_indexes = [self._index(chunk.column_index) for chunk in chunks]
        offset_indexes = [self._index(chunk.offset_index) for chunk in chunks]
        encoded = [
            encode_chunk(chunk.meta, (offset_index, column_index))
            for chunk, offset_index, column_index in zip(
                chunks, offset_indexes, column_indexes, strict=True
            )
        ]
        uncompressed = sum(chunk.uncompressed_bytes for chunk in chunks)
        length = sum(chunk.length for chunk in chunks)
        return encode_row_group(encoded, rows, uncompressed, chunks[0].start, length)

    def _index(self, data: bytes | None) -> tuple[int, int] | None:
        if data is None:
            return None
        place = self._output.position
        self._output.write(data)
        return place, len(data)
