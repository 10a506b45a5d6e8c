"""One output row group: its pieces fetched, encoded where need be, and put in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from neve.parquet.assembly.encode import EncodeOptions, Encoding, encode_runs
from neve.parquet.assembly.fetch import Fetched
from neve.parquet.assembly.pieces import Piece
from neve.parquet.assembly.plan import AssemblyPlan, Kind, decoded_bytes
from neve.parquet.assembly.provide import ColumnProvider, SourceRows
from neve.parquet.assembly.source import SourceChunk
from neve.parquet.assembly.statistics import Trust
from neve.parquet.assembly.tables import GroupValues, leaves_of
from neve.parquet.sources import ClosableReader, OpenSources
from neve.storage.as_file import AsFile


@dataclass(frozen=True, slots=True)
class GroupPieces:
    """What an output row group is made of."""

    #: For every leaf its pieces in order, each with what it is to be counted as.
    leaves: list[list[tuple[Kind, Piece]]]
    #: Rows of every part in the new file.
    rows: list[int]


@dataclass(frozen=True, slots=True)
class EncodedRuns:
    """Stretches of an output row group that were just encoded, before anybody uses them."""

    #: The number of the row group in the plan, and the top-level columns.
    group: int
    tops: tuple[int, ...]
    #: A file of these columns alone, with a row group for each stretch of parts.
    data: bytes
    runs: tuple[tuple[int, int], ...]
    #: For each stretch the chunks that the new file takes, by leaf.
    chunks: tuple[Mapping[int, SourceChunk], ...]


#: Is shown whatever was encoded.
Watch: TypeAlias = Callable[[EncodedRuns], None]


class RowGroupBuilder:
    """Makes the pieces of the row groups of a plan, one row group at a time."""

    def __init__(
        self,
        plan: AssemblyPlan,
        sources: OpenSources[ClosableReader],
        provider: ColumnProvider,
        options: EncodeOptions,
        watch: Watch | None = None,
    ) -> None:
        self._plan = plan
        self._sources = sources
        self._provider = provider
        self._options = options
        self._watch = watch

    def build(self, number: int) -> GroupPieces:
        """The pieces of one row group of the plan; nothing of it is kept here."""
        build = _Build(
            self._plan, number, self._sources, self._provider, self._options, self._watch
        )
        return build.run()


class _Build:
    def __init__(
        self,
        plan: AssemblyPlan,
        number: int,
        sources: OpenSources[ClosableReader],
        provider: ColumnProvider,
        options: EncodeOptions,
        watch: Watch | None,
    ) -> None:
        self._plan, self._number, self._sources = plan, number, sources
        self._provider, self._options, self._watch = provider, options, watch
        self._group = group = plan.groups[number]
        self._files: dict[int, Any] = {}
        parts_of = {
            runs: frozenset(number for run in runs for number in range(*run))
            for runs in {planned.encoded for planned in group.chunks}
        }
        #: For every leaf the parts that are encoded.
        self._encoded_parts = [parts_of[planned.encoded] for planned in group.chunks]
        self._fetched: list[Fetched] = []
        #: Of the parts that are kept, in part at least.
        self._footers: list[bytes] = []
        for number, part in enumerate(group.parts):
            reader = sources.reader(part.source)
            self._fetched.append(Fetched(reader, self._ranges(number)))
            is_kept = any(number not in encoded for encoded in parts_of.values())
            source = plan.inputs[part.source]
            self._footers.append(source.read_footer(reader) if is_kept else b"")

    def run(self) -> GroupPieces:
        encoded, rows = self._encoded()
        leaves = []
        for leaf, planned in enumerate(self._group.chunks):
            ends = dict(planned.encoded)
            pieces: list[tuple[Kind, Piece]] = []
            number = 0
            while number < len(self._group.parts):
                if number in ends:
                    piece = encoded.get((leaf, number))
                    if piece is not None:
                        pieces.append((Kind.ENCODED, piece))
                    number = ends[number]
                else:
                    is_streamed = planned.kind is Kind.COPIED
                    piece = self._piece(number, leaf, is_streamed=is_streamed)
                    pieces.append((planned.kind, piece))
                    number += 1
            leaves.append(pieces)
        return GroupPieces(leaves, rows)

    def _encoded(self) -> tuple[dict[tuple[int, int], Piece], list[int]]:
        """Encoded pieces by leaf and the first part of their stretch, and the rows of all parts."""
        rows = [part.rows for part in self._group.parts]
        encoded: dict[tuple[int, int], Piece] = {}
        for needed in self._in_batches():
            values = GroupValues(
                self._group,
                self._plan.wanted,
                self._provider,
                self._source_rows,
                self._piece,
                needed,
            )
            rows = values.rows
            for runs, leaves in self._structures(needed).items():
                tops = sorted({self._plan.wanted.columns[leaf].top for leaf in leaves})
                filled = [run for run in runs if sum(rows[slice(*run)])]
                pieces = [
                    {leaf: own[leaf] for leaf in leaves}
                    for own in self._encode(values, filled, tops)
                ]
                for run, own in zip(filled, pieces, strict=True):
                    encoded.update({(leaf, run[0]): piece for leaf, piece in own.items()})
                self._show(filled, tops, pieces)
            # Or they would stay in memory until the next ones are there, too.
            del values
        return encoded, rows

    def _show(
        self, runs: list[tuple[int, int]], tops: list[int], pieces: list[dict[int, Piece]]
    ) -> None:
        if self._watch is None or not runs:
            return
        data = next(iter(pieces[0].values())).data
        assert data is not None
        chunks = [{leaf: piece.chunk for leaf, piece in own.items()} for own in pieces]
        self._watch(EncodedRuns(self._number, tuple(tops), data, tuple(runs), tuple(chunks)))

    def _structures(self, tops: Container[int]) -> dict[tuple[tuple[int, int], ...], list[int]]:
        """Leaves that are encoded in the same stretches, and so together."""
        structures: dict[tuple[tuple[int, int], ...], list[int]] = defaultdict(list)
        for column, planned in zip(self._plan.wanted.columns, self._group.chunks, strict=True):
            if planned.encoded and column.top in tops:
                structures[planned.encoded].append(column.index)
        return structures

    def _in_batches(self) -> Iterator[dict[int, set[int]]]:
        """Columns with the parts to encode, as many at a time as memory is meant for."""
        sizes: dict[int, int] = defaultdict(int)
        needed: dict[int, set[int]] = defaultdict(set)
        for column, parts in zip(self._plan.wanted.columns, self._encoded_parts, strict=True):
            if parts:
                needed[column.top] |= parts
                sizes[column.top] += sum(
                    decoded_bytes(self._group.parts[number], column) for number in parts
                )
        batch: dict[int, set[int]] = {}
        size = 0
        for top in sorted(needed):
            if batch and size + sizes[top] > self._options.decoded_bytes:
                yield batch
                batch, size = {}, 0
            batch[top] = needed[top]
            size += sizes[top]
        if batch:
            yield batch

    def _encode(
        self, values: GroupValues, runs: list[tuple[int, int]], tops: list[int]
    ) -> Iterator[dict[int, Piece]]:
        """For every stretch its pieces by leaf."""
        if not runs:
            return
        columns = leaves_of(self._plan.wanted, tops)
        planned = [self._group.chunks[column.index] for column in columns]
        leaves = [
            Encoding(column, chunk.dictionary, chunk.codec)
            for column, chunk in zip(columns, planned, strict=True)
        ]
        tables = [values.table(run, tops) for run in runs]
        for pieces in encode_runs(tables, leaves, self._options):
            yield {column.index: piece for column, piece in zip(columns, pieces, strict=True)}

    def _ranges(self, number: int) -> Iterator[tuple[int, int]]:
        """What must be read of a part; what a provider reads of it, it reads itself."""
        part = self._group.parts[number]
        if part.changed:
            return
        columns = self._plan.wanted.columns
        gathered = {
            column.top
            for column in columns
            if number in self._encoded_parts[column.index]
            and number not in self._group.provided[column.top]
        }
        for column in columns:
            chunk = part.chunks[column.index]
            if chunk is None:
                continue
            is_encoded = number in self._encoded_parts[column.index]
            is_joined = self._group.chunks[column.index].kind is Kind.JOINED
            if column.top in gathered or (is_joined and not is_encoded):
                yield chunk.start, chunk.end
            if not is_encoded:
                for span in (chunk.column_index, chunk.offset_index):
                    if span is not None:
                        yield span.offset, span.offset + span.length

    def _piece(self, number: int, leaf: int, *, is_streamed: bool = False) -> Piece:
        part = self._group.parts[number]
        source = self._plan.inputs[part.source]
        chunk = part.chunks[leaf]
        assert chunk is not None
        fetched = self._fetched[number]
        data, at = (None, 0) if is_streamed else fetched.find(chunk.start)
        is_encoded = number in self._encoded_parts[leaf]
        column_index, offset_index = (
            None if span is None or is_encoded else fetched.cut(span.offset, span.length)
            for span in (chunk.column_index, chunk.offset_index)
        )
        return Piece(
            chunk=chunk,
            rows=part.rows,
            footer=self._footers[number],
            trust=Trust(source.orders_numbers, source.orders_bytes),
            data=data,
            at=at,
            column_index=column_index,
            offset_index=offset_index,
        )

    def _source_rows(self, number: int) -> SourceRows:
        part = self._group.parts[number]

        def open_file() -> Any:
            if part.source not in self._files:
                self._files[part.source] = pq.ParquetFile(
                    # The reader is asked for again each time, as it may be closed.
                    pa.PythonFile(AsFile(lambda: self._sources.reader(part.source)), mode="r"),
                    pre_buffer=True,
                )
            return self._files[part.source]

        return SourceRows(
            source=part.source,
            path=self._plan.inputs[part.source].path,
            ordinal=part.group.ordinal,
            first_row=part.group.first_row,
            rows=part.rows,
            changed=part.changed,
            open=open_file,
        )
